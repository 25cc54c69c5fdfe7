"""Ctrl-C and SIGTERM: the first asks for an orderly end, the second ends the process at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def interruptible(first: Callable[[], None]) -> Iterator[None]:
    """Call `first` at the first signal. It runs between any two instructions, and must not wait for a lock."""
    seen = False

    def handle(number: int, _frame: object) -> None:
        nonlocal seen
        if seen:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        seen = True
        first()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def tell_at_once(text: str) -> None:
    """A line on stderr past Python's buffers, in which the signal may have met a line half written."""
    with suppress(OSError):
        os.write(2, f"{text}\n".encode())
