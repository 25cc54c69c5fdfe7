"""Waiting for something that another thread, process or server does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def await_that(look: Callable[[], T], is_good: Callable[[T], object] = bool, seconds: float = 30) -> T:
    """Call `look` until its result is good, and return it."""
    until = time.monotonic() + seconds
    while not is_good(found := look()):
        assert time.monotonic() < until, f"never happened; seen last: {found}"
        time.sleep(0.02)
    return found
