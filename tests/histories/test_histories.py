"""Histories of commits, deaths, faults and manual requests: no applied change is sent again, and none is lost."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from simulation.account import positions
from support.cluster.memory_cluster import Fault

from gitops_connect.errors import ConnectUnavailable, NotStopped, OffsetsNotChanged, OutcomeUnknown, RebalanceInProgress
from gitops_connect.model.names import OffsetChangeName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import ReconciliationOutcome
from histories.stage import CLASS, LOCAL, NAME, End, Stage

# The thorough profile takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ALL = ("rewind", "skip", "tombstone", "reset")
VERBS = ("stop", "offsets", "alter", "reset", "resume", "create", "delete")
FAULTS = (
    Fault(OutcomeUnknown("no answer")),
    Fault(OutcomeUnknown("no answer"), happens=True),
    Fault(ConnectUnavailable("nobody")),
    Fault(RebalanceInProgress("rebalancing")),
    Fault(OffsetsNotChanged("no")),
    Fault(OffsetsNotChanged("by halves"), happens=True),
    Fault(NotStopped("not yet")),
)
READ_FAULTS = (ConnectUnavailable, RebalanceInProgress)
DEATHS = ("begin", "alter_offsets", "reset_offsets", "settle", "resume", "stop", "record", "record_applied", "delete")
steps = st.sampled_from((*DEATHS, "create", "intend", "release", "forget", "fail", "note"))
kills = st.builds(End, steps, st.just(True))
ends = st.none() | kills | st.builds(End, steps, st.just(False))
states = st.sampled_from(["running", "running", "running", "stopped", "paused", "absent", "gone"])
places = st.dictionaries(st.sampled_from("axy"), st.integers(0, 100), min_size=1)


@dataclass(frozen=True)
class Change:
    offset_change: str
    places: tuple[tuple[str, int | None], ...]
    acknowledged: tuple[str, ...]

    def document(self, name: str) -> str:
        entries = [{"partition": {"s": s}, "offset": None if n is None else {"n": n}} for s, n in self.places]
        lines = [f"  offsets: {json.dumps(entries)}"] if self.offset_change != "reset" else []
        return "\n".join(
            [
                f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {name}}}\nspec:",
                f"  connector: {NAME}\n  operation: {self.offset_change}",
                *lines,
                f"  acknowledge: [{', '.join(self.acknowledged)}]\n",
            ]
        )


def _pairs(found: dict[str, int | None]) -> tuple[tuple[str, int | None], ...]:
    return tuple(sorted(found.items()))


acknowledged = st.just(ALL) | st.lists(st.sampled_from(ALL), unique=True).map(tuple)
changes = (
    st.builds(
        Change,
        st.just("alter"),
        st.dictionaries(st.sampled_from("axy"), st.none() | st.integers(0, 100), min_size=1).map(_pairs),
        acknowledged,
    )
    | st.builds(Change, st.just("replace"), places.map(_pairs), acknowledged)
    | st.builds(Change, st.just("reset"), st.just(()), acknowledged)
)


def document(state: str, spec: str = "") -> str:
    return (
        f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {NAME}}}\nspec:\n  class: {CLASS}\n"
        f"  state: {state}\n{spec}"
    )


class Histories(RuleBasedStateMachine):
    """One connector and its offset changes."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.declared: dict[str, Change] = {}
        self.state = "running"
        self.spec = ""
        self.count = 0
        self.last: object = None

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self.stage.close()

    @initialize(
        seed=st.none() | places,
        on_delete=st.sampled_from(["keep", "reset"]),
        version=st.sampled_from(["4.3.1", "3.6.0"]),
        end=ends,
    )
    def begin(self, seed: dict[str, int] | None, on_delete: str, version: str, end: End | None) -> None:
        self.stage.cluster.rules.version = version
        self.spec = f"  onDelete: {{offsets: {on_delete}}}\n"
        if seed:
            entries = [{"partition": {"s": s}, "offset": {"n": n}} for s, n in seed.items()]
            self.spec += f"  initialOffsets: {{offsets: {json.dumps(entries)}}}\n"
        self.set_state("running")
        self.cycle(end)

    @rule(state=states, end=ends)
    def move(self, state: str, end: End | None) -> None:
        """Declare another state."""
        self.set_state(state)
        self.cycle(end)

    def set_state(self, state: str) -> None:
        """Declare the state; `gone` removes the document, so that the connector is pruned."""
        self.state = state
        self.stage.repository.write("connector.yaml", document(state, self.spec) if state != "gone" else None)

    @rule(change=changes, end=kills, verb=st.sampled_from(["resume", "pause"]))
    def meddle(self, change: Change, end: End | None, verb: str) -> None:
        """Someone resumes or pauses a connector that a killed process left stopped."""
        self.change(change, end)
        if self.last is None and self.stage.state() is not None:
            self.by_hand(verb)
            self.cycle(None)

    @rule(change=changes, end=ends)
    def change(self, change: Change, end: End | None) -> None:
        """Commit a new offset change."""
        self.count += 1
        self.commit(f"n{self.count:03}", change)
        self.cycle(end)

    @rule(data=st.data(), change=changes)
    def rewrite(self, data: st.DataObject, change: Change) -> None:
        if self.declared:
            self.commit(data.draw(st.sampled_from(sorted(self.declared))), change)

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        if self.declared:
            self.commit(data.draw(st.sampled_from(sorted(self.declared))), None)

    @rule(data=st.data(), end=ends)
    def rename(self, data: st.DataObject, end: End | None) -> None:
        """Rename an offset change: under its new name it repeats what it did."""
        if self.declared:
            name = data.draw(st.sampled_from(sorted(self.declared)))
            change = self.declared[name]
            self.commit(name, None)
            self.change(change, end)

    @rule(data=st.data(), end=ends)
    def undo(self, data: st.DataObject, end: End | None) -> None:
        """Commit what `offsets undo` writes: exactly the offsets before the change. `Account.settle` checks them."""
        settled = sorted(name for name, one in self.records().items() if one.state is OffsetChangeState.SETTLED)
        if not settled:
            return
        before = self.stage.ledger.offset_changes.snapshot(LOCAL, data.draw(st.sampled_from(settled)))
        assert before is not None
        found = _pairs({**positions(before)})
        self.change(Change("replace" if found else "reset", found, ALL), end)

    @rule(end=ends)
    def go_on(self, end: End | None) -> None:
        self.cycle(end)

    def cycle(self, end: End | None) -> None:
        self.last = self.stage.cycle(end)

    def commit(self, name: str, change: Change | None) -> None:
        if change is None:
            self.declared.pop(name)
        else:
            self.declared[name] = change
        self.stage.repository.write(f"changes/{name}.yaml", change.document(name) if change else None)

    @rule(more=st.integers(1, 40))
    def progress(self, more: int) -> None:
        self.stage.end += more
        self.stage.pass_time(2)

    @rule(verb=st.sampled_from(VERBS), fault=st.sampled_from(FAULTS))
    def fault(self, verb: str, fault: Fault) -> None:
        if isinstance(fault.error, OffsetsNotChanged | NotStopped) and verb not in ("alter", "reset"):
            return
        if verb == "offsets" and not isinstance(fault.error, READ_FAULTS):
            return
        self.stage.cluster.faults[verb, NAME].append(fault)

    @precondition(lambda self: NAME in self.stage.cluster.present)
    @rule(verb=st.sampled_from(["resume", "stop", "pause", "delete"]))
    def by_hand(self, verb: str) -> None:
        """A manual request. Not a stop after a start during a change: the two together would leave no trace."""
        if verb == "stop" and self.open() and self.stage.state() is not WorkerState.STOPPED:
            return
        self.stage.cluster.by_hand(verb, NAME)
        self.stage.pass_time(2)

    @rule()
    def wait(self) -> None:
        """Wait until failed changes are retried."""
        self.stage.pass_time(3601)

    @rule()
    def adopt(self) -> None:
        """Resolve changes of unknown outcome in the ledger, as someone does who has checked the cluster."""
        offset_changes, account = self.stage.ledger.offset_changes, self.stage.account
        for name, record in self.records().items():
            if record.state is OffsetChangeState.UNKNOWN or (record.state is OffsetChangeState.OPEN and record.message):
                if account.took_effect(name):
                    offset_changes.mark(LOCAL, replace(record, state=OffsetChangeState.SETTLED))
                    account.settled.add(name)
                else:
                    offset_changes.drop(LOCAL, name)

    def records(self) -> dict[OffsetChangeName, OffsetChangeRecord]:
        return dict(self.stage.ledger.offset_changes.records(LOCAL))

    def open(self) -> bool:
        return any(record.state is OffsetChangeState.OPEN for record in self.records().values())

    def come_to_rest(self) -> None:
        """Without further faults, every allowed change is applied, and the connector is in sync."""
        event(f"settled {len(self.stage.account.settled)}")
        self.stage.cluster.faults.clear()
        for _ in range(6):
            self.wait()
            self.cycle(None)
            self.adopt()
        outcome = self.last
        assert isinstance(outcome, ReconciliationOutcome), outcome
        if any(diagnostic.rule.startswith("offsets/") for diagnostic in outcome.diagnostics):
            return
        assert outcome.plan.is_empty, outcome.plan
        state = self.stage.state()
        assert state is (None if self.state in ("absent", "gone") else WorkerState[self.state.upper()])
        if state is not None:
            records = self.records()
            assert all(records[OffsetChangeName(name)].state is OffsetChangeState.SETTLED for name in self.declared)


def generated(histories: int) -> settings:
    return settings(
        max_examples=histories,
        stateful_step_count=10,
        # No shrinking: it would take minutes, and a history is short anyway.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )


class TestHistories(Histories.TestCase):
    """A history takes 0.25s: `make check` runs a few of them."""

    settings = generated(3)


@pytest.mark.slow
class TestManyHistories(Histories.TestCase):
    settings = generated(max(25, settings().max_examples // 4))


def test_a_connector_whose_creation_was_never_seen_is_managed() -> None:
    """Connect does not answer any more after the request, until the document is removed: the connector is deleted."""
    with closing(Stage()) as stage:
        stage.repository.write("connector.yaml", document("running"))
        stage.cluster.on_call = lambda verb, _: stage.cluster.look_faults.extend([ConnectUnavailable("nobody")] * 999)
        stage.cycle()
        stage.cluster.on_call = lambda verb, name: None
        stage.cluster.look_faults.clear()
        stage.pass_time(1)
        assert stage.state() is WorkerState.RUNNING
        stage.repository.write("connector.yaml", None)
        stage.cycle()
        assert stage.state() is None
