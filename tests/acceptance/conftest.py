"""The two clusters that every story is told over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.connect import StandIn

from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox


@pytest.fixture(params=[pytest.param("standin", marks=pytest.mark.slow), pytest.param("real", marks=pytest.mark.e2e)])
def urls(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    if request.param == "standin":
        with StandIn() as standin:
            yield (standin.url,)
    else:
        yield request.getfixturevalue("sandbox").worker_urls


@pytest.fixture
def at(urls: tuple[str, ...], tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, urls)
    yield workplace
    workplace.clean()


@pytest.fixture
def real(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    """Where records flow: the stand-in has none."""
    workplace = Workplace(tmp_path, sandbox.worker_urls)
    yield workplace
    workplace.clean()
