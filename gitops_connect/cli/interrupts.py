"""Ctrl-C and SIGTERM: the first signal requests an orderly end, the second ends the process at once. And SIGHUP."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def interruptible(first: Callable[[], None], second: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call `first` at the first signal; at the second, call `second` and end the process, even if `second` raises.

    Both functions run between any two instructions of the main thread, so they must not wait for a lock, nor import.
    """
    seen = False

    def handle(number: int, _frame: object) -> None:
        nonlocal seen
        if seen:
            signal.signal(number, signal.SIG_DFL)
            try:
                second()
            finally:
                signal.raise_signal(number)
        seen = True
        first()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def on_hangup(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at each SIGHUP. It runs between any two instructions of the main thread, as in `interruptible`."""
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def tell_at_once(text: str) -> None:
    """Write a line to stderr past Python's buffers: the signal may have interrupted a write to them.

    On a terminal the cursor may be at the end of the progress display, so that the line begins with a line feed.
    """
    start = "\n" if os.isatty(2) else ""
    with suppress(OSError):
        os.write(2, f"{start}{text}\n".encode())
