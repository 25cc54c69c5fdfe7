"""The allowed order of steps, and what is stored: every state with every call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace
from support.planner.operation_values import (
    FREE,
    LATER,
    LOCAL,
    NOON,
    REWRITTEN,
    SKIP,
    STATES,
    STOOD,
    bring_to,
    offsets,
    record_of,
)

from gitops_connect.errors import LedgerBusy, LedgerUnusable, OperationSettled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.ledger.tables import OPERATIONS
from gitops_connect.model.names import ClusterName, Digest, OperationName
from gitops_connect.model.offsets import offsets_digest
from gitops_connect.model.operations import NOTHING_SENT, Operation, OperationState

pytestmark = pytest.mark.slow


@pytest.fixture
def operations(ledger: Ledger) -> Operations:
    return ledger.operations


def large(operation: Operation) -> Operation:
    return replace(operation, offsets={}, is_large=True)


PRESENT = offsets(9)
BEFORE = offsets_digest(PRESENT)
LINE = b'{"partition":{"filename":"/0"},"offset":{"position":9}}\n'
BEGINNINGS: Mapping[str, tuple[Callable[[Operations, Operation], None], Mapping[str, Any]]] = {
    "intend": (lambda one, operation: one.intend(LOCAL, operation, LATER), {"state": OperationState.INTENDED}),
    "begin": (lambda one, operation: one.begin(LOCAL, operation, PRESENT, LATER), {"before": BEFORE}),
    "begin large": (
        lambda one, operation: one.begin_large(LOCAL, large(operation), [LINE], [LINE, LINE], LATER),
        {"before": Digest(hashlib.sha256(LINE).hexdigest()), "entries": 2, "sent": 0},
    ),
    "record": (
        lambda one, operation: one.record(LOCAL, operation, PRESENT, LATER),
        {"state": OperationState.SETTLED, "before": BEFORE, "after": BEFORE, "message": NOTHING_SENT},
    ),
}
TAKEN = {
    OperationState.SETTLED: "is not applied again",
    OperationState.OPEN: "started on local .* with other offsets, and may have taken effect",
    OperationState.UNKNOWN: "ledger resolve",
}


@pytest.mark.parametrize("operation", [SKIP, REWRITTEN], ids=["same", "rewritten"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", BEGINNINGS)
def test_what_may_begin(operations: Operations, call: str, state: OperationState | None, operation: Operation) -> None:
    before = bring_to(operations, state)
    begin, fields = BEGINNINGS[call]
    if state in FREE:
        begin(operations, operation)
        is_repeated = before is not None and before.digest == operation.digest and call != "record"
        failures = before.failures if before and is_repeated else 0
        begun = replace(record_of(operation), since=LATER, failures=failures, **fields)
        assert operations.records(LOCAL) == {"skip": begun}
        assert operations.saved(LOCAL, SKIP.name) == (large(operation) if begun.entries else operation)
        assert operations.snapshot(LOCAL, SKIP.name) == (PRESENT if begun.before == BEFORE else None)
    elif call.startswith("begin") and (state, operation) == (OperationState.OPEN, SKIP):
        begin(operations, operation)
        assert operations.records(LOCAL) == {"skip": before}
        assert operations.snapshot(LOCAL, SKIP.name) == STOOD
    else:
        with pytest.raises(OperationSettled, match=f"skip.*{TAKEN[state]}"):
            begin(operations, operation)
        assert operations.records(LOCAL) == {"skip": before}


@pytest.mark.parametrize("operation", [SKIP, REWRITTEN], ids=["same", "rewritten"])
@pytest.mark.parametrize("state", STATES)
def test_what_may_fail(operations: Operations, state: OperationState | None, operation: Operation) -> None:
    before = bring_to(operations, state)
    if state in FREE or (state, operation) == (OperationState.OPEN, SKIP):
        operations.fail(LOCAL, operation, "no", final=True, at=LATER)
        failures = 1 + (before.failures if before and before.digest == operation.digest else 0)
        failed = replace(record_of(operation), state=OperationState.FAILED, since=LATER, failures=failures)
        assert operations.records(LOCAL) == {"skip": replace(failed, final=True, message="no")}
        assert operations.snapshot(LOCAL, SKIP.name) is None
        with pytest.raises(LedgerUnusable, match="contains no offsets of skip"):
            operations.saved(LOCAL, SKIP.name)
    else:
        with pytest.raises(OperationSettled):
            operations.fail(LOCAL, operation, "no", final=True, at=LATER)
        assert operations.records(LOCAL) == {"skip": before}


def test_a_large_one_is_recorded_without_its_offsets(operations: Operations) -> None:
    operations.record(LOCAL, large(SKIP), None, LATER)
    recorded = operations.records(LOCAL)["skip"]
    assert (recorded.state, recorded.before, recorded.entries) == (OperationState.SETTLED, None, None)
    assert operations.snapshot(LOCAL, SKIP.name) is None


@pytest.mark.parametrize("state", STATES)
def test_what_may_be_settled(operations: Operations, state: OperationState | None) -> None:
    before = bring_to(operations, state)
    if state is OperationState.SETTLED:
        operations.settle(LOCAL, SKIP.name, offsets(99), "other", LATER)
        assert operations.records(LOCAL) == {"skip": before}
    elif state in {OperationState.OPEN, OperationState.INTENDED}:
        operations.note(LOCAL, SKIP.name, "not yet")
        operations.settle(LOCAL, SKIP.name, offsets(1), "externally managed", LATER)
        assert before
        assert operations.records(LOCAL)[SKIP.name] == replace(
            before,
            state=OperationState.SETTLED,
            since=LATER,
            warning="externally managed",
            after=offsets_digest(offsets(1)),
        )
        assert operations.saved(LOCAL, SKIP.name) == SKIP
        assert operations.snapshot(LOCAL, SKIP.name) == (STOOD if state is OperationState.OPEN else None)
    else:
        with pytest.raises(
            LedgerUnusable,
            match=r"skip took effect on local, but it is not in progress in the ledger .*(state\.db|/ledger_)",
        ):
            operations.settle(LOCAL, SKIP.name, offsets(1), "", LATER)
        assert operations.records(LOCAL).get(SKIP.name) == before


def test_failures_are_counted_in_a_row_and_for_one_digest(operations: Operations) -> None:
    counts = []
    for operation in (SKIP, SKIP, REWRITTEN, REWRITTEN, REWRITTEN, SKIP):
        operations.begin(LOCAL, operation, STOOD, NOON)
        operations.fail(LOCAL, operation, "no", final=False, at=NOON)
        counts.append(operations.records(LOCAL)[SKIP.name].failures)
    assert counts == [1, 2, 1, 2, 3, 1]
    operations.begin(LOCAL, SKIP, STOOD, NOON)
    assert operations.records(LOCAL)[SKIP.name].failures == 1
    operations.settle(LOCAL, SKIP.name, STOOD, "", NOON)
    assert operations.records(LOCAL)[SKIP.name].failures == 0


@pytest.mark.parametrize("state", STATES)
def test_a_note_a_release_and_a_drop_change_that_operation_alone(
    operations: Operations, state: OperationState | None
) -> None:
    elsewhere = ClusterName("elsewhere")
    operations.begin(LOCAL, replace(SKIP, name=OperationName("other")), STOOD, NOON)
    operations.begin(elsewhere, SKIP, STOOD, NOON)
    before = bring_to(operations, state)
    operations.note(LOCAL, SKIP.name, "the group has members")
    noted = replace(before, message="the group has members") if before else None
    assert operations.records(LOCAL).get(SKIP.name) == noted
    operations.release(LOCAL, SKIP.name)
    is_settled = state is OperationState.SETTLED
    released = replace(noted, state=OperationState.RELEASED) if noted and is_settled else noted
    assert operations.records(LOCAL).get(SKIP.name) == released
    operations.drop(LOCAL, SKIP.name)
    assert set(operations.records(LOCAL)) == {"other"}
    assert set(operations.records(elsewhere)) == {"skip"}


def test_marking_keeps_the_undo_of_what_is_the_same_and_of_nothing_else(operations: Operations) -> None:
    begun = bring_to(operations, OperationState.OPEN)
    assert begun
    operations.mark(LOCAL, replace(begun, state=OperationState.SETTLED, message="by hand"))
    assert operations.saved(LOCAL, SKIP.name) == SKIP
    assert operations.snapshot(LOCAL, SKIP.name) == STOOD
    operations.mark(LOCAL, replace(begun, digest=REWRITTEN.digest))
    assert operations.declared(LOCAL, SKIP.name) is None
    assert operations.snapshot(LOCAL, SKIP.name) == STOOD
    operations.mark(LOCAL, replace(begun, before=None))
    assert operations.snapshot(LOCAL, SKIP.name) is None


def test_all_are_marked_or_none(operations: Operations) -> None:
    good = replace(record_of(SKIP), state=OperationState.UNKNOWN, digest=None)
    without_zone = replace(good, name=OperationName("bad"), since=datetime(2026, 11, 21))  # noqa: DTZ001 - the fault
    with pytest.raises((ValueError, LedgerUnusable), match="no time zone"):
        operations.mark(LOCAL, good, without_zone)
    assert operations.records(LOCAL) == {}
    operations.mark(LOCAL, good, replace(good, name=OperationName("another")))
    assert list(operations.records(LOCAL)) == ["another", "skip"]


def test_what_a_worker_says_can_be_kept_whatever_it_is(operations: Operations) -> None:
    operations.fail(LOCAL, SKIP, "half a pair \ud83d, a NUL \0, and the end", final=False, at=NOON)
    assert operations.records(LOCAL)[SKIP.name].message == "half a pair ?, a NUL ?, and the end"


def test_offsets_that_were_damaged_are_not_sent(operations: Operations, place: LedgerPlace) -> None:
    bring_to(operations, OperationState.OPEN)
    with closing(place.database()) as database, database.write() as connection:
        connection.execute(update(OPERATIONS).values(declared=b"\0", snapshot=b"\x78\x9c\0"))
    with pytest.raises(LedgerUnusable, match=r" is damaged: the offsets of skip on local"):
        operations.saved(LOCAL, SKIP.name)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        operations.snapshot(LOCAL, SKIP.name)


WRITES: Mapping[str, Callable[[Operations], None]] = {
    "intend": lambda one: one.intend(LOCAL, replace(SKIP, name=OperationName("new")), LATER),
    "begin": lambda one: one.begin(LOCAL, replace(SKIP, name=OperationName("new")), STOOD, LATER),
    "begin again": lambda one: one.begin(LOCAL, SKIP, STOOD, LATER),
    "settle": lambda one: one.settle(LOCAL, SKIP.name, STOOD, "", LATER),
    "fail": lambda one: one.fail(LOCAL, SKIP, "no", final=False, at=LATER),
    "note": lambda one: one.note(LOCAL, SKIP.name, "no"),
    "mark": lambda one: one.mark(LOCAL, replace(record_of(SKIP), state=OperationState.UNKNOWN)),
    "release": lambda one: one.release(LOCAL, SKIP.name),
    "drop": lambda one: one.drop(LOCAL, SKIP.name),
}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_once_the_lease_is_lost(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace, write: str
) -> None:
    bring_to(ledger.operations, OperationState.OPEN)
    before = ledger.export()
    with ledger.lease(LOCAL, clock, 60) as lost:
        place.move_leases()
        place.age_leases(60)
        with ledger.lease(LOCAL, clock, 60) as taken:
            with pytest.raises(LedgerBusy, match="the lease of cluster local was lost"):
                WRITES[write](ledger.under(lost).operations)
            assert ledger.export() == before
            WRITES[write](ledger.under(taken).operations)


def test_a_lease_that_is_given_back_after_it_was_checked_is_lost_too(ledger: Ledger, clock: ManualClock) -> None:
    with ledger.lease(LOCAL, clock, 60) as lease:
        lease.check()
        lease.release()
        with pytest.raises(LedgerBusy, match="it was given back"):
            ledger.under(lease).operations.begin(LOCAL, SKIP, STOOD, NOON)
    assert ledger.operations.records(LOCAL) == {}
