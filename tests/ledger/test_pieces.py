"""Large offset changes: their offsets are stored in pieces, either all of them or none."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import (
    EARLIER,
    LATER,
    LOCAL,
    NOON,
    SKIP,
    STATES,
    bring_to,
    effect_at,
    offsets,
    record_of,
)

from gitops_connect.errors import LedgerBusy, LedgerUnusable, UsageError
from gitops_connect.ledger.archive import read_archive, write_archive
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.ledger.pieces import PIECE, BlockCounts
from gitops_connect.ledger.tables import PIECES, OffsetsPart
from gitops_connect.model.names import ClusterName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Failure, OffsetChangeState

pytestmark = pytest.mark.slow

LARGE = replace(SKIP, offsets={}, is_large=True)
AFTER = Digest("f" * 64)
BOTH = (OffsetsPart.DECLARED, OffsetsPart.BEFORE)


@cache
def lines(count: int, position: int = 0) -> list[bytes]:
    return [b'{"partition":{"filename":"/%d"},"offset":{"position":%d}}\n' % (n, position) for n in range(count)]


DECLARED, BEFORE = lines(20_000, 5), lines(30_000)


def begin(offset_changes: OffsetChangeStore, declared: list[bytes] = DECLARED, before: list[bytes] = BEFORE) -> None:
    offset_changes.begin_large(LOCAL, LARGE, before, declared, effect_at(NOON))


def saved(offset_changes: OffsetChangeStore, part: OffsetsPart) -> bytes:
    return b"".join(offset_changes.pieces(LOCAL, SKIP.name, part))


def require_saved(
    offset_changes: OffsetChangeStore, declared: list[bytes] = DECLARED, before: list[bytes] = BEFORE
) -> None:
    assert saved(offset_changes, OffsetsPart.DECLARED) == b"".join(declared)
    assert saved(offset_changes, OffsetsPart.BEFORE) == b"".join(before)


def stored(place: LedgerPlace) -> list[Any]:
    with closing(place.database()) as database, database.read() as connection:
        columns = PIECES.c.part, PIECES.c.number, PIECES.c.entries
        return [*connection.execute(select(*columns).order_by(*columns))]


@pytest.fixture
def offset_changes(ledger: Ledger) -> OffsetChangeStore:
    return ledger.offset_changes


def test_a_change_in_progress_is_stored_in_pieces(offset_changes: OffsetChangeStore, place: LedgerPlace) -> None:
    begin(offset_changes)
    before = Digest(hashlib.sha256(b"".join(BEFORE)).hexdigest())
    begun = replace(record_of(LARGE), before=before, entries=20_000, sent=0)
    assert offset_changes.records(LOCAL) == {"skip": begun}
    assert offset_changes.saved(LOCAL, SKIP.name) == LARGE
    assert (offset_changes.declared(LOCAL, SKIP.name), offset_changes.snapshot(LOCAL, SKIP.name)) == (None, None)
    require_saved(offset_changes)
    assert len(stored(place)) == 2
    for piece in offset_changes.pieces(LOCAL, SKIP.name, OffsetsPart.BEFORE):
        assert piece.endswith(b"\n")
        assert len(piece) <= PIECE


@given(text=st.lists(st.binary(max_size=9).map(lambda one: one.replace(b"\n", b"-"))), data=st.data())
def test_lines_are_cut_into_pieces_independently_of_the_blocks(text: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in text)
    ends = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    blocks = [whole[begin:end] for begin, end in zip([0, *ends], [*ends, len(whole)], strict=True)]
    cut, read = BlockCounts(), BlockCounts()
    pieces = list(cut.cut(blocks, 16))
    assert b"".join(map(read.lines, pieces)) == whole
    assert (cut.entries, cut.digest) == (read.entries, read.digest) == (len(text), hashlib.sha256(whole).hexdigest())
    assert all(piece.entries == 1 or len(zlib.decompress(piece.content)) <= 16 for piece in pieces)


def test_a_last_line_without_a_line_end_gets_one() -> None:
    cut = BlockCounts()
    assert [zlib.decompress(piece.content) for piece in cut.cut([b"a\nb"])] == [b"a\nb\n"]
    assert cut.entries == 2


def test_a_large_change_may_have_no_offsets(offset_changes: OffsetChangeStore) -> None:
    """A reset declares nothing, and without current offsets there is no snapshot. An intended change has none yet."""
    offset_changes.intend(LOCAL, LARGE, NOON)
    assert offset_changes.records(LOCAL)[SKIP.name].state is OffsetChangeState.INTENDED
    with pytest.raises(LedgerUnusable, match="contains no offsets"):
        offset_changes.saved(LOCAL, SKIP.name)
    begin(offset_changes, [], [])
    assert offset_changes.records(LOCAL)[SKIP.name].entries == 0
    require_saved(offset_changes, [], [])


class _KilledError(Exception):
    pass


def breaking(whole: list[bytes], after: int) -> Iterator[bytes]:
    yield from whole[:after]
    raise _KilledError


@pytest.mark.parametrize("part", BOTH)
def test_an_interrupted_begin_records_nothing_and_is_overwritten(
    offset_changes: OffsetChangeStore, place: LedgerPlace, part: OffsetsPart
) -> None:
    many = lines(100_000, 9)
    declared, before = (
        (breaking(many, 99_999), many) if part is OffsetsPart.DECLARED else (DECLARED, breaking(many, 99_999))
    )
    with pytest.raises(_KilledError):
        offset_changes.begin_large(LOCAL, LARGE, before, declared, effect_at(NOON))
    assert offset_changes.records(LOCAL) == {}
    assert stored(place)
    with pytest.raises(LedgerUnusable, match="contains no offsets of skip"):
        saved(offset_changes, OffsetsPart.BEFORE)
    begin(offset_changes)
    require_saved(offset_changes)


@pytest.mark.parametrize("state", [one for one in STATES if one is not OffsetChangeState.OPEN])
def test_only_a_change_in_progress_records_sent_entries(
    offset_changes: OffsetChangeStore, state: OffsetChangeState | None
) -> None:
    bring_to(offset_changes, state)
    with pytest.raises(LedgerUnusable, match="has no change of that size in progress"):
        offset_changes.sent(LOCAL, SKIP.name, 1)


def test_a_change_is_begun_once_its_count_of_sent_entries_only_grows_and_once_applied_it_keeps_its_offsets(
    offset_changes: OffsetChangeStore,
) -> None:
    begin(offset_changes)
    for count, known in ((0, 0), (100, 100), (50, 100), (20_000, 20_000), (1, 20_000)):
        offset_changes.sent(LOCAL, SKIP.name, count)
        assert offset_changes.records(LOCAL)[SKIP.name].sent == known
    for wrong in (-1, 20_001):
        with pytest.raises(LedgerUnusable, match="has no change of that size in progress"):
            offset_changes.sent(LOCAL, SKIP.name, wrong)
    before = offset_changes.records(LOCAL)
    offset_changes.begin_large(LOCAL, LARGE, breaking([], 0), breaking([], 0), effect_at(LATER))
    assert offset_changes.records(LOCAL) == before
    offset_changes.settle(LOCAL, SKIP.name, AFTER, "managed elsewhere", LATER)
    found = offset_changes.records(LOCAL)[SKIP.name]
    assert (found.state, found.after, found.warning) == (OffsetChangeState.SETTLED, AFTER, "managed elsewhere")
    assert offset_changes.saved(LOCAL, SKIP.name) == LARGE
    offset_changes.release(LOCAL, SKIP.name)
    require_saved(offset_changes)


def test_a_failed_or_dropped_change_keeps_no_offsets(offset_changes: OffsetChangeStore, place: LedgerPlace) -> None:
    begin(offset_changes)
    offset_changes.fail(LOCAL, LARGE, Failure("no"), LATER)
    failed = replace(record_of(LARGE), state=OffsetChangeState.FAILED, since=LATER, failures=1, message="no")
    assert offset_changes.records(LOCAL) == {"skip": failed}
    assert stored(place) == []
    elsewhere = ClusterName("elsewhere")
    begin(offset_changes)
    offset_changes.begin_large(elsewhere, LARGE, lines(3), lines(2), effect_at(NOON))
    offset_changes.drop(elsewhere, SKIP.name)
    require_saved(offset_changes)
    offset_changes.drop(LOCAL, SKIP.name)
    assert stored(place) == []


@pytest.mark.parametrize("again", ["intend", "begin"])
def test_a_large_change_may_become_small(offset_changes: OffsetChangeStore, place: LedgerPlace, again: str) -> None:
    begin(offset_changes)
    offset_changes.settle(LOCAL, SKIP.name, AFTER, "", LATER)
    offset_changes.release(LOCAL, SKIP.name)
    if again == "intend":
        offset_changes.intend(LOCAL, SKIP, LATER)
    else:
        offset_changes.begin(LOCAL, SKIP, EARLIER, LATER)
    assert offset_changes.saved(LOCAL, SKIP.name) == SKIP
    assert stored(place) == []


def test_a_mark_keeps_the_offsets_of_the_same_change_only(offset_changes: OffsetChangeStore) -> None:
    begin(offset_changes)
    begun = offset_changes.records(LOCAL)[SKIP.name]
    offset_changes.mark(LOCAL, replace(begun, state=OffsetChangeState.SETTLED, message="by hand"))
    assert saved(offset_changes, OffsetsPart.DECLARED) == b"".join(DECLARED)
    offset_changes.mark(LOCAL, replace(begun, digest=Digest("e" * 64)))
    with pytest.raises(LedgerUnusable, match="contains no offsets"):
        saved(offset_changes, OffsetsPart.DECLARED)
    assert saved(offset_changes, OffsetsPart.BEFORE) == b"".join(BEFORE)
    offset_changes.mark(LOCAL, replace(begun, before=None))
    with pytest.raises(LedgerUnusable, match="contains no offsets"):
        saved(offset_changes, OffsetsPart.BEFORE)


DAMAGE = {
    "a piece is missing": "DELETE FROM operation_pieces WHERE part = ? AND number = 1",
    "the last one is missing": "DELETE FROM operation_pieces WHERE part = ? AND number = 2",
    "other bytes": "UPDATE operation_pieces SET content = CAST('0' AS BLOB) WHERE part = ? AND number = 0",
    "fewer entries than are said": "UPDATE operation_pieces SET entries = entries + 1 WHERE part = ? AND number = 0",
    "all is missing": "DELETE FROM operation_pieces WHERE part = ?",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(offset_changes: OffsetChangeStore, place: LedgerPlace, damage: str) -> None:
    begin(offset_changes, lines(90_000), lines(90_000))
    assert len(stored(place)) == 6
    for part in BOTH:
        place.run(DAMAGE[damage].replace("?", f"'{part.value}'"))
    with pytest.raises(LedgerUnusable, match="is damaged: the offsets of skip on local cannot be read; restore a"):
        saved(offset_changes, OffsetsPart.BEFORE)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        next(offset_changes.pieces(LOCAL, SKIP.name, OffsetsPart.DECLARED))  # before any of them is sent


def test_nothing_is_written_once_the_lease_is_lost(ledger: Ledger, clock: ManualClock, place: LedgerPlace) -> None:
    with ledger.lease(LOCAL, clock, 60) as lost:
        begin(ledger.under(lost).offset_changes)
        other = replace(LARGE, name=OffsetChangeName("other"))
        steps = iter(lines(100_000))

        def until_it_is_lost() -> Iterator[bytes]:
            yield b"".join(next(steps) for _ in range(50_000))
            place.age_leases(60)
            with ledger.lease(LOCAL, clock, 60):
                yield from steps

        with pytest.raises(LedgerBusy, match="the lease of cluster local was lost"):
            ledger.under(lost).offset_changes.begin_large(LOCAL, other, until_it_is_lost(), DECLARED, effect_at(LATER))
        with pytest.raises(LedgerBusy, match="the lease of cluster local was lost"):
            ledger.under(lost).offset_changes.sent(LOCAL, SKIP.name, 1)
        assert list(ledger.offset_changes.records(LOCAL)) == ["skip"]
        assert ledger.offset_changes.records(LOCAL)[SKIP.name].sent == 0
        place.age_leases(60)
        lost.acquire()


def test_other_processes_write_between_two_pieces(ledger: Ledger, place: LedgerPlace, clock: ManualClock) -> None:
    """One of these writes is the renewal of the lease."""
    with ledger.lease(LOCAL, clock, 60) as lease:

        def meanwhile() -> Iterator[bytes]:
            for _ in range(4):
                yield b"".join(lines(30_000))
                place.age_leases(50)
                place.open().record_attempt(LOCAL, SKIP.revision, LATER)
                lease.check()

        ledger.under(lease).offset_changes.begin_large(LOCAL, LARGE, meanwhile(), meanwhile(), effect_at(NOON))
    assert ledger.offset_changes.records(LOCAL)[SKIP.name].entries == 120_000


class TestExport:
    @pytest.fixture
    def full(self, ledger: Ledger) -> Ledger:
        with pytest.raises(_KilledError):
            ledger.offset_changes.begin_large(
                LOCAL, replace(LARGE, name=OffsetChangeName("cut-off")), lines(2), breaking([], 0), effect_at(NOON)
            )
        begin(ledger.offset_changes, lines(80_000, 5))
        ledger.offset_changes.sent(LOCAL, SKIP.name, 1000)
        return ledger

    def test_an_export_contains_the_pieces_but_no_leftovers(self, full: Ledger, new_place: LedgerPlace) -> None:
        other = replace(new_place, url=new_place.url.replace("state.db", "other.db"), key=full.key).open()
        text = write_archive(full.export())
        assert "cut-off" not in text
        other.restore(read_archive(text, "a.json"), NOON)
        assert other.offset_changes.records(LOCAL) == full.offset_changes.records(LOCAL)
        for part in BOTH:
            assert saved(other.offset_changes, part) == saved(full.offset_changes, part)
        assert other.restore(full.export(), NOON).unchanged
        assert write_archive(other.export()) == text

    @pytest.mark.parametrize(("number", "change", "message"), rows(__file__, "damaged_archives"))
    def test_a_damaged_archive_is_refused(
        self, full: Ledger, number: int, change: dict[str, object] | str, message: str
    ) -> None:
        document = json.loads(write_archive(full.export()))
        pieces = document["operation_pieces"]
        if isinstance(change, dict):
            pieces[number].update(change)
        elif change == "remove":
            del pieces[number]
        else:
            pieces.append({**pieces[number], "cluster": "c"})
        with pytest.raises(UsageError, match=message):
            read_archive(json.dumps(document), "a.json")

    def test_an_archive_of_version_1_is_read(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.offset_changes.begin(LOCAL, SKIP, offsets(1, 2), NOON)
        document = json.loads(write_archive(ledger.export()))
        document["format_version"] = 1
        for table in ("operation_pieces", *NEWER_TABLES):
            del document[table]
        for row in document["operations"]:
            del row["entries"], row["sent"]
        assert read_archive(json.dumps(document), "a.json") == ledger.export()


NEWER_TABLES = ("restarts", "restart_requests", "config_histories", "suspensions", "stopped_connectors")
"""Tables that an archive of version 2 does not have."""
