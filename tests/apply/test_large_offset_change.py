"""Large offset changes through the executor: sent in chunks, with faults in any of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, STOPPED, Fault, MemoryCluster, connector
from support.cluster.memory_journal import CONFIG, MemoryChange, MemoryJournal, execute_options
from support.files.tables import cases
from support.planner.plans_of_steps import plan
from support.planner.situations import current_offsets

from gitops_connect.apply.executor import execute
from gitops_connect.errors import (
    ConnectUnavailable,
    GroupInUse,
    NotStopped,
    OffsetsNotChanged,
    OutcomeUnknown,
    RebalanceInProgress,
)
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Step

pytestmark = pytest.mark.slow

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
A, C = ConnectorName("a"), OffsetChangeName("c")
LOST = OutcomeUnknown("no answer")
BEFORE = current_offsets(**{f"f{n:02}": 1 for n in range(40)})
WANTED = current_offsets(**{f"f{n:02}": 9 for n in range(35)})
AFTER = {**BEFORE, **WANTED}


def large(kind: str = "alter") -> OffsetChange:
    all_of_them = frozenset(Acknowledgement)
    return OffsetChange(
        C, A, OffsetChangeKind(kind), Digest("d"), Revision("r"), acknowledged=all_of_them, is_large=True
    )


class Stage:
    """One running connector, its offsets, and one large change of them; each `run` is one reconciliation."""

    def __init__(self, kind: str = "alter", manifest: OffsetPatch = WANTED, current: Offsets = BEFORE) -> None:
        self.cluster = MemoryCluster(ManualClock(), connector("a", RUNNING, CONFIG))
        self.cluster.stored[A] = current
        self.journal = MemoryJournal(cluster=self.cluster)
        self.journal.manifests[C] = manifest
        self.offset_change = large(kind)
        self.progress: list[SendingProgress] = []
        self.fenced: tuple[str, ...] = ()

    def run(self, *, around: bool = True, **more: Any) -> tuple[StepOutcome, ...]:
        takes_all = self.offset_change.kind in (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR)
        change = Step(A, Action.RESET if takes_all else Action.ALTER, "", offset_change=self.offset_change)
        change = replace(change, fenced=self.fenced)
        stop = [] if self.state is STOPPED else [Step(A, Action.STOP, "")]
        steps = [*stop, change, Step(A, Action.RESUME, "")] if around else [change]
        if C in self.journal.large_ones:
            self.journal.unfinished[C] = self.journal.large_ones[C].before
        given = {"on_progress": self.progress.append, "before": {A: connector("a", RUNNING, CONFIG)}, **more}
        options = execute_options(self.cluster.clock, self.journal, settle_timeout=30, **given)
        return execute(plan(*steps), self.cluster, options)

    @property
    def stored(self) -> Offsets:
        return self.cluster.stored[A]

    @property
    def sent(self) -> int:
        return self.journal.large_ones[C].sent

    @property
    def state(self) -> Any:
        self.cluster.connectors()
        return self.cluster.present[A].state

    def faults(self, verb: str, *faults: Fault) -> None:
        self.cluster.faults[verb, A].extend(faults)

    def calm(self) -> None:
        """Before another reconciliation: no fault is left, and its chunks are the only ones."""
        self.cluster.faults.clear()
        self.cluster.on_call = lambda verb, name: None
        self.journal.chunks.clear()

    def after_chunks(self, count: int, happens: Callable[[], None]) -> None:
        """Call `happens` once, when the cluster has received `count` requests for a change."""
        left = [count]

        def on_call(verb: str, name: str) -> None:
            if verb in ("alter", "reset"):
                left[0] -= 1
                if left[0] == 0:
                    happens()

        self.cluster.on_call = on_call


def results(outcomes: tuple[StepOutcome, ...]) -> list[Result]:
    """The results of the change, and of the step after it."""
    return [outcome.result for outcome in outcomes[-2:]]


def test_a_large_change_begins_when_tasks_are_fenced_or_its_offsets_are_the_same_after_a_while() -> None:
    stage = Stage()
    before = {A: connector("a", RUNNING, CONFIG)}
    writes = iter([BEFORE, {**BEFORE, **current_offsets(f00=2)}])

    def on_call(verb: str, name: str) -> None:
        if verb == "offsets" and stage.state is STOPPED:
            stage.cluster.stored[A] = next(writes, stage.stored)

    stage.cluster.on_call = on_call
    assert results(stage.run(before=before, task_shutdown_timeout=5)) == [APPLIED] * 2
    assert [word for word, _ in stage.journal.calls][:3] == ["review", "review", "begin"]
    assert stage.journal.large_ones[C].before == {**BEFORE, **current_offsets(f00=2)}

    stage = Stage()
    stage.fenced = ("g-a-0",)
    fenced: list[Any] = []
    stage.run(before=before, task_shutdown_timeout=5, fence=lambda ids: fenced.append((ids, [*stage.journal.calls])))
    assert fenced == [(("g-a-0",), [])]


@pytest.mark.parametrize(
    ("kind", "manifest", "current", "after", "requests"),
    [
        ("alter", WANTED, BEFORE, AFTER, 4),
        ("alter", dict.fromkeys(WANTED), BEFORE, {one: at for one, at in BEFORE.items() if one not in WANTED}, 4),
        ("replace", WANTED, BEFORE, WANTED, 4),
        ("seed", WANTED, {}, WANTED, 4),
        ("reset", {}, BEFORE, {}, 1),
        ("alter", {}, BEFORE, BEFORE, 0),
        ("reset", {}, {}, {}, 0),
    ],
)
def test_a_large_change_is_sent_in_chunks_verified_and_recorded_before_the_resume(
    kind, manifest, current, after, requests
) -> None:
    stage = Stage(kind, manifest, current)
    settled: list[bool] = []
    stage.cluster.on_call = lambda verb, name: settled.append(C in stage.journal.settled) if verb == "resume" else None
    assert results(stage.run()) == [APPLIED] * 2
    assert stage.stored == after
    assert stage.journal.settled[C] == (after, "")
    assert settled == [True]
    marks = 0 if kind == "reset" else requests
    assert [word for word, _ in stage.journal.calls] == ["review", "begin", *["mark"] * marks, "settle"]
    assert len(stage.cluster.changed) == requests
    assert stage.state is RUNNING


def test_a_clear_is_not_recorded_as_applied_before_the_deletion() -> None:
    stage = Stage("clear", {})
    assert results(stage.run(around=False)) == [BAD]  # the connector runs
    stage.cluster.stop(A)
    stage.cluster.clock.sleep(1)
    stage.journal.large_ones.clear()
    stage.journal.unfinished.clear()
    assert results(stage.run(around=False)) == [APPLIED]
    assert stage.stored == {}
    assert C not in stage.journal.settled


def test_progress_is_reported_in_the_callers_thread_up_to_the_last_entry() -> None:
    stage = Stage()
    stage.cluster.on_call = lambda verb, name: setattr(stage.cluster.clock, "seconds", stage.cluster.clock.seconds + 2)
    stage.run()
    last = stage.progress[-1]
    assert (last.offset_change, last.connector, last.done, last.entries, last.remaining) == (C, A, 35, 35, 0)
    assert last.rate == pytest.approx(35 / 8)


TEMPORARY = (
    Fault(LOST),
    Fault(LOST, happens=True),
    Fault(ConnectUnavailable("503")),
    Fault(RebalanceInProgress("wait")),
    Fault(NotStopped("not yet")),
)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    "fault",
    [*TEMPORARY, Fault(GroupInUse("members"))],
    ids=lambda fault: f"{type(fault.error).__name__}{' that happened' * fault.happens}",
)
def test_a_failure_at_any_chunk_is_retried(number: int, fault: Fault) -> None:
    stage = Stage()
    stage.after_chunks(number, lambda: stage.faults("alter", fault))
    if not number:
        stage.faults("alter", fault)
    assert results(stage.run()) == [APPLIED] * 2
    assert stage.stored == AFTER
    assert C in stage.journal.settled


def test_answers_that_are_lost_after_connects_own_timeout_do_not_end_the_retries() -> None:
    stage = Stage()
    stage.faults("alter", Fault(LOST), Fault(LOST))

    def on_call(verb: str, name: str) -> None:
        stage.cluster.clock.seconds += 95 * (verb == "alter" and bool(stage.cluster.faults["alter", A]))

    stage.cluster.on_call = on_call
    assert results(stage.run()) == [APPLIED] * 2


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["case"])
def test_case(case: Mapping[str, Any]) -> None:
    stage = stage_of(case)
    interrupts: list[bool] = []

    def happen(event: Mapping[str, Any]) -> None:
        for verb in event.keys() & {"alter", "reset", "offsets"}:
            faults = [Fault.of(one) for one in event[verb]]
            stage.faults(verb, *faults, *faults[-1:] * (99 if event.get("often") else 0))
        for call, one in event.get("ledger", {}).items():
            stage.journal.faults[call].append(Fault.of(one).error)
        interrupts.extend([True] * event.get("interrupt", False))

    for count, event in case.get("at", {}).items():
        if count:
            stage.after_chunks(count, partial(happen, event))
        else:
            happen(event)
    outcomes = stage.run(interrupted=lambda: bool(interrupts))
    message, failed = outcomes[-2].message, stage.journal.failed.get(C)
    assert case.get("says", "") in message
    assert failed is None or failed.message == message
    assert "noted" not in case or stage.journal.noted[C] == message
    found = {
        "results": [one.value for one in results(outcomes)],
        "message": message,
        "recorded_warning": stage.journal.settled.get(C, ({}, ""))[1],
        "failed": "" if failed is None else "final" if failed.final else "recorded",
        "stored": "before" if stage.stored == BEFORE else "after" if stage.stored in (AFTER, {}) else "partly",
        "sent": stage.journal.large_ones[C].sent if C in stage.journal.large_ones else 0,
        "requests": sum(verb in ("alter", "reset") for verb, _ in stage.cluster.calls),
        "first_chunks": [list(one) for one in stage.journal.chunks[:4]],
        "waits_for_herder": stage.cluster.waits_for_herder,
        "state": stage.state.value,
    }
    expected = {"results": ["applied"] * 2} | {key: case[key] for key in found.keys() & case.keys()}
    if expected["results"] == ["applied"] * 2:
        expected |= {"stored": "after", "failed": ""}
    assert {key: found[key] for key in expected} == expected
    if "then" in case:
        stage.calm()
        assert results(stage.run()) == [APPLIED] * 2
        assert [list(one) for one in stage.journal.chunks] == case["then"]
        assert stage.stored == AFTER


def stage_of(case: Mapping[str, Any]) -> Stage:
    kind = case.get("kind", "alter")
    stage = Stage(kind, {} if kind == "reset" else WANTED)
    stage.journal.most = case.get("most", 10)
    stage.cluster.warnings[A] = case.get("warning", "")
    if "max_skip" in case:
        stage.offset_change = replace(stage.offset_change, acknowledged=frozenset())
        stage.journal.max_skip = case["max_skip"]
    return stage


class TestGivingUp:
    def test_a_change_that_an_earlier_reconciliation_began_is_never_recorded_as_failed(self) -> None:
        """A request of the earlier reconciliation may still be in progress."""
        stage = Stage()
        stage.faults("alter", Fault(LOST), *[Fault(ConnectUnavailable("503"))] * 99)
        assert results(stage.run()) == [BAD, SKIPPED]
        stage.cluster.faults.clear()
        stage.faults("alter", Fault(OffsetsNotChanged("no")))
        assert results(stage.run()) == [BAD, SKIPPED]
        stage.cluster.faults.clear()
        stage.faults("offsets", Fault(ConnectUnavailable("nobody")), *[Fault(ConnectUnavailable("nobody"))] * 99)
        outcomes = stage.run()
        assert results(outcomes) == [BAD, SKIPPED]
        assert "it may have been applied" in outcomes[-2].message
        assert C not in stage.journal.failed

    def test_a_partly_sent_change_is_blocked_if_other_offsets_changed_meanwhile(self) -> None:
        stage = Stage()
        stage.after_chunks(3, lambda: stage.faults("alter", *[Fault(ConnectUnavailable("503"))] * 99))
        stage.run()
        stage.cluster.faults.clear()
        stage.cluster.stored[A] = {**stage.stored, **current_offsets(f30=5)}
        outcomes = stage.run()
        assert results(outcomes) == [BAD, SKIPPED]
        assert outcomes[-2].message.startswith("blocked, because the current offsets changed after the plan was made")
        assert stage.state is STOPPED


class TestReadingBack:
    def test_overwritten_offsets_are_sent_once_more(self) -> None:
        """A task that Connect's `Worker` cancelled because it did not stop in time may write its offsets once more."""
        stage = Stage()
        writes = self._overwrites(stage, times=3)
        assert results(stage.run()) == [APPLIED] * 2
        assert stage.stored == AFTER
        assert len(writes) == 3
        assert [start for start, _ in stage.journal.chunks] == [0, 10, 20, 30] * 2

    def test_offsets_that_are_overwritten_repeatedly_leave_the_change_in_progress(self) -> None:
        stage = Stage()
        self._overwrites(stage, times=99)
        outcomes = stage.run()
        assert results(outcomes) == [BAD, SKIPPED]
        assert outcomes[-2].message.startswith(
            "1 partitions have other offsets than declared, although Connect accepted the change twice;"
            " 35 of 35 offsets are set"
        )
        assert len(stage.journal.chunks) == 8
        stage.calm()
        assert results(stage.run()) == [APPLIED] * 2
        assert len(stage.journal.chunks) == 4

    @staticmethod
    def _overwrites(stage: Stage, times: int) -> list[int]:
        done: list[int] = []

        def on_call(verb: str, name: str) -> None:
            if verb == "offsets" and stage.journal.large_ones and stage.sent == 35 and len(done) < times:
                done.append(1)
                stage.cluster.stored[A] = {**stage.stored, **current_offsets(f00=1)}

        stage.cluster.on_call = on_call
        return done


class TestInterrupts:
    def test_the_lease_is_kept_alive_while_a_chunk_takes_long(self) -> None:
        stage = Stage()
        checked = threading.Event()

        def on_call(verb: str, name: str) -> None:
            if verb == "alter":
                checked.clear()
                stage.cluster.clock.seconds += 6
                assert checked.wait(30), "nobody asked for the lease"

        stage.cluster.on_call = on_call
        assert results(stage.run(before_effect=checked.set)) == [APPLIED] * 2

    def test_a_change_that_takes_longer_than_the_timeout_of_a_step_is_not_given_up(self) -> None:
        stage = Stage()
        stage.cluster.on_call = lambda *_: setattr(stage.cluster.clock, "seconds", stage.cluster.clock.seconds + 29)
        assert results(stage.run()) == [APPLIED] * 2

    def test_an_interrupt_before_the_change_resumes_the_connector(self) -> None:
        stage = Stage()
        stop: list[bool] = []
        stage.cluster.on_call = lambda verb, name: stop.append(True) if verb == "offsets" else None
        outcomes = stage.run(interrupted=lambda: bool(stop))
        assert results(outcomes) == [SKIPPED, APPLIED]
        assert (stage.cluster.changed, stage.state) == ([], RUNNING)
        assert C not in stage.journal.before


def test_concurrent_changes_have_only_one_chunk_in_progress() -> None:
    """A worker's heap has room for one chunk, however many connectors are changed in parallel."""
    cluster = MemoryCluster(ManualClock(), *(connector(name, STOPPED, CONFIG) for name in "ab"))
    journal, another = MemoryJournal(cluster=cluster), threading.Event()

    def wait_for_another(verb: str, name: str) -> None:
        if cluster.most_at_once > 1:
            another.set()
        if verb == "alter":
            another.wait(timeout=0.02)

    cluster.on_call = wait_for_another
    steps = []
    for name in "ab":
        cluster.stored[ConnectorName(name)] = BEFORE
        one = replace(large(), name=OffsetChangeName(f"change-{name}"), connector=ConnectorName(name))
        journal.manifests[one.name] = WANTED
        steps.append(Step(one.connector, Action.ALTER, "", offset_change=one))
    outcomes = execute(plan(*steps), cluster, execute_options(cluster.clock, journal, settle_timeout=30))
    assert [outcome.result for outcome in outcomes] == [APPLIED] * 2
    assert (len(cluster.changed), cluster.most_at_once) == (8, 1)


def test_offsets_are_compared_three_times_before_they_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, events = Stage(), list[str]()
    real = MemoryChange.difference

    def difference(change: MemoryChange) -> str:
        events.append("compare")
        return "an offset differs" if len(events) <= 7 else real(change)

    def called(verb: str, _: str) -> None:
        if verb == "alter" and events[-1:] != ["send"]:
            events.append("send")

    monkeypatch.setattr(MemoryChange, "difference", difference)
    stage.cluster.on_call = called
    assert [one.result for one in stage.run()] == [APPLIED] * 3
    assert events == ["send", *["compare"] * 3, "send", *["compare"] * 3]
