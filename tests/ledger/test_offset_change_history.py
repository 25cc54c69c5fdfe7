"""The applied changes are read from a ledger without writing to it; a ledger that cannot be read is an error."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.planner.offset_change_values import EARLIER, LOCAL, NOON, SKIP

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.ledger import Ledger, read_history
from gitops_connect.model.names import ClusterName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Past

URL = "sqlite:///state.db"
OTHER = ClusterName("other")
OLDER = b"UPDATE ledger_properties SET value = '2' WHERE name = 'schema_version'"


@pytest.fixture
def kept(tmp_path: Path) -> Ledger:
    """A ledger that has applied one change to one of two clusters."""
    ledger = Ledger.open(URL, tmp_path, b"a key that nobody can guess")
    ledger.record_attempt(LOCAL, Revision("a" * 40), NOON)
    ledger.offset_changes.begin(LOCAL, SKIP, EARLIER, NOON)
    ledger.offset_changes.settle(LOCAL, SKIP.name, EARLIER, "", NOON)
    return ledger


def files(directory: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in directory.iterdir()}


def test_what_was_applied_is_known_without_the_key_and_nothing_is_written(kept: Ledger, tmp_path: Path) -> None:
    before = files(tmp_path)
    histories = read_history(URL, tmp_path, [LOCAL, OTHER])
    assert histories[LOCAL].past(SKIP.name) is Past.DONE
    assert histories[LOCAL].past(OffsetChangeName("new")) is Past.PENDING
    assert histories[OTHER].past(SKIP.name) is Past.UNKNOWN, "it has never worked on this cluster"
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"the ledger .*state\.db does not exist"),
        (b"", "contains no ledger yet"),
        (b"no database " * 100, "is damaged"),
        (OLDER, "written by an older version"),
    ],
)
def test_a_ledger_that_cannot_be_read_is_left_as_it_is(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content == OLDER:
        Ledger.open(URL, tmp_path, b"a key that nobody can guess").close()
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
            connection.execute(OLDER.decode())
    elif content is not None:
        (tmp_path / "state.db").write_bytes(content)
    before = files(tmp_path)
    with pytest.raises(LedgerUnusable, match=message):
        read_history(URL, tmp_path, [LOCAL])
    assert files(tmp_path) == before


def test_a_url_of_no_database_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_history("nonsense", tmp_path, [LOCAL])
