"""The daemon with a real repository, a real ledger and a stand-in: what it picks up, survives, and logs."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import FOR_EVER, InThread, poll_again

from gitops_connect.connect.client import ConnectClient
from gitops_connect.daemon.cluster_progress import HEARTBEAT
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import Runtime, SystemClock

pytestmark = pytest.mark.slow
MANUAL = "autoRestart: {enabled: false}"


def test_a_new_revision_ends_the_wait_after_a_failure(at: Workplace) -> None:
    at.commit("orders.yaml", at.mirror("orders"))
    with InThread(at, GITOPS_CONNECT_DAEMON__RETRY_INTERVAL="1h") as daemon:
        daemon.wait("step_failed")
        at.commit("more.yaml", at.source("more"))
        daemon.wait("step_applied", connector=at.name("more"))


def test_a_revision_that_arrives_during_a_reconciliation_is_applied_without_a_wait(
    at: Workplace, standin: StandIn
) -> None:
    standin.cluster.delay = FOR_EVER
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, GITOPS_CONNECT_DAEMON__RETRY_INTERVAL="1h") as daemon:
        at.await_that(lambda: standin.count("POST"), bool)
        at.commit("more.yaml", at.source("more"))
        daemon.wait("revision_changed", count=2)
        standin.cluster.fail(at.name("orders"))
        daemon.wait("step_failed", connector=at.name("orders"))
        standin.cluster.delay = 0
        daemon.wait("step_applied", connector=at.name("more"))


def test_failures_are_retried_with_doubling_waits(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    standin.refuse("GET", "/", 500, "out of order", times=FOR_EVER)
    with InThread(at, hurry, GITOPS_CONNECT_DAEMON__RETRY_INTERVAL="0.1") as daemon:
        daemon.wait("reconciliation_failed", count=3)
        assert [line["retry_in"] for line in daemon.all("reconciliation_failed")[:3]] == [0.1, 0.2, 0.4]
        assert daemon.all("reconciliation_failed")[0]["reason"] == "ConnectUnavailable"
        standin.faults.clear()
        daemon.wait("reconciliation_recovered", level="INFO", cluster="local")
        daemon.wait("step_applied")
        poll_again(at, standin)
        assert len(daemon.all("reconciliation_recovered")) == 1


def test_an_unreachable_repository_leaves_the_last_revision_in_force_also_after_a_restart(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    aside = at.directory / "aside"
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        at.repository.rename(aside)
        away = daemon.wait("repository_unreachable")
        assert away["reason"] == "SourceRefused"
        assert "check [repository] url" in away["message"]
        at.by_hand("pause", "orders")
        daemon.wait("step_applied", action="resume")
        said = len(daemon.all("repository_unreachable"))
        at.by_hand("stop", "orders")
        daemon.wait("step_applied", count=2, action="resume")
        assert len(daemon.all("repository_unreachable")) == said, "said once for each reason, and not at every look"
        aside.rename(at.repository)
        daemon.wait("repository_recovered")
        at.commit("more.yaml", at.source("more"))
        daemon.wait("step_applied", connector=at.name("more"))
    at.by_hand("pause", "orders")
    at.repository.rename(aside)
    with InThread(at) as daemon:
        kept = daemon.wait("repository_unreachable")["enforced"]
        assert daemon.wait("revision_changed")["revision"] == kept, "the revision of the earlier process"
        daemon.wait("step_applied", action="resume")


def test_a_first_start_waits_for_an_unreachable_repository(at: Workplace, standin: StandIn) -> None:
    at.repository.rename(at.directory / "aside")
    with InThread(at) as daemon:
        assert daemon.wait("repository_unreachable")["enforced"] is None
        assert standin.calls == []
        (at.directory / "aside").rename(at.repository)
        at.commit("orders.yaml", at.source("orders"))
        daemon.wait("step_applied")


def test_a_forced_push_is_followed_and_logged(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    before = at.git("rev-parse", "HEAD")
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished")
        at.write("orders.yaml", at.source("orders", "state: paused"))
        at.git("commit", "--quiet", "--all", "--amend", "--message", "rewritten")
        line = daemon.wait("history_rewritten", level="WARNING")
        assert (line["before"], line["revision"]) == (before, at.git("rev-parse", "HEAD"))
        daemon.wait("step_applied", action="pause")


def test_a_cluster_that_hangs_delays_neither_other_clusters_nor_the_shutdown(at: Workplace, standin: StandIn) -> None:
    with StandIn() as hung:
        hung.hang("GET", ".*", times=FOR_EVER)
        at.settings(more=f'[clusters.hung]\nurl = ["{hung.url}"]\n[clusters.gone]\nurl = ["http://127.0.0.1:1"]')
        at.commit("clusters/local/orders.yaml", at.source("orders"))
        with InThread(at, hurry) as daemon:
            daemon.wait("step_applied", cluster="local")
            daemon.wait("reconciliation_failed", cluster="gone")
            at.commit("clusters/local/orders.yaml", at.source("orders", "state: paused"))
            daemon.wait("step_applied", cluster="local", action="pause")
            daemon.stop()
            assert daemon.daemon.is_polling, "and is left behind"
            hung.close()
            at.await_that(lambda: daemon.daemon.is_polling, lambda looking: not looking)
            assert daemon.lines[-1]["event"] == "daemon_stopped", "what is left behind is not heard of again"


def test_reconciliations_without_changes_log_only_a_heartbeat(at: Workplace, standin: StandIn) -> None:
    clock = Ahead()
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, lambda runtime: replace(runtime, clock=clock)) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        poll_again(at, standin)
        assert len(daemon.all("reconciliation_finished")) == 1
        clock.ahead += HEARTBEAT
        assert daemon.wait("reconciliation_finished", count=2)["planned"] == 0


def test_problems_a_failed_task_and_its_recovery_are_each_logged_once(at: Workplace, standin: StandIn) -> None:
    name = at.name("orders")
    at.commit("orders.yaml", at.source("orders", MANUAL), at.source("broken", "state: runing"))
    at.commit("rejected.yaml", at.source("rejected", **{"batch.size": "lots"}))
    with InThread(at) as daemon:
        assert daemon.wait("reconciliation_finished", applied=1)["unhealthy"] == 0
        standin.cluster.fail_task(name, 0, "java.lang.Boom: no")
        event = daemon.wait("connector_unhealthy", connector=name)
        message = "task 0 is FAILED: java.lang.Boom: no; no automatic restart: spec.autoRestart.enabled is false"
        assert (event["level"], event["message"]) == ("WARNING", message)
        assert event["hint"] == f"fix the cause, then run: gitops-connect restart connector {name} --failed"
        assert standin.count("POST", ".*/restart.*") == 0
        poll_again(at, standin)
        assert len(daemon.all("connector_unhealthy")) == 1
        (problem,) = daemon.all("diagnostic", connector=at.name("broken"))
        assert problem["level"] == "ERROR"
        assert problem["location"].startswith("orders.yaml:")
        (rejected,) = daemon.all("diagnostic", connector=at.name("rejected"))
        assert (rejected["cluster"], rejected["rule"]) == ("local", "connect/invalid-config")
        at.commit("more.yaml", at.source("more"))
        assert daemon.wait("reconciliation_finished", count=2, applied=1)["unhealthy"] == 1
        with standin.cluster.lock:
            reported = standin.cluster.connectors[name].reported
            assert reported is not None
            reported.tasks[0] = ("RUNNING", "")
        daemon.wait("connector_recovered", connector=name, level="INFO")
        standin.cluster.fail(name, "java.lang.Boom: again")
        event = daemon.wait("connector_unhealthy", count=2, connector=name)
        assert event["message"].startswith("the connector is FAILED: java.lang.Boom: again;")
        assert len(daemon.all("connector_recovered")) == 1


def test_a_bug_is_logged_and_the_daemon_continues(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, lambda runtime: replace(runtime, clients={"local": Flawed(runtime.clients["local"])})) as daemon:
        line = daemon.wait("bug", count=2)
        assert (line["cluster"], line["reason"]) == ("local", "ZeroDivisionError")
        assert line["error"][2] is not None, "with its trace"
        daemon.wait("step_applied")


def test_a_cluster_that_another_process_holds_is_not_changed(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with closing(at.ledger()) as ledger, ExitStack() as lease, ExitStack() as daemons:
        lease.enter_context(ledger.lease(ClusterName("local"), SystemClock()))
        daemon = daemons.enter_context(InThread(at))
        assert "is in use by process" in daemon.wait("reconciliation_postponed")["message"]
        assert standin.calls == []
        lease.close()
        daemon.wait("step_applied")
        assert len(daemon.all("reconciliation_postponed")) == 1, "once for each holder"
        assert daemon.all("reconciliation_failed") == []


def test_without_a_usable_ledger_nothing_is_changed(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        (at.directory / "state.db").write_bytes(b"no database at all" * 100)
        assert daemon.wait("reconciliation_failed")["reason"] == "LedgerUnusable"
        daemon.await_state(lambda now: not now.has_ledger)
        at.by_hand("pause", "orders")
        calls = standin.count("PUT")
        at.commit("orders.yaml", at.source("orders", "state: stopped"))
        daemon.wait("reconciliation_failed", revision=at.git("rev-parse", "HEAD"))
        assert standin.count("PUT") == calls


def test_a_job_that_was_queued_before_the_shutdown_does_not_begin_after_it(at: Workplace) -> None:
    """The job would read a closed repository, and log a bug after the end of the log."""
    began: list[str] = []
    with InThread(at) as daemon:
        daemon.wait("daemon_started")
        daemon.daemon._jobs.run("job", lambda: began.append("before"))
        daemon.stop()
        daemon.daemon._jobs.run("job", lambda: began.append("after"))
    assert began == ["before"]


@dataclass
class Ahead(SystemClock):
    """A clock that can be moved ahead."""

    ahead: float = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Hurried(SystemClock):
    """A clock with which a client does not wait between its tries."""

    def sleep(self, seconds: float) -> None:
        """Do not wait."""


def hurry(runtime: Runtime) -> Runtime:
    clients = {name: ConnectClient(settings, Hurried()) for name, settings in runtime.settings.clusters.items()}
    return replace(runtime, clients=clients)


@dataclass
class Flawed:
    """A client with a bug in its first two calls of `info`."""

    client: Any
    left: int = 2

    def info(self) -> Any:
        self.left -= 1
        return self.client.info() if self.left < 0 else 1 / 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)
