"""A clock for tests of steps, and no thread that outlives its test."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from support.cluster.manual_clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread for thread in threading.enumerate() if thread.name.startswith("apply")] == []
