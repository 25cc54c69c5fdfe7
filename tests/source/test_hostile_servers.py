"""Servers that are not Git servers, or send without end: each is reported, and git stays within its limits."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest
from support.git.git_web_servers import SMART, endless_references, web_server

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.settings.coerce import Size
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.repository import Repository

MEMORY = Size(256 * 1024**2)


def fetch(url: str, directory: Path, timeout: float = 60.0) -> None:
    settings = RepositorySettings(url=url, timeout=Duration(timeout), git_memory=MEMORY)
    Repository(settings, directory / "clone").fetch()


@pytest.mark.parametrize("page", [b"", b"<html>welcome</html>", b"<html>\nwelcome\n</html>\n"])
def test_a_web_page_is_not_a_git_server(tmp_path: Path, page: bytes) -> None:
    with (
        web_server({"Content-Type": "text/html"}, lambda: iter([page])) as url,
        pytest.raises(SourceRefused, match=r"does not belong to a Git server: check \[repository\] url"),
    ):
        fetch(url, tmp_path)


@pytest.mark.slow
def test_endless_references_stay_within_the_memory_limit_of_git(tmp_path: Path) -> None:
    with web_server(SMART, endless_references) as url, pytest.raises(SourceRefused, match=r"\[repository\] git_memory"):
        fetch(url, tmp_path)


@pytest.mark.slow
def test_a_packed_answer_stays_within_the_memory_limit_of_git(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(1024**3), 1)
    with (
        web_server({**SMART, "Content-Encoding": "gzip"}, lambda: iter([bomb])) as url,
        pytest.raises(SourceRefused, match=r"\[repository\] git_memory"),
    ):
        fetch(url, tmp_path)


@pytest.mark.slow
def test_endless_garbage_is_refused(tmp_path: Path) -> None:
    with (
        web_server(SMART, lambda: itertools.repeat(b"garbage" * 9000)) as url,
        pytest.raises((SourceRefused, SourceUnavailable)),
    ):
        fetch(url, tmp_path)
