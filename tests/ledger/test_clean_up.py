"""The offsets of applied changes are removed after some time, and everything else stays."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, func, insert, select
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import LATER, LOCAL, NOON, SKIP, STATES, bring_to, effect_at, offsets

from gitops_connect.errors import LedgerBusy, LedgerUnusable, OperationSettled
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.ledger.tables import PIECES, OffsetsPart
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow

LINES = [b'{"partition":{"filename":"/0"},"offset":{"position":9}}\n'] * 3
END = LATER + timedelta(days=90)


@pytest.fixture
def store(ledger: Ledger) -> OffsetChangeStore:
    return ledger.offset_changes


def apply(store: OffsetChangeStore, number: int) -> OffsetChangeName:
    one = replace(SKIP, name=OffsetChangeName(f"c{number}"))
    store.begin(LOCAL, one, offsets(number), LATER)
    store.settle(LOCAL, one.name, offsets(number), "a warning", LATER)
    return one.name


def test_what_was_applied_earlier_loses_its_offsets_and_stays_applied(store: OffsetChangeStore) -> None:
    names, other = [apply(store, number) for number in range(45)], ClusterName("other")
    store.begin(other, replace(SKIP, name=names[0]), offsets(7), LATER)
    before = store.records(LOCAL)
    assert store.remove_offsets(LOCAL, LATER) == 0, "not that of this moment"
    assert store.remove_offsets(ClusterName("nobody"), END) == 0
    assert store.remove_offsets(LOCAL, END) == len(names)
    assert store.remove_offsets(LOCAL, END) == 0
    assert store.snapshot(other, names[0]) == offsets(7), "of another cluster"
    assert store.records(LOCAL) == {name: replace(one, before=None) for name, one in before.items()}
    assert {store.snapshot(LOCAL, name) for name in names} == {None}
    assert {store.declared(LOCAL, name) for name in names} == {None}
    with pytest.raises(OperationSettled, match="is not applied again"):
        store.begin(LOCAL, replace(SKIP, name=names[0]), offsets(1), END)


def test_the_pieces_of_a_large_change_are_removed_and_the_number_of_its_entries_stays(
    store: OffsetChangeStore, place: LedgerPlace
) -> None:
    store.begin_large(LOCAL, replace(SKIP, offsets={}, is_large=True), LINES, LINES, effect_at(NOON))
    store.sent(LOCAL, SKIP.name, 3)
    assert store.remove_offsets(LOCAL, END) == 0, "it is in progress"
    store.settle(LOCAL, SKIP.name, offsets(9), "", LATER)
    assert store.remove_offsets(LOCAL, END) == 1
    found = store.records(LOCAL)[SKIP.name]
    assert (found.entries, found.sent, found.state) == (3, 3, OffsetChangeState.SETTLED)
    for part in OffsetsPart:
        with pytest.raises(LedgerUnusable, match="contains no offsets of skip on local"):
            list(store.pieces(LOCAL, SKIP.name, part))
    with closing(place.database()) as database, database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(PIECES)) == 0


@pytest.mark.parametrize("state", [one for one in STATES if one not in (None, OffsetChangeState.SETTLED)])
def test_what_is_not_applied_keeps_its_offsets(store: OffsetChangeStore, state: OffsetChangeState) -> None:
    bring_to(store, state)
    before = store.records(LOCAL)
    assert store.remove_offsets(LOCAL, END) == 0
    assert store.records(LOCAL) == before


@pytest.fixture
def grown(tmp_path: Path) -> Database:
    """An SQLite file of 100 MB of which nearly all is free."""
    Ledger.open("sqlite:///state.db", tmp_path, None).close()
    database = Database("sqlite:///state.db", tmp_path, timeout=0.1)
    row = {"cluster": "local", "name": "skip", "part": OffsetsPart.BEFORE, "entries": 1, "content": b"x" * 10**6}
    with database.write() as connection:
        connection.execute(insert(PIECES), [{**row, "number": number} for number in range(100)])
    with database.write() as connection:
        connection.execute(delete(PIECES))
    return database


def test_a_file_of_which_most_is_free_is_rewritten_once(grown: Database) -> None:
    assert grown.file is not None
    assert grown.file.stat().st_size > 10**8
    assert grown.compact()
    assert grown.file.stat().st_size < 10**6
    assert not grown.compact()
    grown.close()


def test_a_ledger_without_free_pages_or_on_a_server_is_not_rewritten(ledger: Ledger) -> None:
    assert not ledger._database.compact()


def test_a_file_that_another_process_uses_is_not_rewritten(grown: Database) -> None:
    with grown.write(), pytest.raises(LedgerBusy, match="is locked by another process"):
        grown.compact()
    grown.close()
