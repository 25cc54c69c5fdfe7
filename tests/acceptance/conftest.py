"""The clusters on which each test runs, and the tests that run on a real worker only before a release.

`tests/contract` checks that the stand-in behaves like a real worker. So in `make test` each test runs on the stand-in.
A test that is marked `on_kafka` also runs on a real worker, but only with the first of its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.connect import StandIn

from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox

REAL = "real"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run on a real worker only in `make test-thorough`."""
    chosen = set()
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.callspec.params.get("urls") == REAL:
            if item.get_closest_marker("on_kafka") and item.function not in chosen:
                chosen.add(item.function)
            else:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(params=[pytest.param("standin", marks=pytest.mark.slow), pytest.param(REAL, marks=pytest.mark.e2e)])
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


@pytest.fixture(params=[REAL])
def real(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    """A workplace on a real worker, for tests that need records: the stand-in has none."""
    workplace = Workplace(tmp_path, sandbox.worker_urls)
    yield workplace
    workplace.clean()
