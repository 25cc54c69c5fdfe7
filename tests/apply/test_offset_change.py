"""Offset changes through the executor: what is recorded in the ledger and when, and the connector's final state."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, STOPPED, Fault, MemoryCluster, connector, refused
from support.cluster.memory_journal import CONFIG, MemoryJournal, execute_options
from support.files.tables import cases
from support.planner.plans_of_steps import plan
from support.planner.situations import current_offsets, offsets_to

from gitops_connect.apply.executor import execute
from gitops_connect.errors import (
    ConnectUnavailable,
    KafkaRefused,
    LedgerBusy,
    LedgerUnusable,
    NotStopped,
    OffsetsNotChanged,
)
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ConnectorType, WorkerState
from gitops_connect.model.offset_changes import Acknowledgement, Failure, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
A10, A20, A30 = current_offsets(a=10), current_offsets(a=20), current_offsets(a=30)
A = ConnectorName("a")
ALL = ("rewind", "skip", "tombstone", "reset")


def offset_change(kind: str, declared: OffsetPatch | None = None, *acknowledged: str, name: str = "c") -> OffsetChange:
    return OffsetChange(
        OffsetChangeName(name),
        A,
        OffsetChangeKind(kind),
        Digest("d"),
        Revision("r"),
        declared or {},
        frozenset(map(Acknowledgement, acknowledged)),
    )


def steps(*offset_changes: OffsetChange, around: bool = True) -> list[Step]:
    """Steps in the planner's order: stop, the changes, resume."""
    changes = [
        Step(
            A,
            Action.RESET if one.kind in (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR) else Action.ALTER,
            "a reason",
            offset_change=one,
        )
        for one in offset_changes
    ]
    if not around:
        return changes
    return [Step(A, Action.STOP, ""), *changes, Step(A, Action.RESUME, "")]


def runtime(current: Offsets = A20, *, state: Any = RUNNING) -> MemoryCluster:
    cluster = MemoryCluster(ManualClock(), connector("a", state, CONFIG))
    cluster.stored[A] = current
    return cluster


def run(cluster: MemoryCluster, journal: MemoryJournal, *wanted: Step, **more: Any) -> tuple[StepOutcome, ...]:
    options = execute_options(cluster.clock, journal, settle_timeout=30, **more)
    return execute(plan(*wanted), cluster, options)


def results(outcomes: tuple[StepOutcome, ...]) -> list[Result]:
    return [outcome.result for outcome in outcomes]


def state(cluster: MemoryCluster) -> Any:
    cluster.connectors()
    return cluster.present[A].state


@pytest.mark.parametrize("case", cases(__file__, "offset_changes.yaml"), ids=lambda case: case["case"])
def test_case(case: Mapping[str, Any]) -> None:
    cluster, journal = cluster_of(case), MemoryJournal(config={**CONFIG, **case.get("config", {})})
    journal.faults.update({call: deque([Fault.of(one).error]) for call, one in case.get("ledger", {}).items()})
    if "begun" in case:
        journal.unfinished[OffsetChangeName("c")] = current_offsets(**case["begun"])
    kind, declared = case.get("kind", "alter"), offsets_to(**case.get("declared", {"a": 30}))
    declared = {} if kind in ("reset", "clear") else declared
    changes = [
        offset_change(kind, declared, *case.get("acknowledged", ALL), name=name)
        for name in "cd"[: case.get("changes", 1)]
    ]
    stop, *rest = steps(*changes)
    if "last" in case:
        rest[-1] = Step(A, Action[case["last"]], "")
    calls = {"request": cluster.calls, "begun": journal.calls, "always": [True], "": []}[case.get("interrupted", "")]

    def before_effect() -> None:
        if case.get("loses_lease") and cluster.calls:
            raise LedgerBusy("lost")

    before = {} if case.get("created") else {A: connector("a", RUNNING, CONFIG)}
    options = {"interrupted": lambda: bool(calls), "before_effect": before_effect, "before": before}
    outcomes = run(cluster, journal, *([] if state(cluster) is STOPPED else [stop]), *rest, **options)

    failure = journal.failed.get(OffsetChangeName("c"), Failure(""))
    found = {
        "results": [one.value for one in results(outcomes)],
        "message": next(one.message for one in outcomes if one.step.offset_change is changes[0]),
        "skipped": next((one.message for one in outcomes if one.result is SKIPPED), ""),
        "failed": failure.message,
        "final": failure.final,
        "lacks": sorted(one.value for one in failure.lacks),
        "calls": [call for call, _ in journal.calls],
        "before": positions(journal.before.get(OffsetChangeName("c"), {})),
        "sent": len([verb for verb, _ in cluster.calls if verb in ("alter", "reset")]),
        "stored": positions(cluster.stored[A]),
        "settled": positions(journal.settled.get(OffsetChangeName("c"), ({}, ""))[0]),
        "recorded_warning": journal.settled.get(OffsetChangeName("c"), ({}, ""))[1],
        "listed": sorted(cluster.listed),
    }
    if "a" in cluster.listed:
        found["state"] = state(cluster).value
    expected = {"results": ["applied"] * len(outcomes), **{key: case[key] for key in found.keys() & case.keys()}}
    if "noted" in case:
        expected["failed"] = ""
        assert case["noted"] in journal.noted[OffsetChangeName("c")]
    assert {key: found[key] for key in expected} == expected


def cluster_of(case: Mapping[str, Any]) -> MemoryCluster:
    there = WorkerState[case.get("there", "RUNNING")]
    cluster = runtime(current_offsets(**case.get("current", {"a": 20})), state=there)
    cluster.put(connector("a", there, {**CONFIG, **case.get("config", {})}))
    cluster.warnings[A] = case.get("warning", "")
    if "progress" in case:
        cluster.progress[A] = lambda _: current_offsets(**case["progress"])
    if "partly" in case:
        left = [current_offsets(**case["partly"])]
        cluster.on_call = lambda verb, name: (
            cluster.stored.update({A: left.pop()}) if verb == "alter" and left else None
        )
    for verb, faults in case.get("faults", {}).items():
        cluster.faults[verb, "a"].extend([Fault.of(one) for one in faults] * case.get("times", 1))
    return cluster


def positions(offsets: Offsets) -> dict[str, int]:
    return {json.loads(one)["filename"]: json.loads(offset)["position"] for one, offset in offsets.items()}


class TestTasksThatStillWrite:
    """A task that did not stop in time writes until the connector was STOPPED for a while, or until it is fenced."""

    IDS = ("g-a-0", "g-a-1")

    def fenced(self, cluster: MemoryCluster, journal: MemoryJournal, fence: Any = None, **more: Any) -> Any:
        """Stop, change and resume the connector, with a plan that fences its tasks."""
        stop, change, resume = steps(offset_change("alter", A30))
        return run(cluster, journal, stop, replace(change, fenced=self.IDS), resume, fence=fence, **more)

    def test_the_tasks_are_fenced_after_the_stop_and_before_the_offsets_are_read(self) -> None:
        cluster, journal = runtime(), MemoryJournal()
        seen: list[Any] = []

        def fence(ids: Any) -> None:
            assert state(cluster) is STOPPED
            seen.append(ids)
            cluster.stored[A] = A10  # what a transaction in progress has committed just before

        assert results(self.fenced(cluster, journal, fence)) == [APPLIED] * 3
        assert seen == [self.IDS]
        assert journal.before["c"] == A10
        assert journal.calls == [("begin", "c"), ("settle", "c")]

    @pytest.mark.parametrize("begun", [False, True])
    def test_nothing_is_changed_if_the_tasks_cannot_be_fenced(self, begun: bool) -> None:
        cluster, journal = runtime(state=STOPPED if begun else RUNNING), MemoryJournal()
        if begun:
            journal.unfinished[OffsetChangeName("c")] = A20

        def fence(ids: Any) -> None:
            raise KafkaRefused("x-0: its principal needs Write on this transactional id")

        assert results(self.fenced(cluster, journal, fence)) == [APPLIED, BAD, SKIPPED if begun else APPLIED]
        told = journal.noted["c"] if begun else journal.failed["c"].message
        assert "its tasks could not be fenced: x-0: its principal needs Write" in told
        assert cluster.changed == []
        assert cluster.stored["a"] != A30

    def test_tasks_of_a_connector_that_someone_has_started_are_not_fenced(self) -> None:
        cluster, journal, fenced = runtime(), MemoryJournal(), []
        change = replace(steps(offset_change("alter", A30), around=False)[0], fenced=self.IDS)
        assert results(run(cluster, journal, change, fence=fenced.append)) == [BAD]
        assert "not fenced: expected STOPPED, found RUNNING" in journal.failed["c"].message
        assert fenced == []

    def test_nothing_is_fenced_without_the_lease(self) -> None:
        cluster, journal, fenced = runtime(), MemoryJournal(), []

        def before_effect() -> None:
            if state(cluster) is STOPPED:
                raise LedgerBusy("lost")

        self.fenced(cluster, journal, fenced.append, before_effect=before_effect)
        assert (fenced, journal.calls, cluster.changed) == ([], [], [])

    @pytest.mark.parametrize(
        ("kind", "config", "reads", "waits"),
        [
            ("alter", {}, [A20], 5),
            ("alter", {}, [A10, A20], 10),
            ("reset", {}, [A10, A20], 10),
            ("seed", {}, [A20], 0),
            ("alter", {"type": "sink"}, [A20], 0),
        ],
    )
    def test_offsets_must_be_the_same_after_a_while(self, kind: str, config: Any, reads: Any, waits: int) -> None:
        cluster, journal = runtime(), MemoryJournal()
        writes = iter([*reads, reads[-1]])
        began: list[float] = []
        before = connector("a", RUNNING, CONFIG)
        before = replace(before, type=ConnectorType.SINK) if config else before

        def on_call(verb: str, name: str) -> None:
            if verb == "offsets" and state(cluster) is STOPPED and not journal.calls:
                began.append(cluster.clock.monotonic())
                cluster.stored[A] = next(writes)

        cluster.on_call = on_call
        change = offset_change(kind, {} if kind == "reset" else A30, *ALL)
        ended = run(cluster, journal, *steps(change), before={A: before}, task_shutdown_timeout=5)
        assert results(ended) == [APPLIED] * 3
        assert began[-1] - began[0] == waits
        assert journal.before["c"] == reads[-1]

    def test_offsets_that_still_change_are_left_alone(self) -> None:
        cluster, journal = runtime(), MemoryJournal()
        cluster.on_call = lambda verb, name: cluster.stored.update(
            {A: current_offsets(a=int(cluster.clock.monotonic()))}
        )
        before = {A: connector("a", RUNNING, CONFIG)}
        ended = run(cluster, journal, *steps(offset_change("alter", A30)), before=before, task_shutdown_timeout=5)
        assert results(ended) == [APPLIED, BAD, APPLIED]
        assert "still changed after 30 s: a task that did not stop still writes" in journal.failed["c"].message
        assert cluster.changed == []


class TestRefusals:
    def test_a_connector_that_is_started_during_the_change_keeps_its_offsets(self) -> None:
        """Connect refuses the change while the connector runs. The old offsets must not be sent after that."""
        refusals = 40
        for _ in range(2):
            cluster, journal = runtime(), MemoryJournal()
            cluster.faults["alter", A].extend([Fault(NotStopped("it runs"))] * refusals)
            cluster.on_call = lambda verb, name, of=cluster: of.stored.update({name: A30}) if verb == "alter" else None
            outcomes = run(cluster, journal, *steps(offset_change("alter", A10, "rewind")))
            assert results(outcomes) == [APPLIED, BAD, APPLIED]
            assert journal.calls == [("begin", "c"), ("fail", "c")]
            assert cluster.stored["a"] == A30
            assert cluster.changed == []
            refusals = sum(verb == "alter" for verb, _ in cluster.calls)

    def test_restored_offsets_that_changed_again_leave_the_change_in_progress(self) -> None:
        cluster, journal, shown = runtime(), MemoryJournal(), iter([A20, A10, A10])
        cluster.faults["alter", A].append(Fault(OffsetsNotChanged("half of it")))
        cluster.on_call = lambda verb, name: cluster.stored.update({name: next(shown)}) if verb == "offsets" else None
        assert results(run(cluster, journal, *steps(offset_change("alter", A30)))) == [APPLIED, BAD, SKIPPED]
        assert "were restored, but the cluster shows other offsets now" in journal.noted["c"]


class TestLostAnswers:
    def test_a_rejected_read_says_nothing_of_a_timeout(self) -> None:
        cluster, journal = runtime(), MemoryJournal()
        cluster.faults["offsets", "a"].append(refused("no"))
        run(cluster, journal, *steps(offset_change("alter", A30)))
        assert journal.failed["c"] == Failure("the current offsets could not be read: no")

    @pytest.mark.parametrize("kind", ["alter", "reset"])
    @pytest.mark.parametrize("answer", [None, "OutcomeUnknown+: the answer contains no message"])
    def test_a_change_stays_in_progress_if_the_offsets_after_it_cannot_be_read(
        self, kind: str, answer: str | None
    ) -> None:
        cluster, journal = runtime(), MemoryJournal()
        cluster.faults[kind, "a"].extend([Fault.of(answer)] if answer else [])

        def break_reads(verb: str, name: str) -> None:
            if verb == kind:
                cluster.faults["offsets", "a"].extend([Fault(ConnectUnavailable("503"))] * 99)

        cluster.on_call = break_reads
        changed = offset_change(kind, A30 if kind == "alter" else {}, "reset")
        assert results(run(cluster, journal, *steps(changed))) == [APPLIED, BAD, SKIPPED]
        assert f"the offsets after the {'request' if answer else 'change'} could not be read" in journal.noted["c"]
        assert not journal.settled

    def test_offsets_of_a_zombie_task_are_overwritten(self) -> None:
        cluster, journal = runtime(), MemoryJournal()
        looks = iter([False, True, True, True])

        def zombie(verb: str, name: str) -> None:
            if verb == "offsets" and next(looks, False):
                cluster.stored[ConnectorName(name)] = A10

        cluster.on_call = zombie
        assert results(run(cluster, journal, *steps(offset_change("alter", A30)))) == [APPLIED] * 3
        assert cluster.calls.count(("alter", "a")) == 2
        assert journal.settled["c"] == (A30, "")

    @pytest.mark.parametrize(
        ("declared", "which"),
        [
            (A30, 'the partition {"filename":"a"} has another offset'),
            (A30 | current_offsets(b=1), "2 partitions have other"),
        ],
    )
    def test_offsets_that_are_overwritten_until_the_timeout_leave_the_change_in_progress(
        self, declared: Offsets, which: str
    ) -> None:
        cluster, journal = runtime(), MemoryJournal()
        cluster.on_call = lambda verb, name: cluster.stored.update({ConnectorName(name): A20})
        assert results(run(cluster, journal, *steps(offset_change("alter", declared)))) == [APPLIED, BAD, SKIPPED]
        assert which in journal.noted["c"]
        assert "although Connect accepted the change" in journal.noted["c"]


class TestLedger:
    def test_a_connector_is_not_created_before_its_seed_is_recorded(self) -> None:
        cluster, journal = MemoryCluster(ManualClock()), MemoryJournal()
        seed = offset_change("seed", A20)
        create = Step(A, Action.CREATE, "", config=CONFIG, initial_state=TargetState.STOPPED, offset_change=seed)
        rest = [*steps(seed, around=False), Step(A, Action.RESUME, "")]
        calls_at_create: list[list[Any]] = []
        cluster.on_call = lambda verb, name: calls_at_create.append([*journal.calls]) if verb == "create" else None
        assert results(run(cluster, journal, create, *rest)) == [APPLIED] * 3
        assert calls_at_create == [[("intend", "c")]]
        assert journal.calls == [("intend", "c"), ("begin", "c"), ("settle", "c")]

        broken, journal = MemoryCluster(ManualClock()), MemoryJournal()
        journal.faults["intend"].extend([LedgerUnusable("disk full")] * 2)  # together with others, and alone
        assert results(run(broken, journal, create, *rest)) == [BAD, SKIPPED, SKIPPED]
        assert broken.calls == []
