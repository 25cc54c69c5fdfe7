"""Clocks and workers for tests of steps, and no thread that outlives its test."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from standin.connect import StandIn
from support.cluster.manual_clock import ManualClock

from gitops_connect.model.clock import Clock
from gitops_connect.runtime import SystemClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["standin", pytest.param("real", marks=pytest.mark.e2e)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "standin":
        with StandIn() as standin:
            yield standin.url
    else:
        yield request.getfixturevalue("sandbox").worker_urls[0]


@pytest.fixture
def worker_clock(request: pytest.FixtureRequest) -> Clock:
    """The clock of `apply`, which does not wait for the stand-in."""
    return SystemClock() if request.node.get_closest_marker("e2e") else ManualClock()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread for thread in threading.enumerate() if thread.name.startswith("apply")] == []
