"""The daemon restarts failed connectors: at the times of the schedule, across its own restarts, until it gives up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from acceptance.test_health import broken_sink
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread, poll_again

from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType
from gitops_connect.runtime import SystemClock

LOCAL = ClusterName("local")


class FastClock:
    """A clock on which a minute takes half a second. It starts now, or `ahead` of now."""

    SPEED = 120

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self._begun = time.monotonic()
        self._start = datetime.now(UTC) + ahead

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return (time.monotonic() - self._begun) * self.SPEED

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / self.SPEED)

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        return SystemClock().repeat(lambda: work() / self.SPEED, wait / self.SPEED, name)


def synced_condition(daemon: InThread, name: str) -> Condition:
    found = daemon.runtime.ledger.status.conditions.of(LOCAL)[ConnectorName(name), ConditionType.SYNCED, ""]
    assert found.status is ConditionStatus.TRUE
    return found


@pytest.mark.slow
def test_the_count_survives_the_daemon_and_ends_when_the_connector_has_worked_for_some_time(
    at: Workplace, standin: StandIn
) -> None:
    name = at.name("orders")
    at.deploy("orders.yaml", at.source("orders"))
    standin.cluster.fail_task(name, 0, "java.lang.Boom: no")
    with InThread(at) as daemon:
        daemon.wait("step_applied", action="restart", connector=name)
        assert daemon.runtime.ledger.restarts.of(LOCAL)[name].count == 1
        synced = synced_condition(daemon, name)
    standin.cluster.fail_task(name, 0, "java.lang.Boom: again")
    with InThread(at) as daemon:
        daemon.wait("connector_unhealthy", connector=name)
        poll_again(at, standin)
        assert daemon.steps() == [], "the next one is not due before 2 minutes"
        assert synced_condition(daemon, name).since == synced.since
    message = json.loads(at.run("status", "-o", "json").out)[0]["message"]
    assert "restarted once, last at" in message
    assert "next automatic restart (2 of 6) at" in message
    described = json.loads(at.run("describe", "connector", name, "-o", "json").out)[0]["autoRestart"]
    assert (described["count"], described["connectorName"]) == (1, name)
    assert datetime.fromisoformat(described["lastRestartTimestamp"]) <= datetime.now(UTC)
    later = FastClock(ahead=timedelta(minutes=3))
    with InThread(at, lambda runtime: replace(runtime, clock=later)) as daemon:
        daemon.wait("step_applied", action="restart", connector=name)
        at.await_that(lambda: daemon.runtime.ledger.restarts.of(LOCAL), lambda restarts: not restarts)
    assert "restarted" not in at.run("status").out


@pytest.mark.slow
def test_the_count_begins_again_by_command_while_the_daemon_runs(at: Workplace, standin: StandIn) -> None:
    name = at.name("orders")
    at.commit("orders.yaml", at.source("orders", "autoRestart: {maxRestarts: 1}"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        standin.cluster.fail(name, "java.lang.Boom: no")
        daemon.wait("connector_given_up", connector=name)
        at.run("restart", "connector", name, "--failed").expect(1)
        poll_again(at, standin)
        assert len(daemon.all("step_applied", action="restart")) == 1, "the command alone changes no count"
        ran = at.run("restart", "connector", name, "--failed", "--reset-count").expect(1)
        assert ran.out == f"The automatic restarts of {name} on local count from 0 again.\n"
        reason = "automatic restart 1 of 1; the connector is FAILED: java.lang.Boom: no"
        daemon.wait("step_applied", action="restart", reason=reason, count=2)
        daemon.wait("connector_given_up", connector=name, count=2)


@pytest.mark.slow
def test_a_sink_whose_cause_was_fixed_works_again(at: Workplace) -> None:
    name = at.name("sink")
    at.commit("sink.yaml", broken_sink(at))
    at.run("apply", "--yes")
    at.await_that(lambda: at.tasks("sink"), lambda tasks: tasks == ["FAILED"])
    (at.directory / "missing").mkdir()
    with InThread(at) as daemon:
        restarted = daemon.wait("step_applied", action="restart", connector=name)
        assert restarted.get("message", "") == ""
        assert restarted["reason"].startswith("automatic restart 1 of 6; task 0 is FAILED: ")
        daemon.wait("connector_recovered", connector=name)
        restarted_at = daemon.runtime.ledger.restarts.of(LOCAL)[ConnectorName(name)].last
        assert synced_condition(daemon, name).since <= restarted_at
    assert at.tasks("sink") == ["RUNNING"]
    assert "restarted once" in at.run("status").out
