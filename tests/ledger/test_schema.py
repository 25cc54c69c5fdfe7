"""The schema of the ledger: new, of every earlier version, and of other programs, on each kind of database."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import LOCAL, NOON

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.column_types import ColumnType
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.migrations.migrate import find_migrations
from gitops_connect.ledger.schema import SCHEMA_VERSION
from gitops_connect.ledger.tables import METADATA, get_property, set_property
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.revisions import RevisionMark, Revisions

pytestmark = pytest.mark.slow

RELEASED = sorted(Path(__file__).with_name("schemas").glob("version_*.sql"))
"""The ledgers of earlier versions, as those versions created and filled them."""
ORDERS = ConnectorName("orders")


def read_tables(place: LedgerPlace) -> dict[str, set[str]]:
    with closing(place.database()) as database, database.read() as connection:
        inspector = inspect(connection)
        return {
            name: {column["name"] for column in inspector.get_columns(name)} for name in inspector.get_table_names()
        }


def differences(place: LedgerPlace) -> list[object]:
    """What the tables of the database lack, or have in addition, compared with the tables of this version."""
    with closing(place.database()) as database, database.read() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        found = list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))
        keys = {name: inspect(connection).get_pk_constraint(name)["constrained_columns"] for name in METADATA.tables}
    return found or [name for name, key in keys.items() if key != METADATA.tables[name].primary_key.columns.keys()]


def require_content(ledger: Ledger, version: int) -> None:
    """Everything that the rows of `schemas/version_N.sql` say."""
    digests = {"database.password": Digest("d2")}
    revision = Revision("r1")
    kept = Ownership(LOCAL, ORDERS, Origin.CREATED, revision, NOON, Digest("d1"), digests, OnDelete.KEEP)
    assert ledger.ownership(LOCAL) == {ORDERS: kept}
    assert ledger.revisions(LOCAL) == Revisions(None, RevisionMark(revision, NOON, "3 steps"))
    states = {name: record.state for name, record in ledger.offset_changes.records(LOCAL).items()}
    assert states == ({OffsetChangeName("skip"): OffsetChangeState.SETTLED} if version > 1 else {})
    assert ledger.restarts.of(LOCAL) == ({ORDERS: RestartRecord(2, NOON)} if version > 3 else {})
    assert set(ledger.suspensions(LOCAL).connectors) == ({ORDERS} if version > 4 else set())
    assert ledger.restart_requests.of(LOCAL) == ({(ORDERS, RequestKind.CONNECTOR): "one"} if version > 3 else {})


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.stem)
def test_a_ledger_of_an_earlier_version_is_upgraded_and_keeps_its_content(
    new_place: LedgerPlace, released: Path
) -> None:
    new_place.run(released.read_text())
    for _ in range(2):
        with closing(new_place.open()) as ledger:
            require_content(ledger, int(released.stem.rpartition("_")[2]))
    assert differences(new_place) == []
    with closing(new_place.database()) as database, database.read() as connection:
        assert get_property(connection, "schema_version") == str(SCHEMA_VERSION)


def test_a_new_ledger_has_the_newest_tables(new_place: LedgerPlace) -> None:
    new_place.open().close()
    assert differences(new_place) == []


def test_there_is_one_migration_for_each_version_and_every_version_is_tested() -> None:
    """Two migrations with the same predecessor, from two branches, are an error of Alembic here."""
    revisions = [script.revision for script in find_migrations().walk_revisions()]
    assert revisions == [str(version) for version in range(SCHEMA_VERSION, 0, -1)]
    assert {path.stem for path in RELEASED} >= {f"version_{version}" for version in range(1, SCHEMA_VERSION)}


@pytest.mark.parametrize("before", ["", RELEASED[0].read_text()], ids=["new", "old"])
def test_processes_that_open_a_ledger_at_once_upgrade_it_once(new_place: LedgerPlace, before: str) -> None:
    new_place.run(before)
    together = Barrier(4)

    def open_it() -> None:
        together.wait()
        keyed = replace(new_place, key=b"k" * 32)
        keyed.open().close()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(open_it) for _ in range(4)]:
            done.result()
    assert differences(new_place) == []


@pytest.mark.slow
def test_a_ledger_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from gitops_connect.ledger.ledger import Ledger;"
    program += "Ledger.open('sqlite:///state.db', Path(sys.argv[1]), None); sys.exit('alembic' in sys.modules)"
    for _ in ("new", "current"):
        subprocess.run([sys.executable, "-c", program, tmp_path], check=True)


def test_an_upgrade_that_fails_leaves_the_ledger_as_it_was(new_place: LedgerPlace) -> None:
    new_place.run(RELEASED[0].read_text() + "CREATE TABLE restarts (other INTEGER);\n")
    before = read_tables(new_place)
    with pytest.raises(LedgerUnusable, match=r"restarts.* already exists"):
        new_place.open()
    assert read_tables(new_place) == before
    new_place.run("DROP TABLE restarts")
    with closing(new_place.open()) as ledger:
        require_content(ledger, 1)


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_ledger_is_rejected_and_not_changed(new_place: LedgerPlace, version: int) -> None:
    new_place.open().close()
    with closing(new_place.database()) as database, database.write() as connection:
        set_property(connection, "schema_version", str(version))
    with pytest.raises(LedgerUnusable, match=rf"schema version {version}.*supports {SCHEMA_VERSION} at most.*newer"):
        new_place.open()
    with closing(new_place.database()) as database, database.read() as connection:
        assert get_property(connection, "schema_version") == str(version)


def test_a_database_of_another_program_is_rejected(new_place: LedgerPlace) -> None:
    new_place.run("CREATE TABLE customers (id INTEGER)")
    with pytest.raises(LedgerUnusable, match=r"contains other tables \(customers\)"):
        new_place.open()
    assert read_tables(new_place) == {"customers": {"id"}}


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert Ledger.open("sqlite:///state.db", tmp_path, None).ownership(LOCAL) == {}


def test_statements_with_each_type_may_be_cached() -> None:
    """SQLAlchemy warns if a type does not say so, and compiles each statement again."""
    types = {type(column.type) for table in METADATA.tables.values() for column in table.columns}
    assert {kind.__name__ for kind in types if issubclass(kind, ColumnType) and kind.cache_ok is not True} == set()
