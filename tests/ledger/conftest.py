"""A separate ledger for each test, and processes that use it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest
from live.databases import Server
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace, postgres_place

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import METADATA, PROPERTIES

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(params=BOTH)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerPlace:
    """A place without a ledger, on each kind of database."""
    if request.param == "sqlite":
        return LedgerPlace("sqlite:///state.db", tmp_path)
    return postgres_place(request.getfixturevalue("postgres"), tmp_path)


@pytest.fixture(scope="session")
def postgres_ledger(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> LedgerPlace:
    """A ledger that tests use one after the other: to empty its tables is cheaper than to create them."""
    place = postgres_place(postgres, tmp_path_factory.mktemp("ledger"))
    place.open().close()
    return place


@pytest.fixture(params=BOTH)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerPlace:
    """A place with an empty ledger, on each kind of database."""
    if request.param == "sqlite":
        copytree(request.getfixturevalue("empty_ledger"), tmp_path, dirs_exist_ok=True)
        return LedgerPlace("sqlite:///state.db", tmp_path)
    shared: LedgerPlace = request.getfixturevalue("postgres_ledger")
    shared.run(f"TRUNCATE {', '.join(table for table in METADATA.tables if table != PROPERTIES.name)}")
    return shared


@pytest.fixture
def ledger(place: LedgerPlace) -> Ledger:
    """An empty ledger on each kind of database."""
    return place.open()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `program.py` with a verb, on this test's directory; at the end of the test, its processes are killed."""
    processes: list[subprocess.Popen[str]] = []

    def run(verb: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAM), verb, str(tmp_path), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()
