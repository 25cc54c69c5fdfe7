"""Bad input: a clear error for each, and nothing else held up."""

from __future__ import annotations

import json

import pytest

from acceptance.workplace import Workplace


def test_an_invalid_config_is_laid_on_its_line_and_holds_up_only_itself(at: Workplace) -> None:
    at.commit("both.yaml", at.source("bad", **{"batch.size": "lots"}), at.source("good"))
    planned = at.run("plan")
    assert planned.code == 4
    assert "both.yaml:9:5: error: batch.size: Invalid value lots" in planned.err
    assert "[connect/invalid-config]" in planned.err
    applied = at.run("apply", "--yes")
    assert applied.code == 4
    assert at.states() == {"good": "RUNNING"}


def test_an_invalid_config_does_not_keep_running_what_should_be_stopped(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    at.apply()
    at.commit("orders.yaml", at.source("orders", "state: stopped", **{"batch.size": "lots"}))
    assert at.run("apply", "--yes").code == 4
    assert at.states() == {"orders": "STOPPED"}
    assert "batch.size" not in at.config("orders")


def test_a_missing_secret_does_not_keep_running_what_should_be_stopped(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    at.apply()
    at.commit("orders.yaml", at.source("orders", "state: stopped\nsecrets: {topic.password: {env: NOT_ALLOWED}}"))
    applied = at.run("apply", "--yes")
    assert applied.code == 4
    assert "[secret/missing]" in applied.err
    assert at.states() == {"orders": "STOPPED"}


def test_a_plugin_that_is_not_there_is_named_with_what_may_be_meant(at: Workplace) -> None:
    plugin = "org.apache.kafka.connect.file.FileStreamSourceConector"
    at.commit("orders.yaml", at.document("orders", plugin, "", {"topic": "lines"}))
    planned = at.run("plan")
    assert planned.code == 4
    assert "orders.yaml:5:3: error: the worker has no connector class" in planned.err
    assert "did you mean 'org.apache.kafka.connect.file.FileStreamSourceConnector'" in planned.err


def test_a_broken_document_is_not_taken_for_a_removed_one(at: Workplace) -> None:
    at.settings(cluster="prune = true")
    at.commit("orders.yaml", at.source("orders"))
    at.commit("keep.yaml", at.source("keep"))
    at.apply()
    at.commit("orders.yaml", at.source("orders").replace("spec:", "spce:"))
    assert at.run("apply", "--yes").code == 4
    at.commit("orders.yaml", "apiVersion: gitops-connect/v1\nkind: [\n")
    assert at.run("apply", "--yes").code == 4
    assert at.states().keys() == {"orders", "keep"}


def test_an_emptied_repository_prunes_nothing(at: Workplace) -> None:
    at.settings(cluster="prune = true\nmax_deletions = 1.0")
    at.commit("orders.yaml", at.source("orders"))
    at.apply()
    at.commit("orders.yaml")
    applied = at.apply()
    assert "kept because the repository declares nothing at all" in applied.out
    assert at.states() == {"orders": "RUNNING"}


def test_too_many_deletions_are_refused_before_anything_is_done(at: Workplace) -> None:
    at.settings(cluster="prune = true")
    at.commit("all.yaml", *(at.source(f"orders{number}") for number in range(4)))
    at.apply()
    at.commit("all.yaml", at.source("orders0", "state: paused"))
    refused = at.run("apply", "--yes")
    assert refused.code == 1
    assert "TooManyDeletions: 3 of our 4 connectors would be deleted, and 1 may be" in refused.err
    assert set(at.states().values()) == {"RUNNING"}


def test_validate_shows_everything_at_once_in_three_formats(at: Workplace) -> None:
    at.write("a.yaml", at.source("one", "tasksMax: many"), at.source("two", "state: runing"))
    text = at.run("validate", str(at.repository))
    assert text.code == 4
    assert "a.yaml:6:" in text.out
    assert "did you mean" in text.out
    assert text.out.count(" error: ") == 2
    values = json.loads(at.run("validate", str(at.repository), "-o", "json").out)
    assert json.dumps(values).count("schema/") >= 2
    sarif = json.loads(at.run("validate", str(at.repository), "-o", "sarif").out)
    assert sarif["version"] == "2.1.0"
    assert len(sarif["runs"][0]["results"]) == 2


def test_a_cluster_that_does_not_answer_holds_no_other_up(at: Workplace) -> None:
    at.settings(more='[clusters.gone]\nurl = ["http://127.0.0.1:1"]')
    at.commit("clusters/local/orders.yaml", at.source("orders"))
    applied = at.run("apply", "--yes")
    assert applied.code == 1
    assert "error: cluster gone: " in applied.err
    assert at.states() == {"orders": "RUNNING"}


def test_a_name_that_is_taken_twice_is_refused_with_both_places(at: Workplace) -> None:
    at.commit("a.yaml", at.source("orders"))
    at.commit("b.yaml", at.source("orders"))
    planned = at.run("plan")
    assert planned.code == 4
    assert "also at b.yaml:3:" in planned.err


def test_paths_are_shown_from_where_the_reader_is(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    at.write("clusters/local/a.yaml", at.source("one", "tasksMax: many"))
    monkeypatch.chdir(at.folder)
    assert "\nrepository/clusters/local/a.yaml:6:" in "\n" + at.run("validate", "repository").out
    assert "\nrepository/clusters/local/a.yaml:6:" in "\n" + at.run("plan", str(at.repository)).err
    monkeypatch.chdir(at.repository)
    assert "\nclusters/local/a.yaml:6:" in "\n" + at.run("validate", ".").out
