"""Every kind of database failure, provoked on a real database: an error with the path, and no partial write."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect

import pytest
from live.databases import Server
from sqlalchemy import insert, text
from support.ledger.ledger_places import postgres_place

from gitops_connect.errors import LedgerBusy, LedgerUnusable
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import REVISIONS

pytestmark = pytest.mark.slow

URL = "sqlite:///state.db"
PASSWORD = "correct-horse-battery"
NOBODY = 65534


@pytest.fixture
def plain_directory() -> Iterator[Path]:
    """A directory for a test during which this process has no special rights, even if root runs the tests."""
    directory = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(directory, NOBODY, -1)
        os.seteuid(NOBODY)
    yield directory
    if root:
        os.seteuid(0)
    directory.chmod(0o700)
    shutil.rmtree(directory)


@pytest.fixture
def ledger(sqlite_ledger: Ledger) -> Ledger:
    """These tests provoke the failures of a file."""
    return sqlite_ledger


def test_a_path_that_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnusable, match=r"the directory .*/nowhere does not exist; create it"):
        Ledger.open("sqlite:///nowhere/state.db", tmp_path, None)
    (tmp_path / "directory").mkdir()
    with pytest.raises(LedgerUnusable, match=r"directory cannot be opened"):
        Ledger.open("sqlite:///directory", tmp_path, None)
    (tmp_path / "state.db").write_text("this is a text, and quite a long one, that someone has put there" * 20)
    with pytest.raises(LedgerUnusable, match=r"state\.db is damaged, or is not a database.*backup"):
        Ledger.open(URL, tmp_path, None)


def test_a_corrupt_database(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    content = bytearray(file.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    file.write_bytes(content)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        Ledger.open(URL, tmp_path, None)
    with pytest.raises(LedgerUnusable, match="is damaged"):
        ledger.ownership("local")


def test_a_ledger_that_may_only_be_read_can_be_read(plain_directory: Path) -> None:
    Ledger.open(URL, plain_directory, None).record_applied("local", "r1", datetime.now(UTC))
    (plain_directory / "state.db").chmod(0o444)
    plain_directory.chmod(0o555)
    ledger = Ledger.open(URL, plain_directory, None)
    applied = ledger.revisions("local").applied
    assert applied
    assert applied.revision == "r1"
    with pytest.raises(LedgerUnusable, match=r"state\.db cannot be written; make the file and its directory writable"):
        ledger.record_applied("local", "r2", datetime.now(UTC))


def test_a_directory_or_a_ledger_without_the_permissions(plain_directory: Path) -> None:
    plain_directory.chmod(0o555)
    with pytest.raises(LedgerUnusable, match=r"state\.db cannot be opened or created"):
        Ledger.open(URL, plain_directory, None)
    plain_directory.chmod(0o700)
    Ledger.open(URL, plain_directory, None)
    (plain_directory / "state.db").chmod(0)
    with pytest.raises(LedgerUnusable, match=r"state\.db cannot be opened"):
        Ledger.open(URL, plain_directory, None)


def test_a_lock_that_is_held_for_too_long(ledger: Ledger, tmp_path: Path) -> None:
    database = Database(URL, tmp_path, timeout=0.05)
    with closing(connect(tmp_path / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match=r"state\.db is locked by another process"), database.write():
            pass
        with database.read():
            pass
        other.execute("ROLLBACK")
    with database.write():
        pass


def test_two_that_insert_the_same_record(ledger: Ledger, tmp_path: Path) -> None:
    """This happens on PostgreSQL, where writers do not lock the whole database. No value is in the message."""

    row = {"cluster": "c", "kind": "k", "revision": "r", "at": datetime.now(UTC), "result": "hunter2"}

    def insert_twice() -> None:
        with Database(URL, tmp_path).write() as connection:
            for _ in range(2):
                connection.execute(insert(REVISIONS).values(**row))

    with pytest.raises(LedgerBusy, match="same record") as caught:
        insert_twice()
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"


def test_what_is_called_durable_is_on_the_disk(ledger: Ledger, tmp_path: Path) -> None:
    with Database(URL, tmp_path).write() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"


@pytest.mark.parametrize("limit", ["?connect_timeout=1", ""])
def test_a_server_that_never_answers_is_given_up_and_named_without_its_password(tmp_path: Path, limit: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"postgresql+psycopg://reconciler:{PASSWORD}@127.0.0.1:{port}/ledger{limit}"
        expected = r"ledger postgresql\+psycopg://reconciler:\*\*\*@127.0.0.1:\d+/ledger "
        with closing(Database(url, tmp_path)) as database:  # noqa: SIM117 - the error is of the second block
            with pytest.raises(LedgerUnusable, match=expected) as raised, database.read():
                pass
    assert "timeout" in str(raised.value)
    assert PASSWORD not in str(raised.value)


@pytest.mark.thorough
def test_a_statement_that_takes_too_long_is_given_up(postgres: Server, tmp_path: Path) -> None:
    url = postgres_place(postgres, tmp_path).url
    with closing(Database(url, tmp_path)) as database, database.read() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "1min"
    with closing(Database(f"{url}?options=-c%20statement_timeout%3D100", tmp_path)) as database:
        with pytest.raises(LedgerUnusable, match="statement timeout"), database.read() as connection:
            connection.execute(text("SELECT pg_sleep(60)"))
        with database.read() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1


@pytest.mark.thorough
def test_a_query_of_a_server_is_given_up_at_its_own_limit_or_at_the_lower_one_of_the_url(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres_place(postgres, tmp_path).url
    with closing(Database(url, tmp_path)) as database:
        expected = "did not answer a query within 0.1s; name a cluster"
        with pytest.raises(LedgerUnusable, match=expected), database.read_within(0.1, "name a cluster") as connection:
            connection.execute(text("SELECT pg_sleep(60)"))
        with database.read_within(0.1, "") as connection:
            assert connection.execute(text("SHOW statement_timeout")).scalar() == "100ms"
    with closing(Database(f"{url}?options=-c%20statement_timeout%3D50", tmp_path)) as database:  # noqa: SIM117
        with database.read_within(0.1, "") as connection:
            assert connection.execute(text("SHOW statement_timeout")).scalar() == "50ms"


def test_a_query_of_a_file_is_given_up_at_its_limit(tmp_path: Path) -> None:
    endless = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
    with closing(Database("sqlite:///state.db", tmp_path)) as database:
        expected = "state.db did not answer a query within 0.1s; name a cluster"
        with pytest.raises(LedgerUnusable, match=expected), database.read_within(0.1, "name a cluster") as connection:
            connection.execute(endless)
        with database.read_within(0.1, "") as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1
