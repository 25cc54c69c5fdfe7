"""The allowed order of steps, and what is stored: every state with every call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, update
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import (
    EARLIER,
    FREE,
    LATER,
    LOCAL,
    NOON,
    REWRITTEN,
    SKIP,
    STATES,
    bring_to,
    effect_at,
    offsets,
    record_of,
)

from gitops_connect.errors import LedgerBusy, LedgerUnusable, OperationSettled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.ledger.tables import OPERATIONS
from gitops_connect.model.names import ClusterName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import NOTHING_SENT, Acknowledgement, Failure, OffsetChange, OffsetChangeState
from gitops_connect.model.offsets import offsets_digest

pytestmark = pytest.mark.slow


@pytest.fixture
def offset_changes(ledger: Ledger) -> OffsetChangeStore:
    return ledger.offset_changes


def large(offset_change: OffsetChange) -> OffsetChange:
    return replace(offset_change, offsets={}, is_large=True)


PRESENT = offsets(9)
BEFORE = offsets_digest(PRESENT)
LINE = b'{"partition":{"filename":"/0"},"offset":{"position":9}}\n'
BEGINNINGS: Mapping[str, tuple[Callable[[OffsetChangeStore, OffsetChange], None], Mapping[str, Any]]] = {
    "intend": (
        lambda one, offset_change: one.intend(LOCAL, offset_change, LATER),
        {"state": OffsetChangeState.INTENDED},
    ),
    "begin": (lambda one, offset_change: one.begin(LOCAL, offset_change, PRESENT, LATER), {"before": BEFORE}),
    "begin large": (
        lambda one, offset_change: one.begin_large(LOCAL, large(offset_change), [LINE], [LINE, LINE], effect_at(LATER)),
        {"before": Digest(hashlib.sha256(LINE).hexdigest()), "entries": 2, "sent": 0},
    ),
    "record": (
        lambda one, offset_change: one.record(LOCAL, offset_change, PRESENT, LATER),
        {"state": OffsetChangeState.SETTLED, "before": BEFORE, "after": BEFORE, "message": NOTHING_SENT},
    ),
}
TAKEN = {
    OffsetChangeState.SETTLED: "is not applied again",
    OffsetChangeState.OPEN: "started on local .* with other offsets, and may have taken effect",
    OffsetChangeState.UNKNOWN: "ledger resolve",
}


@pytest.mark.parametrize("offset_change", [SKIP, REWRITTEN], ids=["same", "rewritten"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", BEGINNINGS)
def test_what_may_begin(
    offset_changes: OffsetChangeStore, call: str, state: OffsetChangeState | None, offset_change: OffsetChange
) -> None:
    before = bring_to(offset_changes, state)
    begin, fields = BEGINNINGS[call]
    if state in FREE:
        begin(offset_changes, offset_change)
        is_repeated = before is not None and before.digest == offset_change.digest and call != "record"
        failures = before.failures if before and is_repeated else 0
        begun = replace(record_of(offset_change), since=LATER, failures=failures, **fields)
        assert offset_changes.records(LOCAL) == {"skip": begun}
        assert offset_changes.saved(LOCAL, SKIP.name) == (large(offset_change) if begun.entries else offset_change)
        assert offset_changes.snapshot(LOCAL, SKIP.name) == (PRESENT if begun.before == BEFORE else None)
    elif call.startswith("begin") and (state, offset_change) == (OffsetChangeState.OPEN, SKIP):
        begin(offset_changes, offset_change)
        assert offset_changes.records(LOCAL) == {"skip": before}
        assert offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER
    else:
        with pytest.raises(OperationSettled, match=f"skip.*{TAKEN[state]}"):
            begin(offset_changes, offset_change)
        assert offset_changes.records(LOCAL) == {"skip": before}


def test_what_a_change_did_is_recorded_when_it_begins_and_lost_if_it_had_no_effect(
    offset_changes: OffsetChangeStore,
) -> None:
    effect, other = effect_at(NOON), effect_at(LATER)
    offset_changes.begin(LOCAL, SKIP, EARLIER, NOON, effect)
    offset_changes.begin(LOCAL, SKIP, PRESENT, LATER, other)
    offset_changes.settle(LOCAL, SKIP.name, offsets(1), "", LATER)
    assert offset_changes.effects(LOCAL, [SKIP.name]) == {SKIP.name: effect}, (
        "a change that is finished later did what it began"
    )
    offset_changes.remove_offsets(LOCAL, LATER + timedelta(days=1))
    assert offset_changes.effects(LOCAL, [SKIP.name]) == {SKIP.name: effect}
    failing = replace(SKIP, name=OffsetChangeName("failing"))
    offset_changes.begin(LOCAL, failing, EARLIER, NOON, effect)
    offset_changes.fail(LOCAL, failing, Failure("no", lacks=frozenset({Acknowledgement.SKIP})), LATER)
    assert not offset_changes.effects(LOCAL, [failing.name])
    assert offset_changes.records(LOCAL)[failing.name].lacks == {Acknowledgement.SKIP}
    offset_changes.begin(LOCAL, failing, EARLIER, NOON)
    assert not offset_changes.records(LOCAL)[failing.name].lacks


@pytest.mark.parametrize("offset_change", [SKIP, REWRITTEN], ids=["same", "rewritten"])
@pytest.mark.parametrize("state", STATES)
def test_what_may_fail(
    offset_changes: OffsetChangeStore, state: OffsetChangeState | None, offset_change: OffsetChange
) -> None:
    before = bring_to(offset_changes, state)
    if state in FREE or (state, offset_change) == (OffsetChangeState.OPEN, SKIP):
        offset_changes.fail(LOCAL, offset_change, Failure("no", final=True), LATER)
        failures = 1 + (before.failures if before and before.digest == offset_change.digest else 0)
        failed = replace(record_of(offset_change), state=OffsetChangeState.FAILED, since=LATER, failures=failures)
        assert offset_changes.records(LOCAL) == {"skip": replace(failed, final=True, message="no")}
        assert offset_changes.snapshot(LOCAL, SKIP.name) is None
        with pytest.raises(LedgerUnusable, match="contains no offsets of skip"):
            offset_changes.saved(LOCAL, SKIP.name)
    else:
        with pytest.raises(OperationSettled):
            offset_changes.fail(LOCAL, offset_change, Failure("no", final=True), LATER)
        assert offset_changes.records(LOCAL) == {"skip": before}


def test_a_large_one_is_recorded_without_its_offsets(offset_changes: OffsetChangeStore) -> None:
    offset_changes.record(LOCAL, large(SKIP), None, LATER)
    recorded = offset_changes.records(LOCAL)["skip"]
    assert (recorded.state, recorded.before, recorded.entries) == (OffsetChangeState.SETTLED, None, None)
    assert offset_changes.snapshot(LOCAL, SKIP.name) is None


@pytest.mark.parametrize("state", STATES)
def test_what_may_be_settled(offset_changes: OffsetChangeStore, state: OffsetChangeState | None) -> None:
    if state in {OffsetChangeState.OPEN, OffsetChangeState.INTENDED}:
        offset_changes.fail(LOCAL, SKIP, Failure("no"), NOON)
    before = bring_to(offset_changes, state)
    if state is OffsetChangeState.SETTLED:
        offset_changes.settle(LOCAL, SKIP.name, offsets(99), "other", LATER)
        assert offset_changes.records(LOCAL) == {"skip": before}
    elif state in {OffsetChangeState.OPEN, OffsetChangeState.INTENDED}:
        offset_changes.note(LOCAL, SKIP.name, "not yet")
        offset_changes.settle(LOCAL, SKIP.name, offsets(1), "externally managed", LATER)
        assert before
        assert before.failures == 1
        settled = replace(before, state=OffsetChangeState.SETTLED, since=LATER, failures=0)
        settled = replace(settled, warning="externally managed", after=offsets_digest(offsets(1)))
        assert offset_changes.records(LOCAL) == {"skip": settled}
        assert offset_changes.saved(LOCAL, SKIP.name) == SKIP
        assert offset_changes.snapshot(LOCAL, SKIP.name) == (EARLIER if state is OffsetChangeState.OPEN else None)
    else:
        text = r"skip took effect on local, but it is not in progress in the ledger .*(state\.db|/ledger_)"
        with pytest.raises(LedgerUnusable, match=text):
            offset_changes.settle(LOCAL, SKIP.name, offsets(1), "", LATER)
        assert offset_changes.records(LOCAL).get(SKIP.name) == before


@pytest.mark.parametrize("state", STATES)
def test_a_note_a_release_and_a_drop_change_that_operation_alone(
    offset_changes: OffsetChangeStore, state: OffsetChangeState | None
) -> None:
    elsewhere = ClusterName("elsewhere")
    offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("other")), EARLIER, NOON)
    offset_changes.begin(elsewhere, SKIP, EARLIER, NOON)
    before = bring_to(offset_changes, state)
    offset_changes.note(LOCAL, SKIP.name, "the group has members")
    noted = replace(before, message="the group has members") if before else None
    assert offset_changes.records(LOCAL).get(SKIP.name) == noted
    offset_changes.release(LOCAL, SKIP.name)
    is_settled = state is OffsetChangeState.SETTLED
    released = replace(noted, state=OffsetChangeState.RELEASED) if noted and is_settled else noted
    assert offset_changes.records(LOCAL).get(SKIP.name) == released
    offset_changes.drop(LOCAL, SKIP.name)
    assert set(offset_changes.records(LOCAL)) == {"other"}
    assert set(offset_changes.records(elsewhere)) == {"skip"}


def test_marking_keeps_the_undo_of_what_is_the_same_and_of_nothing_else(offset_changes: OffsetChangeStore) -> None:
    begun = bring_to(offset_changes, OffsetChangeState.OPEN)
    assert begun
    settled = replace(begun, state=OffsetChangeState.SETTLED, message="by hand", after=offsets_digest(offsets(1)))
    offset_changes.mark(LOCAL, settled)
    assert offset_changes.records(LOCAL) == {"skip": settled}
    assert offset_changes.saved(LOCAL, SKIP.name) == SKIP
    assert offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER
    offset_changes.mark(LOCAL, replace(begun, digest=REWRITTEN.digest))
    assert offset_changes.declared(LOCAL, SKIP.name) is None
    assert offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER
    offset_changes.mark(LOCAL, replace(begun, before=None))
    assert offset_changes.records(LOCAL) == {"skip": replace(begun, before=None)}
    assert offset_changes.snapshot(LOCAL, SKIP.name) is None


def test_all_are_marked_or_none(offset_changes: OffsetChangeStore) -> None:
    good = replace(record_of(SKIP), state=OffsetChangeState.UNKNOWN, digest=None)
    without_zone = replace(good, name=OffsetChangeName("bad"), since=datetime(2026, 11, 21))  # noqa: DTZ001 - the fault
    with pytest.raises((ValueError, LedgerUnusable), match="no time zone"):
        offset_changes.mark(LOCAL, good, without_zone)
    assert offset_changes.records(LOCAL) == {}
    offset_changes.mark(LOCAL, good, replace(good, name=OffsetChangeName("another")))
    assert list(offset_changes.records(LOCAL)) == ["another", "skip"]


def test_what_a_worker_says_can_be_kept_whatever_it_is(offset_changes: OffsetChangeStore) -> None:
    offset_changes.fail(LOCAL, SKIP, Failure("half a pair \ud83d, a NUL \0, and the end"), NOON)
    assert offset_changes.records(LOCAL)[SKIP.name].message == "half a pair ?, a NUL ?, and the end"


def test_offsets_that_were_damaged_are_not_sent(offset_changes: OffsetChangeStore, place: LedgerPlace) -> None:
    bring_to(offset_changes, OffsetChangeState.OPEN)
    with closing(place.database()) as database, database.write() as connection:
        connection.execute(update(OPERATIONS).values(declared=b"\0", snapshot=b"\x78\x9c\0"))
    with pytest.raises(LedgerUnusable, match=r" is damaged: the offsets of skip on local"):
        offset_changes.saved(LOCAL, SKIP.name)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        offset_changes.snapshot(LOCAL, SKIP.name)


WRITES: Mapping[str, Callable[[OffsetChangeStore], None]] = {
    "intend": lambda one: one.intend(LOCAL, replace(SKIP, name=OffsetChangeName("new")), LATER),
    "begin": lambda one: one.begin(LOCAL, replace(SKIP, name=OffsetChangeName("new")), EARLIER, LATER),
    "begin again": lambda one: one.begin(LOCAL, SKIP, EARLIER, LATER),
    "settle": lambda one: one.settle(LOCAL, SKIP.name, EARLIER, "", LATER),
    "fail": lambda one: one.fail(LOCAL, SKIP, Failure("no"), LATER),
    "note": lambda one: one.note(LOCAL, SKIP.name, "no"),
    "mark": lambda one: one.mark(LOCAL, replace(record_of(SKIP), state=OffsetChangeState.UNKNOWN)),
    "release": lambda one: one.release(LOCAL, SKIP.name),
    "drop": lambda one: one.drop(LOCAL, SKIP.name),
}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_once_the_lease_is_lost(
    ledger: Ledger, clock: ManualClock, place: LedgerPlace, write: str
) -> None:
    bring_to(ledger.offset_changes, OffsetChangeState.OPEN)
    before = ledger.export()
    with ledger.lease(LOCAL, clock, 60) as lost:
        place.move_leases()
        place.age_leases(60)
        with ledger.lease(LOCAL, clock, 60) as taken:
            with pytest.raises(LedgerBusy, match="the lease of cluster local was lost"):
                WRITES[write](ledger.under(lost).offset_changes)
            assert ledger.export() == before
            WRITES[write](ledger.under(taken).offset_changes)


def test_a_lease_that_is_given_back_after_it_was_checked_is_lost_too(ledger: Ledger, clock: ManualClock) -> None:
    with ledger.lease(LOCAL, clock, 60) as lease:
        lease.check()
        lease.release()
        with pytest.raises(LedgerBusy, match="it was given back"):
            ledger.under(lease).offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    assert ledger.offset_changes.records(LOCAL) == {}


def test_a_full_disk_leaves_what_was_there(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    store = sqlite_ledger.offset_changes
    store.begin(LOCAL, SKIP, EARLIER, NOON)
    before, new = sqlite_ledger.export(), replace(SKIP, name=OffsetChangeName("new"), offsets=offsets(*range(50_000)))
    text = "".join(chr(32 + n % 90) for n in range(200_000))
    pages = (tmp_path / "state.db").stat().st_size // 4096

    def limit(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", limit)
    try:
        for write in (
            lambda: store.begin(LOCAL, new, EARLIER, LATER),
            lambda: store.intend(LOCAL, new, LATER),
            lambda: store.settle(LOCAL, SKIP.name, EARLIER, text, LATER),
            lambda: store.fail(LOCAL, SKIP, Failure(text), LATER),
        ):
            with pytest.raises(LedgerUnusable, match=r"state\.db cannot grow because the disk is full") as raised:
                write()
            assert raised.value.full_disk is not None
            assert raised.value.full_disk.directory == tmp_path
            assert sqlite_ledger.export() == before
    finally:
        event.remove(Engine, "connect", limit)
    store.settle(LOCAL, SKIP.name, EARLIER, text, LATER)
    assert store.snapshot(LOCAL, SKIP.name) == EARLIER
