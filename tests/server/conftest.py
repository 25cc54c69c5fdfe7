"""A server over a made-up daemon and a real ledger, in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.server.made_up import World, world, write_ledger

from gitops_connect.server.app import application

Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def ledger_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the ledger of the made-up daemon."""
    directory = tmp_path_factory.mktemp("ledger")
    write_ledger(directory)
    return directory


@pytest.fixture
def made(tmp_path: Path, ledger_directory: Path) -> Iterator[World]:
    shutil.copytree(ledger_directory, tmp_path, dirs_exist_ok=True)
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def client(made: World) -> TestClient:
    """A client of a server without tokens."""
    return TestClient(application(made.served), base_url="http://localhost")


@pytest.fixture
def serve(tmp_path: Path, ledger_directory: Path) -> Iterator[Serve]:
    """Makes clients of servers with these settings."""
    with ExitStack() as stack:

        def make(**settings: object) -> TestClient:
            directory = tmp_path / f"{len(list(tmp_path.iterdir()))}"
            shutil.copytree(ledger_directory, directory)
            made = stack.enter_context(world(directory, **settings))
            client = TestClient(application(made.served), base_url="http://localhost")
            client.made = made  # type: ignore[attr-defined]
            return client

        yield make
