"""Ctrl-C and SIGTERM: an orderly end at the first signal, the end at once at the second. What reloads the settings."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_WATCH_EVERY = 2.0
"""Seconds between two looks at a file."""


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


def interrupt() -> None:
    """For `interruptible`: end what waits at the first signal."""
    raise KeyboardInterrupt


@contextmanager
def on_hangup(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at each SIGHUP. It runs between any two instructions of the main thread, as in `interruptible`."""
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def on_change(file: Path | None, act: Callable[[], None]) -> Iterator[None]:
    """Call `act`, in a thread, each time when the file has changed, or has been replaced as the kubelet does it."""
    if file is None:
        yield
        return
    ended = threading.Event()
    known = _version(file)

    def watch() -> None:
        nonlocal known
        while not ended.wait(_WATCH_EVERY):
            found = _version(file)
            if found not in (known, None):
                known = found
                act()

    thread = threading.Thread(target=watch, name="settings")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _version(file: Path) -> tuple[int, ...] | None:
    """What differs after a change; None if the file cannot be found now."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def tell_at_once(text: str) -> None:
    """Write a line to stderr past Python's buffers: the signal may have interrupted a write to them.

    On a terminal the cursor may be at the end of the progress display, so that the line begins with a line feed.
    """
    start = "\n" if os.isatty(2) else ""
    with suppress(OSError):
        os.write(2, f"{start}{text}\n".encode())
