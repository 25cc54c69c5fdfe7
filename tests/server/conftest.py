"""A server over a made-up daemon and a real ledger, in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.server.made_up import World, world, write_ledger
from support.server.running import served

from gitops_connect.server.app import application

Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def ledger_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the ledger of the made-up daemon."""
    directory = tmp_path_factory.mktemp("ledger")
    write_ledger(directory)
    return directory


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """A client of a server without tokens."""
    return serve()


@pytest.fixture
def made(client: Any) -> World:
    found: World = client.made
    return found


@pytest.fixture
def url(made: World) -> Iterator[str]:
    """The URL of a server over HTTP."""
    with served(application(made.served)) as url:
        yield url


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
