"""The limits of the wait for a PostgreSQL server. Most other tests of the ledger run with SQLite and PostgreSQL."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from live.databases import Server
from sqlalchemy import text

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.database import Database

KEY = b"k" * 32
PASSWORD = "correct-horse-battery"


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never sends anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["?connect_timeout=1", ""])
def test_a_server_that_never_answers_is_given_up_and_named_without_its_password(
    silent: int, tmp_path: Path, limit: str
) -> None:
    url = f"postgresql+psycopg://reconciler:{PASSWORD}@127.0.0.1:{silent}/ledger{limit}"
    with (
        closing(Database(url, tmp_path)) as database,
        pytest.raises(
            LedgerUnusable, match=r"ledger postgresql\+psycopg://reconciler:\*\*\*@127.0.0.1:\d+/ledger "
        ) as raised,
        database.read(),
    ):
        pass
    assert "timeout" in str(raised.value)
    assert PASSWORD not in str(raised.value)


def url_of(server: Server, name: str, more: str = "") -> str:
    """The URL of a new database of that name."""
    server.sql(f"CREATE DATABASE {name}")
    return f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{name}{more}"


@pytest.mark.thorough
def test_a_statement_that_takes_too_long_is_given_up(postgres: Server, tmp_path: Path) -> None:
    url = url_of(postgres, "slow", "?options=-c%20statement_timeout%3D100")
    with closing(Database(url, tmp_path)) as database:
        with pytest.raises(LedgerUnusable, match="statement timeout"), database.read() as connection:
            connection.execute(text("SELECT pg_sleep(60)"))
        with database.read() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1


@pytest.mark.thorough
def test_every_statement_has_a_limit_unless_the_url_sets_another(postgres: Server, tmp_path: Path) -> None:
    with closing(Database(url_of(postgres, "limits"), tmp_path)) as database, database.read() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "1min"
