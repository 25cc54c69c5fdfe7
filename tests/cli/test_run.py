"""The exit codes of `run --once`."""

from __future__ import annotations

from contextlib import closing

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn

from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock

pytestmark = pytest.mark.slow


def test_4_for_errors_in_documents_and_1_for_a_step_or_a_guard_that_fails(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"), at.source("broken", "state: runing"))
    at.run("run", "--once").expect(4)
    assert at.states() == {"orders": "RUNNING"}, "the other documents are applied"
    at.commit("orders.yaml", at.source("orders", **{"batch.size": "lots"}))
    at.run("run", "--once").expect(4)
    at.deploy("orders.yaml", at.source("orders"), at.source("other"), at.source("third"))
    at.settings(cluster="prune = true\nmax_deletions = 0")
    at.commit("orders.yaml", at.source("orders", "state: paused"))
    at.run("run", "--once").expect(1, err="TooManyDeletions")
    assert set(at.states().values()) == {"RUNNING"}
    at.commit("orders.yaml", *map(at.source, ("orders", "other", "third")), at.mirror("failing"))
    at.run("run", "--once").expect(1)


def test_a_guard_holds_what_the_commit_changes_and_drift_is_corrected_all_the_same(
    at: Workplace,
) -> None:
    at.deploy("orders.yaml", *map(at.source, ("orders", "other", "third")))
    at.settings(cluster="prune = true\nmax_deletions = 0")
    at.commit("orders.yaml", at.source("orders"), at.source("new"))
    at.by_hand("pause", "orders")
    at.run("run", "--once").expect(1, err="the plan is rejected, and nothing of the commit was applied")
    assert at.states() == dict.fromkeys(("orders", "other", "third"), "RUNNING")


def test_1_for_a_cluster_that_is_away_and_the_other_is_done(at: Workplace) -> None:
    at.settings(more='[clusters.gone]\nurl = ["http://127.0.0.1:1"]')
    at.commit("clusters/local/orders.yaml", at.source("orders"))
    ran = at.run("run", "--once").expect(1, err='"event": "reconciliation_failed", "cluster": "gone"')
    assert '"retry_in"' not in ran.err, "nothing will try again"
    assert at.states() == {"orders": "RUNNING"}


def test_1_for_a_repository_that_is_away_though_what_it_had_is_enforced(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    at.repository.rename(at.directory / "aside")
    assert at.run("run", "--once").code == 1
    assert standin.calls == []
    (at.directory / "aside").rename(at.repository)
    assert at.run("run", "--once").code == 0
    at.by_hand("pause", "orders")
    at.repository.rename(at.directory / "aside")
    assert at.run("run", "--once").code == 1
    assert at.states() == {"orders": "RUNNING"}


def test_5_for_a_cluster_that_another_process_works_on(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with closing(at.ledger()) as ledger, ledger.lease(ClusterName("local"), SystemClock()):
        at.run("run", "--once").expect(5, err='"event": "reconciliation_postponed", "cluster": "local"')


def test_text_is_for_people(at: Workplace) -> None:
    at.settings(more='[daemon]\nlog_format = "text"')
    at.commit("orders.yaml", at.source("orders"))
    lines = at.run("run", "--once").err.splitlines()
    assert lines[0].endswith("INFO daemon_started version=0.1.0 clusters=local")
    assert f" connector={at.name('orders')} action=create " in lines[2]
