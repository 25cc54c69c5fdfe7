"""Any calls in any order, compared with a simple model: allowed calls take effect, others change nothing."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.planner.operation_values import FREE, LOCAL, NOON, REWRITTEN, SKIP, offsets, record_of

from gitops_connect.errors import LedgerUnusable, OperationSettled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import Digest, OperationName
from gitops_connect.model.offsets import Offsets, offsets_digest
from gitops_connect.model.operations import Operation, OperationState


@dataclass
class Known:
    """The model's state of one operation."""

    state: OperationState
    digest: Digest | None
    since: datetime
    before: Offsets | None = None
    after: Offsets | None = None
    failures: int = 0


names = st.sampled_from([OperationName("a"), OperationName("b")])
variants = st.sampled_from([SKIP, REWRITTEN])
existing = st.integers(0, 3).map(offsets)


class Histories(RuleBasedStateMachine):
    """The ledger, and a model of its expected content."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.operations = Ledger.open("sqlite:///state.db", Path(self.directory.name), b"k" * 32).operations
        self.known: dict[OperationName, Known] = {}
        self.now = NOON

    def teardown(self) -> None:
        self.directory.cleanup()

    def at(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def state(self, name: OperationName) -> OperationState | None:
        return self.known[name].state if name in self.known else None

    def count(self, operation: Operation) -> int:
        known = self.known.get(operation.name)
        return known.failures if known and known.digest == operation.digest else 0

    @rule(name=names, variant=variants)
    def intend(self, name: OperationName, variant: Operation) -> None:
        operation, at = replace(variant, name=name), self.at()
        if self.state(name) not in FREE:
            with pytest.raises(OperationSettled):
                self.operations.intend(LOCAL, operation, at)
            return
        self.operations.intend(LOCAL, operation, at)
        failures = self.count(operation)
        self.known[name] = Known(OperationState.INTENDED, operation.digest, at, failures=failures)

    @rule(name=names, variant=variants, before=existing)
    def begin(self, name: OperationName, variant: Operation, before: Offsets) -> None:
        operation, at = replace(variant, name=name), self.at()
        if self.state(name) is OperationState.OPEN and self.known[name].digest == operation.digest:
            self.operations.begin(LOCAL, operation, before, at)
        elif self.state(name) not in FREE:
            with pytest.raises(OperationSettled):
                self.operations.begin(LOCAL, operation, before, at)
        else:
            self.operations.begin(LOCAL, operation, before, at)
            failures = self.count(operation)
            self.known[name] = Known(OperationState.OPEN, operation.digest, at, before, failures=failures)

    @rule(name=names, after=existing)
    def settle(self, name: OperationName, after: Offsets) -> None:
        at = self.at()
        if self.state(name) is OperationState.SETTLED:
            self.operations.settle(LOCAL, name, after, "", at)
        elif self.state(name) in {OperationState.OPEN, OperationState.INTENDED}:
            self.operations.settle(LOCAL, name, after, "", at)
            known = self.known[name]
            known.state, known.since, known.after, known.failures = OperationState.SETTLED, at, after, 0
        else:
            with pytest.raises(LedgerUnusable):
                self.operations.settle(LOCAL, name, after, "", at)

    @rule(name=names, variant=variants)
    def fail(self, name: OperationName, variant: Operation) -> None:
        operation, at = replace(variant, name=name), self.at()
        mine = self.state(name) is OperationState.OPEN and self.known[name].digest == operation.digest
        if self.state(name) in FREE or mine:
            self.operations.fail(LOCAL, operation, "no", final=False, at=at)
            failures = self.count(operation) + 1
            self.known[name] = Known(OperationState.FAILED, operation.digest, at, failures=failures)
        else:
            with pytest.raises(OperationSettled):
                self.operations.fail(LOCAL, operation, "no", final=False, at=at)

    @rule(name=names)
    def release(self, name: OperationName) -> None:
        self.operations.release(LOCAL, name)
        if self.state(name) is OperationState.SETTLED:
            self.known[name].state = OperationState.RELEASED

    @rule(name=names)
    def drop(self, name: OperationName) -> None:
        self.operations.drop(LOCAL, name)
        self.known.pop(name, None)

    @rule(name=names, state=st.sampled_from([OperationState.UNKNOWN, OperationState.SETTLED]))
    def mark(self, name: OperationName, state: OperationState) -> None:
        at = self.at()
        self.operations.mark(LOCAL, replace(record_of(SKIP), name=name, state=state, digest=None, since=at))
        self.known[name] = Known(state, None, at)

    @invariant()
    def it_knows_what_was_done(self) -> None:
        found = self.operations.records(LOCAL)
        assert list(found) == sorted(self.known)
        for name, known in self.known.items():
            one = found[name]
            assert (one.state, one.digest, one.since) == (known.state, known.digest, known.since)
            assert one.failures == known.failures
            assert self.operations.snapshot(LOCAL, name) == known.before
            assert one.before == (None if known.before is None else offsets_digest(known.before))
            assert one.after == (None if known.after is None else offsets_digest(known.after))


@pytest.mark.slow
class TestHistories(Histories.TestCase):
    settings = settings(max_examples=8, stateful_step_count=15)


@pytest.mark.slow
class TestManyHistories(Histories.TestCase):
    settings = settings(stateful_step_count=15)
