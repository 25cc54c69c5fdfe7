from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.git.http_server import GitServer, serving
from support.git.opening import Open
from support.git.upstream import Upstream

from gitops_connect.model.clock import Duration
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.repository import Repository


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """The directory whose repositories the HTTP server serves."""
    directory = tmp_path / "served"
    directory.mkdir()
    return directory


@pytest.fixture
def upstream(served: Path) -> Upstream:
    return Upstream.create(served / "o.git")


@pytest.fixture
def server(served: Path) -> Iterator[GitServer]:
    with serving(served) as running:
        yield running


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "clone"


@pytest.fixture
def fake_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a shell script with this name first on the PATH."""

    def put(name: str, script: str) -> None:
        file = tmp_path / "bin" / name
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")

    return put


@pytest.fixture
def open_repository(upstream: Upstream, clone: Path) -> Open:
    """Open a repository that fetches from upstream, by path if no `url` is given; each call is like a new process."""

    def opened(url: str = "", **settings: object) -> Repository:
        settings.setdefault("timeout", Duration(20))
        return Repository(RepositorySettings(url=url or str(upstream.directory), **settings), clone)  # type: ignore[arg-type]  # settings of several types

    return opened
