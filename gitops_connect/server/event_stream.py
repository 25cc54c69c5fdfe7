"""Server-sent events: tells each open page when the daemon's state has changed.

One task waits for the next snapshot in a thread, and wakes all pages. So a page costs no thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from gitops_connect.daemon.state import DaemonState

_POLL = 1.0
"""Seconds: how long a thread waits for a snapshot, and so how long the end of the server may take."""
_KEEP_ALIVE = 15.0
"""Seconds between two comments, so that no proxy takes the connection for dead."""
MOST_STREAMS = 200
"""Open pages. Each has a connection; further pages work without updates."""
_LATER = "retry: 60000\n\n"
_RETRY = 3000
"""Milliseconds until a browser connects again."""


class EventStream:
    """Wakes every stream when there is a new snapshot. Its other methods belong to the event loop of the server."""

    def __init__(self, state: DaemonState) -> None:
        self._state = state
        self._changed = asyncio.Event()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.streams = 0

    async def watch(self) -> None:
        """Wait for snapshots until the task is cancelled."""
        number, self._loop = self._state.snapshot.number, asyncio.get_running_loop()
        try:
            while True:
                snapshot = await asyncio.to_thread(self._state.wait, number, _POLL)
                if snapshot.number > number:
                    number = snapshot.number
                    self._wake()
        finally:
            self.close()

    def close_soon(self) -> None:
        """End every stream. Any thread may call it."""
        self._is_closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.close)

    @property
    def has_most_streams(self) -> bool:
        """Whether no other stream is possible."""
        return self.streams >= MOST_STREAMS

    def close(self) -> None:
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def stream(self) -> AsyncIterator[str]:
        """The events: one at the begin, and one for each change. It contains only the number of the snapshot."""
        if self.has_most_streams:  # many requests arrived at once
            yield _LATER
            return
        self.streams += 1
        try:
            seen = self._state.snapshot.number
            yield f"retry: {_RETRY}\n{_event(seen)}"
            while not self._is_closed:
                changed = self._changed
                if (number := self._state.snapshot.number) != seen:
                    seen = number
                    yield _event(seen)
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": keep-alive\n\n"
        finally:
            self.streams -= 1


def _event(number: int) -> str:
    return f"event: change\ndata: {number}\n\n"
