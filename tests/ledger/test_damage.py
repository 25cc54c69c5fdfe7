"""A ledger whose rows someone edited: opening it reports the damage, and nothing is done."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from shutil import copytree
from sqlite3 import connect
from typing import Any

import pytest
from filled_ledger import edit, fill_file
from support.files.tables import read_yaml
from support.planner.offset_change_values import EARLIER, LOCAL, SKIP

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.ledger import Ledger

VALUES = read_yaml(Path(__file__).with_name("damaged_values.yaml"))
DAMAGE = [(*place.split("."), value) for place, values in VALUES.items() for value in values]
DAMAGE += [("ownership", "applied", "[" * 100_000), ("reviewed_plans", "plan", "[" * 100_000)]


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("filled")
    fill_file(directory)
    return directory


@pytest.fixture
def filled(tmp_path: Path, filled_once: Path) -> Path:
    """A ledger with a row in every table."""
    copytree(filled_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize(("table", "column", "value"), DAMAGE)
def test_the_table_the_row_and_the_column_are_named(filled: Path, table: str, column: str, value: Any) -> None:
    edit(filled, table, column, value)
    where, found = f"is damaged: table {table}, row '.+, column {column}", re.escape(repr(value)[:20])
    with pytest.raises(LedgerUnusable, match=f"{where}: found ({found}.*|a (blob|text).*), expected .*backup"):
        Ledger.open("sqlite:///state.db", filled, None)


def test_a_version_that_is_no_number_is_damage(filled: Path) -> None:
    with closing(connect(filled / "state.db")) as database, database:
        database.execute("UPDATE ledger_properties SET value = 'new' WHERE name = 'schema_version'")
    with pytest.raises(LedgerUnusable, match="is damaged: table ledger_properties, row schema_version"):
        Ledger.open("sqlite:///state.db", filled, None)


def test_what_is_as_it_was_written_is_opened(filled: Path) -> None:
    ledger = Ledger.open("sqlite:///state.db", filled, None)
    assert ledger.offset_changes.snapshot(LOCAL, SKIP.name) == EARLIER


@pytest.mark.parametrize("packed", [b"", b"no zlib", bytes.fromhex("789c8b8e05000089008a"), "other"])
def test_a_snapshot_that_is_not_what_was_saved_is_never_given_out(filled: Path, packed: bytes | str) -> None:
    """`offsets undo` writes its document from the snapshot."""
    if packed == "other":
        with closing(connect(filled / "state.db")) as database, database:
            database.execute("UPDATE operations SET snapshot = declared")
    else:
        edit(filled, "operations", "snapshot", packed)
    ledger = Ledger.open("sqlite:///state.db", filled, None)
    with pytest.raises(LedgerUnusable, match="the offsets of skip on local cannot be read; restore a backup"):
        ledger.offset_changes.snapshot(LOCAL, SKIP.name)
