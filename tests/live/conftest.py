"""The databases, each started once for all live tests, and the connectors that capture tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace

from gitops_connect.sandbox.cluster import Sandbox
from live.databases import Server, start_mariadb
from live.sources import JdbcSource, MariaDbSource, PostgresSource


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    """A MariaDB server. Tests create databases of their own in it, and leave them there."""
    server = start_mariadb()
    yield server
    server.remove()


@pytest.fixture
def at(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, sandbox.worker_urls)
    yield workplace
    workplace.clean()


@pytest.fixture
def orders(postgres: Server, at: Workplace) -> PostgresSource:
    """A table of three orders in PostgreSQL, and Debezium's connector for it, not yet declared."""
    return PostgresSource(at, postgres)


@pytest.fixture
def stock(mariadb: Server, at: Workplace, sandbox: Sandbox) -> MariaDbSource:
    """A table of three rows in MariaDB, and Debezium's connector for it, not yet declared."""
    return MariaDbSource(at, mariadb, sandbox.bootstrap)


@pytest.fixture
def invoices(postgres: Server, at: Workplace) -> JdbcSource:
    """A table of three rows in PostgreSQL, and a JDBC source for it, not yet declared."""
    return JdbcSource(at, postgres)
