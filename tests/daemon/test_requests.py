"""Requests to the daemon: poll at once, reconcile at once, and how many polls a flood of requests causes."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from acceptance.workplace import Workplace
from support.daemon_log import QUICK, InThread

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import Reconciliations, Snapshot
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.runtime import open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings

A, B = ClusterName("a"), ClusterName("b")
HOURLY = {"GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h"}
LOCAL = ClusterName("local")


def test_a_request_is_carried_out_by_a_reconciliation_that_begins_after_its_poll() -> None:
    one = Reconciliations()
    number = one.request([A, B])
    assert one.due([A, B]) == [], "the repository was not polled since then"
    one.poll_ended(number)
    assert one.due([A, B]) == [A, B]
    one.end(A, number - 1, ValueError(), 0.0)
    assert one.due([A, B]) == [A, B], "that reconciliation began before the poll ended"
    assert one.result(A, number) is None
    first = ValueError()
    one.end(A, number, first, 0.0)
    one.end(A, number, KeyError(), 0.0)
    assert one.result(A, number) is first, "the reconciliation that carried it out, and not a later one"
    assert one.due([A, B]) == [B]
    assert one.request([]) == number + 1
    one.poll_ended(number + 1)
    assert one.due([A, B]) == [B], "a request without a cluster is only for a poll"


@pytest.mark.slow
def test_a_request_ends_every_wait(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, **HOURLY) as log:
        log.wait("reconciliation_finished", applied=1)
        at.commit("more.yaml", at.source("more"))
        log.daemon.poll_now()
        log.wait("step_applied", connector=at.name("more"))
        log.await_state(is_waiting)  # until then, the reconciliation that follows a change could resume the connector
        at.by_hand("pause", "orders")
        at.await_states(orders="PAUSED", more="RUNNING")
        number = log.daemon.reconcile_now([LOCAL])
        log.wait("step_applied", action="resume")
        result = at.await_that(
            lambda: log.daemon.reconciliations.result(LOCAL, number), lambda found: found is not None
        )
        assert isinstance(result, ReconciliationOutcome)
        assert len(result.steps) == 1, "not the result of the reconciliation that follows to see the effect"
        assert log.daemon.is_alive
    assert not log.daemon.is_alive


def is_waiting(now: Snapshot) -> bool:
    """Whether the last reconciliation applied nothing, and none is in progress."""
    return now.clusters[LOCAL].steps == () and now.clusters[LOCAL].next is not None


@dataclass
class GatedSource:
    """A source whose fetches wait until `gate` is open."""

    source: Any
    gate: threading.Event = field(default_factory=threading.Event)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    count: int = 0

    def fetch(self) -> Any:
        self.count += 1
        self.begun.release()
        assert self.gate.wait(30)
        return self.source.fetch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


@pytest.mark.slow
def test_a_flood_of_requests_during_a_poll_causes_one_other_poll(at: Workplace) -> None:
    settings = load_settings(at.directory / "gitops-connect.toml", {**QUICK, **HOURLY})
    with closing(open_runtime(settings)) as runtime, closing(GatedSource(open_source(settings, None))) as source:
        daemon = Daemon(runtime, source)
        thread = threading.Thread(target=daemon.run)
        thread.start()
        try:
            assert source.begun.acquire(timeout=30)
            for _ in range(50):
                daemon.poll_now()
            number = daemon.reconcile_now([LOCAL])
            assert source.count == 1
            source.gate.set()
            at.await_that(lambda: daemon.reconciliations.result(LOCAL, number), lambda found: found is not None)
            assert source.count == 2
        finally:
            source.gate.set()
            daemon.stop()
            thread.join(30)
