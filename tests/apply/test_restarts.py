"""A restart of failed parts: its requests, its effect, and its count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import FAILED, RUNNING, TRACE, Fault, MemoryCluster, connector
from support.cluster.memory_journal import MemoryJournal, execute_options
from support.planner.plans_of_steps import plan, step

from gitops_connect.apply.executor import execute
from gitops_connect.errors import LedgerUnusable, OutcomeUnknown, RebalanceInProgress
from gitops_connect.model.observed_state import ObservedConnector, TaskStatus
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import Restart, RestartKind, RestartRequest

RESTART = step("a", Action.RESTART)


def failed_task() -> ObservedConnector:
    return replace(connector("a"), tasks=(TaskStatus(0, FAILED, "w", TRACE),))


def run(cluster: MemoryCluster, one: Step = RESTART, **options: object) -> StepOutcome:
    given = {"before": dict(cluster.present), "settle_timeout": 30.0, **options}
    (outcome,) = execute(plan(one), cluster, execute_options(cluster.clock, **given))
    return outcome


@pytest.mark.parametrize("min_running", [0.0, 5.0])
def test_a_failed_task_runs_again(clock: ManualClock, min_running: float) -> None:
    cluster, journal = MemoryCluster(clock, failed_task()), MemoryJournal()
    outcome = run(cluster, journal=journal, min_running=min_running)
    assert (outcome.result, outcome.message) == (Result.APPLIED, "")
    assert cluster.present["a"].tasks[0].state is RUNNING
    assert (cluster.calls, journal.restarts) == ([("restart", "a")], ["a"])


def test_a_task_that_fails_again_for_the_same_reason_is_a_warning(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, failed_task())
    cluster.rules.task_fails_after["a"] = 0.1
    outcome = run(cluster)
    assert outcome.result is Result.APPLIED
    assert outcome.message == "task 0 is FAILED again: java.lang.IllegalStateException: no"
    assert outcome.seconds < 10, "and nobody waits for the timeout"


def test_a_connector_that_fails_again_is_a_warning(clock: ManualClock) -> None:
    failing = connector("a", FAILED, {"start": "fail"}, TRACE)
    outcome = run(MemoryCluster(clock, failing))
    assert outcome.message == "the connector is FAILED again: java.lang.IllegalStateException: no"


def test_each_failed_part_has_a_request_on_an_old_worker(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, failed_task()), MemoryJournal()
    assert run(cluster, replace(RESTART, restart=Restart(parts=(None, 0))), journal=journal).result is Result.APPLIED
    assert cluster.calls == [("restart None", "a"), ("restart 0", "a")]
    assert journal.restarts == ["a"]


def test_it_is_sent_again_after_a_rebalance(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, failed_task())
    cluster.faults["restart", "a"].append(Fault(RebalanceInProgress("rebalancing")))
    assert run(cluster).result is Result.APPLIED
    assert cluster.calls == [("restart", "a")] * 2


def test_it_is_observed_if_the_answer_is_lost(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, failed_task())
    cluster.faults["restart", "a"].append(Fault(OutcomeUnknown("no answer"), happens=True))
    assert run(cluster).result is Result.APPLIED
    assert cluster.calls == [("restart", "a")]


def test_a_restart_that_cannot_be_counted_is_not_sent(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, failed_task()), MemoryJournal()
    journal.faults["count"].append(LedgerUnusable("disk full"))
    outcome = run(cluster, journal=journal)
    assert (outcome.result, outcome.message) == (Result.FAILED, "disk full")
    assert cluster.calls == []


class TestRequested:
    STEP = replace(RESTART, restart=Restart(request=RestartRequest(RestartKind.CONNECTOR, "1"), only_failed=False))

    def test_a_healthy_connector_is_restarted_and_not_counted(self, clock: ManualClock) -> None:
        cluster, journal = MemoryCluster(clock, connector("a")), MemoryJournal()
        assert run(cluster, self.STEP, journal=journal).result is Result.APPLIED
        assert (cluster.calls, journal.restarts) == ([("restart", "a")], [])

    def test_it_is_sent_again_if_the_answer_is_lost(self, clock: ManualClock) -> None:
        """A running connector does not show whether it was restarted."""
        cluster = MemoryCluster(clock, connector("a"))
        cluster.faults["restart", "a"].append(Fault(OutcomeUnknown("no answer"), happens=True))
        assert run(cluster, self.STEP).result is Result.APPLIED
        assert cluster.calls == [("restart", "a")] * 2
