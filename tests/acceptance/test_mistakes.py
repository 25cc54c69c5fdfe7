"""Bad input: a clear error for each, and no other connector is blocked."""

from __future__ import annotations

import pytest

from acceptance.workplace import Workplace


@pytest.mark.on_kafka
def test_an_invalid_config_and_a_missing_plugin_are_errors_of_their_lines_and_block_only_themselves(
    at: Workplace,
) -> None:
    typo = at.document("typo", "org.apache.kafka.connect.file.FileStreamSourceConector", "", {"topic": "lines"})
    at.commit("all.yaml", at.source("bad", **{"batch.size": "lots"}), at.source("good"), typo)
    at.run("plan").expect(
        4,
        err=(
            "all.yaml:9:5: error: batch.size: Invalid value lots",
            "[connect/invalid-config]",
            "all.yaml:24:3: error: the worker has no connector class",
            "did you mean 'org.apache.kafka.connect.file.FileStreamSourceConnector'",
        ),
    )
    at.run("apply", "--yes").expect(4)
    assert at.states() == {"good": "RUNNING"}


def test_a_missing_secret_does_not_keep_running_what_should_be_stopped(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.commit("orders.yaml", at.source("orders", "state: stopped\nsecrets: {topic.password: {env: NOT_ALLOWED}}"))
    at.run("apply", "--yes").expect(4, err="[secret/missing]")
    assert at.states() == {"orders": "STOPPED"}


def test_a_misspelt_config_key_is_a_warning_at_its_line(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders", **{"batch.sizes": "10"}))
    for command in (("validate", str(at.repository)), ("plan",), ("apply", "--yes")):
        ran = at.run(*command)
        assert ran.code in (0, 2)
        text = ran.out + ran.err
        assert "orders.yaml:9:5: warning: unknown config key 'batch.sizes'" in text, command
        assert "did you mean 'batch.size'?" in text
    assert "connect/unknown-key" not in at.run("plan").err


def test_a_password_in_a_url_is_warned_about_and_in_no_output(at: Workplace) -> None:
    url = "jdbc:postgresql://db/shop?user=a&password={}"
    shown = url.format("***")
    at.commit("orders.yaml", at.source("orders", **{"a.url": url.format("hunter1"), "batch.size": "lots"}))
    outputs = [at.run("validate", str(at.repository)), at.run("plan"), at.run("apply", "--yes")]
    at.commit("orders.yaml", at.source("orders", **{"a.url": url.format("hunter1")}))
    outputs.append(at.run("plan"))
    assert "the value of 'a.url' contains a " in outputs[-1].err
    assert shown in outputs[-1].out
    at.apply()
    assert at.config("orders")["a.url"] == url.format("hunter1")
    at.commit("orders.yaml", at.source("orders", **{"a.url": url.format("hunter2")}))
    saved = at.repository.parent / "saved.json"
    formats = [("-o", "json"), ("-o", "markdown"), ("--out", str(saved))]
    outputs += [at.run("plan", *more) for more in formats]
    outputs += [at.run("status"), at.run("describe", "connector", at.name("orders"))]
    assert shown in outputs[-1].out
    outputs.append(at.run("plan"))
    assert f'"{shown}" (only the masked part changes)' in outputs[-1].out
    at.apply()
    assert at.config("orders")["a.url"] == url.format("hunter2")
    for output in outputs:
        assert "hunter" not in output.out + output.err
    assert "hunter" not in saved.read_text()


def test_a_broken_document_is_not_taken_for_a_removed_one(at: Workplace) -> None:
    at.settings(cluster="prune = true")
    at.commit("orders.yaml", at.source("orders"))
    at.deploy("keep.yaml", at.source("keep"))
    at.commit("orders.yaml", at.source("orders").replace("spec:", "spce:"))
    assert at.run("apply", "--yes").code == 4
    at.commit("orders.yaml", "apiVersion: gitops-connect/v1\nkind: [\n")
    assert at.run("apply", "--yes").code == 4
    assert at.states().keys() == {"orders", "keep"}


def test_paths_are_shown_from_where_the_reader_is(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    at.write("clusters/local/a.yaml", at.source("one", "tasksMax: many"))
    monkeypatch.chdir(at.directory)
    assert "\nrepository/clusters/local/a.yaml:6:" in "\n" + at.run("validate", "repository").out
    assert "\nrepository/clusters/local/a.yaml:6:" in "\n" + at.run("plan", str(at.repository)).err
    monkeypatch.chdir(at.repository)
    assert "\nclusters/local/a.yaml:6:" in "\n" + at.run("validate", ".").out
