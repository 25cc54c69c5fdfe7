from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest
from sqlalchemy import Connection, inspect

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger import schema
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger

URL = "sqlite:///state.db"


def set_version(folder: Path, version: int) -> None:
    with closing(connect(folder / "state.db")) as database, database:
        database.execute("UPDATE ledger_properties SET value = ? WHERE name = 'schema_version'", (str(version),))


def columns(database: Database, table: str) -> set[str]:
    with database.read() as connection:
        return {column["name"] for column in inspect(connection).get_columns(table)}


def add_a_column(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE revisions ADD COLUMN note VARCHAR")


def fail_half_way(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE revisions ADD COLUMN half VARCHAR")
    raise RuntimeError("killed")


def test_a_newer_ledger_is_refused_and_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    set_version(tmp_path, 99)
    before = (tmp_path / "state.db").read_bytes()
    with pytest.raises(LedgerUnusable, match=r"schema version 99.*knows 2 at most.*newer gitops-connect"):
        Ledger.open(URL, tmp_path, None)
    assert (tmp_path / "state.db").read_bytes() == before


def test_an_older_ledger_is_upgraded_step_by_step(ledger: Ledger, tmp_path: Path) -> None:
    database = Database(URL, tmp_path)
    with database.write() as connection:
        schema.upgrade(connection, (*schema.UPGRADES, add_a_column))
    assert "note" in columns(database, "revisions")
    with database.read() as connection:
        assert schema.find_version(connection, (*schema.UPGRADES, add_a_column)) == 3
    with pytest.raises(LedgerUnusable, match="schema version 3"):
        Ledger.open(URL, tmp_path, None)


def test_an_upgrade_that_fails_leaves_the_ledger_as_it_was(ledger: Ledger, tmp_path: Path) -> None:
    database = Database(URL, tmp_path)
    with pytest.raises(RuntimeError), database.write() as connection:
        schema.upgrade(connection, (*schema.UPGRADES, add_a_column, fail_half_way))
    assert columns(database, "revisions").isdisjoint({"note", "half"})
    Ledger.open(URL, tmp_path, None)


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "state.db")) as database, database:
        database.execute("CREATE TABLE customers (id INTEGER)")
    with pytest.raises(LedgerUnusable, match=r"state\.db holds other tables \(customers\)"):
        Ledger.open(URL, tmp_path, None)
    assert columns(Database(URL, tmp_path), "customers") == {"id"}


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert Ledger.open(URL, tmp_path, None).ownership("local") == {}
