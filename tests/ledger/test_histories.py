"""Any calls in any order, compared with a simple model: allowed calls take effect, others change nothing."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.planner.offset_change_values import FREE, LOCAL, NOON, REWRITTEN, SKIP, offsets, record_of

from gitops_connect.errors import LedgerUnusable, OperationSettled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.offsets import Offsets, offsets_digest

CHANGES = [replace(one, name=OffsetChangeName(name)) for one in (SKIP, REWRITTEN) for name in "ab"]
EXISTING = [offsets(position) for position in range(4)]
SNAPSHOTS = {None: None, **{offsets_digest(one): one for one in EXISTING}}
changes, existing = st.sampled_from(CHANGES), st.sampled_from(EXISTING)


class Histories(RuleBasedStateMachine):
    """The ledger, and the records that it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.store = Ledger.open("sqlite:///state.db", Path(self.directory.name), b"k" * 32).offset_changes
        self.known: dict[OffsetChangeName, OffsetChangeRecord] = {}
        self.now = NOON

    def teardown(self) -> None:
        self.directory.cleanup()

    def state(self, change: OffsetChange) -> OffsetChangeState | None:
        self.now += timedelta(seconds=1)
        return self.known[change.name].state if change.name in self.known else None

    def entered(self, change: OffsetChange, state: OffsetChangeState) -> OffsetChangeRecord:
        known = self.known.get(change.name)
        failures = known.failures if known and known.digest == change.digest else 0
        return replace(record_of(change), state=state, since=self.now, failures=failures)

    def is_open(self, change: OffsetChange) -> bool:
        return self.state(change) is OffsetChangeState.OPEN and self.known[change.name].digest == change.digest

    @rule(change=changes)
    def intend(self, change: OffsetChange) -> None:
        is_free = self.state(change) in FREE
        with nullcontext() if is_free else pytest.raises(OperationSettled):
            self.store.intend(LOCAL, change, self.now)
        if is_free:
            self.known[change.name] = self.entered(change, OffsetChangeState.INTENDED)

    @rule(change=changes, before=existing)
    def begin(self, change: OffsetChange, before: Offsets) -> None:
        is_free = self.state(change) in FREE
        with nullcontext() if is_free or self.is_open(change) else pytest.raises(OperationSettled):
            self.store.begin(LOCAL, change, before, self.now)
        if is_free:
            begun = self.entered(change, OffsetChangeState.OPEN)
            self.known[change.name] = replace(begun, before=offsets_digest(before))

    @rule(change=changes, after=existing)
    def settle(self, change: OffsetChange, after: Offsets) -> None:
        state, begun = self.state(change), (OffsetChangeState.OPEN, OffsetChangeState.INTENDED)
        with nullcontext() if state in (OffsetChangeState.SETTLED, *begun) else pytest.raises(LedgerUnusable):
            self.store.settle(LOCAL, change.name, after, "", self.now)
        if state in begun:
            settled = replace(self.known[change.name], state=OffsetChangeState.SETTLED, since=self.now, failures=0)
            self.known[change.name] = replace(settled, after=offsets_digest(after))

    @rule(change=changes)
    def fail(self, change: OffsetChange) -> None:
        is_allowed = self.state(change) in FREE or self.is_open(change)
        with nullcontext() if is_allowed else pytest.raises(OperationSettled):
            self.store.fail(LOCAL, change, "", final=False, at=self.now)
        if is_allowed:
            failed = self.entered(change, OffsetChangeState.FAILED)
            self.known[change.name] = replace(failed, failures=failed.failures + 1)

    @rule(change=changes)
    def release(self, change: OffsetChange) -> None:
        self.store.release(LOCAL, change.name)
        if self.state(change) is OffsetChangeState.SETTLED:
            self.known[change.name] = replace(self.known[change.name], state=OffsetChangeState.RELEASED)

    @rule(change=changes)
    def drop(self, change: OffsetChange) -> None:
        self.store.drop(LOCAL, change.name)
        self.known.pop(change.name, None)

    @rule(change=changes, state=st.sampled_from([OffsetChangeState.UNKNOWN, OffsetChangeState.SETTLED]))
    def mark(self, change: OffsetChange, state: OffsetChangeState) -> None:
        self.known[change.name] = replace(record_of(change), state=state, digest=None, since=self.now)
        self.store.mark(LOCAL, self.known[change.name])

    @invariant()
    def it_knows_what_was_done(self) -> None:
        assert list(self.store.records(LOCAL).items()) == sorted(self.known.items())
        for name, known in self.known.items():
            assert self.store.snapshot(LOCAL, name) == SNAPSHOTS[known.before]


@pytest.mark.slow
class TestHistories(Histories.TestCase):
    settings = settings(stateful_step_count=15)
