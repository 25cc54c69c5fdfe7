"""The applied changes are read from a ledger without writing to it; a ledger that cannot be read is an error."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.planner.offset_change_values import LOCAL, NOON, SKIP, STOOD

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.ledger import Ledger, read_history
from gitops_connect.model.names import ClusterName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import Past

URL = "sqlite:///state.db"
OTHER = ClusterName("other")


@pytest.fixture
def kept(tmp_path: Path) -> Ledger:
    """A ledger that has applied one change to one of two clusters."""
    ledger = Ledger.open(URL, tmp_path, b"a key that nobody can guess")
    ledger.record_attempt(LOCAL, Revision("a" * 40), NOON)
    ledger.offset_changes.begin(LOCAL, SKIP, STOOD, NOON)
    ledger.offset_changes.settle(LOCAL, SKIP.name, STOOD, "", NOON)
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


def test_a_ledger_that_is_missing_is_not_created_and_an_empty_database_is_left_empty(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnusable, match=r"the ledger .*state\.db does not exist"):
        read_history(URL, tmp_path, [LOCAL])
    assert not files(tmp_path)
    (tmp_path / "state.db").touch()
    with pytest.raises(LedgerUnusable, match="contains no ledger yet"):
        read_history(URL, tmp_path, [LOCAL])
    assert files(tmp_path) == {"state.db": b""}


def test_a_ledger_of_an_older_version_is_not_upgraded(kept: Ledger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
        connection.execute("UPDATE ledger_properties SET value = '2' WHERE name = 'schema_version'")
    before = files(tmp_path)
    with pytest.raises(LedgerUnusable, match="written by an older version"):
        read_history(URL, tmp_path, [LOCAL])
    assert files(tmp_path) == before


def test_a_damaged_ledger_and_a_url_that_is_none_are_errors(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database " * 100)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        read_history(URL, tmp_path, [LOCAL])
    with pytest.raises(UsageError):
        read_history("nonsense", tmp_path, [LOCAL])
