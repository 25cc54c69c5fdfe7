"""Connectors must work after their last step: the wait, the messages, and the connectors that are left stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import FAILED, PAUSED, RUNNING, STOPPED, Fault, MemoryCluster, connector, refused
from support.cluster.memory_journal import MemoryJournal, execute_options
from support.planner.plans_of_steps import plan, step
from support.planner.situations import current_offsets

from gitops_connect.apply.executor import execute
from gitops_connect.apply.step_context import StoppedConnectors
from gitops_connect.errors import OutcomeUnknown
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import TaskStatus
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
A, LOCAL = ConnectorName("a"), ClusterName("local")


def run(cluster: MemoryCluster, *steps: Step, **options: object) -> tuple[StepOutcome, ...]:
    options = {"settle_timeout": 30.0, **options}
    return execute(plan(*steps), cluster, execute_options(cluster.clock, **options))


def change(kind: OffsetChangeKind = OffsetChangeKind.ALTER) -> Step:
    offset_change = OffsetChange(OffsetChangeName("back"), A, kind, Digest("d"), Revision("r"), current_offsets(a=10))
    return replace(step("a", Action.ALTER), offset_change=offset_change)


def offset_change() -> list[Step]:
    return [step("a", Action.STOP), change(), step("a", Action.RESUME)]


def test_an_offset_change_that_kills_the_task_is_applied_and_the_resume_after_it_failed(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, connector("a")), MemoryJournal()
    cluster.rules.task_fails_after["a"] = 1.5
    stop, alter, resume = run(cluster, *offset_change(), journal=journal)
    assert (stop.result, alter.result, resume.result) == (APPLIED, APPLIED, BAD)
    assert resume.took_effect
    assert resume.message == (
        "task 0 is FAILED: java.lang.IllegalStateException: no;"
        " to restore the offsets, run: gitops-connect offsets undo back"
    )
    assert journal.settled.keys() == {"back"}
    assert resume.seconds < 5


def test_with_min_running_0_only_the_connector_is_checked(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.rules.task_fails_after["a"] = 0.0
    *_, resume = run(cluster, *offset_change(), min_running=0.0)
    assert resume.result is APPLIED
    assert clock.seconds < 5


def test_only_the_last_step_of_a_connector_is_watched(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b", STOPPED))
    outcomes = run(
        cluster,
        *(step("a", Action.CONFIGURE, {"k": "v"}), step("a", Action.STOP)),
        *(step("b", Action.CONFIGURE, {"k": "v"}), step("b", Action.RESUME)),
    )
    seconds = [outcome.seconds for outcome in outcomes]
    assert max(seconds[:3]) < 5 < seconds[3]


def test_steps_that_start_no_connector_do_not_wait_for_those_that_do(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name, STOPPED) for name in "ab"), connector("c"))
    reported_at: dict[str, float] = {}
    outcomes = run(
        cluster,
        *(step(name, Action.RESUME) for name in "ab"),
        *(step("c", Action.PAUSE), step("c", Action.DELETE)),
        parallelism=1,
        on_outcome=lambda outcome: reported_at.update({outcome.step.connector: clock.monotonic()}),
    )
    assert {outcome.result for outcome in outcomes} == {APPLIED}
    assert reported_at["c"] < 5 < reported_at["a"] == reported_at["b"] < 12


def test_earlier_failures_are_known_from_the_plan(clock: ManualClock) -> None:
    before = replace(connector("a"), tasks=(TaskStatus(0, FAILED, "w", "java.lang.Boom: old"),))
    cluster = MemoryCluster(clock, before, delay=6)
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"k": "v"}), before={A: before})
    assert (outcome.result, outcome.message) == (APPLIED, "")


def test_earlier_failures_are_forgotten_after_a_stop(clock: ManualClock) -> None:
    trace = "java.lang.IllegalStateException: no\n\tat org.example.Connector.start(Connector.java:42)"
    before = replace(connector("a"), tasks=(TaskStatus(0, FAILED, "w", trace),))
    cluster = MemoryCluster(clock, before)
    cluster.rules.task_fails_after["a"] = 0.0
    *_, resume = run(cluster, *offset_change(), before={A: before})
    assert resume.message.startswith("task 0 is FAILED: java.lang.IllegalStateException: no; to restore")


def test_missing_tasks_are_reported_in_addition_to_leftover_offsets(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.stored[A] = current_offsets(a=1)
    cluster.rules.no_tasks.add("a")
    (outcome,) = run(cluster, step("a", Action.CREATE))
    assert outcome.result is APPLIED
    assert outcome.message.startswith("an earlier connector of this name left 1 offset behind")
    assert "; it runs without tasks: " in outcome.message


class TestStopped:
    """The connectors that a process must report as left stopped if it is ended at once."""

    @pytest.fixture
    def stopped(self) -> StoppedConnectors:
        return StoppedConnectors()

    def test_a_connector_is_listed_from_its_stop_to_its_resume(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster, seen = MemoryCluster(clock, connector("a")), []
        cluster.on_call = lambda verb, name: seen.append((verb, bool(stopped.now)))
        run(cluster, *offset_change(), stopped=stopped, on_outcome=lambda one: seen.append((one.result, stopped.now)))
        assert [verb for verb, known in seen if known is True] == ["stop", "offsets", "alter", "offsets", "resume"]
        assert stopped.now == frozenset()

    def test_a_connector_is_removed_when_its_resume_is_accepted(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster, known = MemoryCluster(clock, connector("a")), []
        clock.meanwhile = lambda: known.append((cluster.calls[-1][0], bool(stopped.now)))
        run(cluster, *offset_change(), stopped=stopped)
        assert ("resume", False) in known
        assert ("resume", True) not in known
        assert ("stop", True) in known

    @pytest.mark.parametrize("last", [Action.PAUSE, Action.DELETE])
    def test_a_pause_or_a_deletion_also_removes_a_connector(
        self, clock: ManualClock, stopped: StoppedConnectors, last: Action
    ) -> None:
        cluster = MemoryCluster(clock, connector("a"))
        run(cluster, step("a", Action.STOP), step("a", last), stopped=stopped)
        assert stopped.now == frozenset()

    def test_a_connector_that_was_created_stopped_is_listed(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster, known = MemoryCluster(clock), []
        cluster.on_call = lambda verb, name: known.append((verb, (LOCAL, A) in stopped.now))
        create = step("a", Action.CREATE, initial=TargetState.STOPPED)
        run(cluster, create, step("a", Action.RESUME), stopped=stopped)
        assert known == [("create", True), ("offsets", True), ("resume", True)]
        assert stopped.now == frozenset()

    def test_a_connector_that_is_declared_stopped_is_not_listed(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        known = []
        cluster = MemoryCluster(clock, connector("a"))
        cluster.on_call = lambda verb, name: known.append(stopped.now)
        create = step("b", Action.CREATE, initial=TargetState.STOPPED)
        run(cluster, step("a", Action.STOP), create, stopped=stopped)
        assert set(known) == {frozenset()}

    def test_a_connector_whose_stop_was_refused_is_not_listed(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster = MemoryCluster(clock, connector("a"))
        cluster.faults["stop", "a"].append(refused())
        run(cluster, *offset_change(), stopped=stopped)
        assert stopped.now == frozenset()

    def test_a_connector_that_could_not_be_resumed_stays_listed(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster = MemoryCluster(clock, connector("a"))
        cluster.faults["resume", "a"].append(refused())
        run(cluster, *offset_change(), stopped=stopped)
        assert stopped.now == {(LOCAL, A)}

    def test_a_connector_whose_resume_had_no_answer_is_removed_once_it_runs(
        self, clock: ManualClock, stopped: StoppedConnectors
    ) -> None:
        cluster = MemoryCluster(clock, connector("a"))
        cluster.faults["resume", "a"].append(Fault(OutcomeUnknown("no answer"), happens=True))
        outcomes = run(cluster, *offset_change(), stopped=stopped)
        assert outcomes[-1].result is APPLIED
        assert stopped.now == frozenset()


def test_a_paused_connector_is_not_watched(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a", PAUSED))
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"k": "v"}))
    assert outcome.result is APPLIED
    assert outcome.seconds < 5
    assert cluster.present[A].state is not RUNNING
