from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect

import pytest
from sqlalchemy import Connection, MetaData, inspect

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger import tables
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.revisions import RevisionMark, Revisions

URL = "sqlite:///state.db"
VERSION_1 = """
CREATE TABLE ledger_properties (name VARCHAR NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name));
CREATE TABLE ownership (
    cluster VARCHAR NOT NULL, connector VARCHAR NOT NULL, origin VARCHAR NOT NULL, revision VARCHAR NOT NULL,
    since VARCHAR(27) NOT NULL, desired VARCHAR, applied TEXT NOT NULL, PRIMARY KEY (cluster, connector)
);
CREATE TABLE revisions (
    cluster VARCHAR NOT NULL, kind VARCHAR NOT NULL, revision VARCHAR NOT NULL, at VARCHAR(27) NOT NULL,
    result TEXT NOT NULL, PRIMARY KEY (cluster, kind)
);
CREATE TABLE leases (
    cluster VARCHAR NOT NULL, token VARCHAR NOT NULL, host VARCHAR NOT NULL, place VARCHAR NOT NULL,
    pid INTEGER NOT NULL, process_started DOUBLE NOT NULL, since VARCHAR(27) NOT NULL, expires VARCHAR(27) NOT NULL,
    PRIMARY KEY (cluster)
);
INSERT INTO ledger_properties VALUES ('schema_version', '1');
INSERT INTO ownership VALUES
    ('local', 'orders', 'created', 'r1', '2026-11-21T12:00:00.000000Z', 'd1', '{"database.password":"d2"}');
INSERT INTO revisions VALUES ('local', 'applied', 'r1', '2026-11-21T12:00:00.000000Z', '3 steps');
"""
"""A ledger as gitops-connect 0.1 made and filled it."""


def set_version(directory: Path, version: int) -> None:
    with closing(connect(directory / "state.db")) as database, database:
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
    with pytest.raises(LedgerUnusable, match=r"schema version 99.*supports 5 at most.*newer gitops-connect"):
        Ledger.open(URL, tmp_path, None)
    assert (tmp_path / "state.db").read_bytes() == before


def make_version_1(directory: Path) -> None:
    with closing(connect(directory / "state.db")) as database, database:
        database.executescript(VERSION_1)


def test_a_ledger_of_version_1_keeps_all_that_it_knew(tmp_path: Path) -> None:
    make_version_1(tmp_path)
    noon = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    for _ in range(2):
        ledger = Ledger.open(URL, tmp_path, None)
        orders = Ownership(
            ClusterName("local"),
            ConnectorName("orders"),
            Origin.CREATED,
            Revision("r1"),
            noon,
            Digest("d1"),
            {"database.password": Digest("d2")},
            OnDelete.KEEP,
        )
        assert ledger.ownership(ClusterName("local")) == {"orders": orders}
        applied = RevisionMark(Revision("r1"), noon, "3 steps")
        assert ledger.revisions(ClusterName("local")) == Revisions(None, applied)
        assert ledger.operations.records(ClusterName("local")) == {}


def test_a_ledger_of_version_1_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    for directory in ("old", "new"):
        (tmp_path / directory).mkdir()
    make_version_1(tmp_path / "old")
    found = []
    for directory in ("old", "new"):
        Ledger.open(URL, tmp_path / directory, b"k" * 32)
        with Database(URL, tmp_path / directory).read() as connection:
            reflected = MetaData()
            reflected.reflect(connection)
            found.append(
                {
                    name: {
                        (column.name, str(column.type), column.nullable, column.primary_key) for column in table.columns
                    }
                    for name, table in reflected.tables.items()
                }
            )
    assert found[0] == found[1]
    assert {"operations", "restarts", "restart_requests"} <= found[0].keys()


def test_an_upgrade_that_is_killed_begins_again(tmp_path: Path) -> None:
    make_version_1(tmp_path)
    database = Database(URL, tmp_path)
    with pytest.raises(RuntimeError), database.write() as connection:
        tables.upgrade(connection, (*tables.UPGRADES, fail_half_way))
    assert "on_delete" not in columns(database, "ownership")
    assert Ledger.open(URL, tmp_path, None).ownership(ClusterName("local"))["orders"].on_delete is OnDelete.KEEP


def test_an_older_ledger_is_upgraded_step_by_step(ledger: Ledger, tmp_path: Path) -> None:
    database = Database(URL, tmp_path)
    with database.write() as connection:
        tables.upgrade(connection, (*tables.UPGRADES, add_a_column))
    assert "note" in columns(database, "revisions")
    with database.read() as connection:
        assert tables.find_version(connection, (*tables.UPGRADES, add_a_column)) == 6
    with pytest.raises(LedgerUnusable, match="schema version 6"):
        Ledger.open(URL, tmp_path, None)


def test_an_upgrade_that_fails_leaves_the_ledger_as_it_was(ledger: Ledger, tmp_path: Path) -> None:
    database = Database(URL, tmp_path)
    with pytest.raises(RuntimeError), database.write() as connection:
        tables.upgrade(connection, (*tables.UPGRADES, add_a_column, fail_half_way))
    assert columns(database, "revisions").isdisjoint({"note", "half"})
    Ledger.open(URL, tmp_path, None)


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "state.db")) as database, database:
        database.execute("CREATE TABLE customers (id INTEGER)")
    with pytest.raises(LedgerUnusable, match=r"state\.db contains other tables \(customers\)"):
        Ledger.open(URL, tmp_path, None)
    assert columns(Database(URL, tmp_path), "customers") == {"id"}


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert Ledger.open(URL, tmp_path, None).ownership("local") == {}
