"""Writes of several threads at the same time become one transaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from threading import Lock

_Queued = tuple[Callable[[], None], Future[None]]


class GroupCommit:
    """A transaction takes longer than its rows. `together` is a block whose writes are one transaction."""

    def __init__(self, together: Callable[[], AbstractContextManager[None]]) -> None:
        self._together = together
        self._writing = Lock()
        self._queue: deque[_Queued] = deque()

    @property
    def waiting(self) -> int:
        """How many writes have not begun."""
        return len(self._queue)

    def run(self, write: Callable[[], None]) -> None:
        """Return when the write is durable. If a write fails, each is repeated alone. Raises what this one raises."""
        written = Future[None]()
        self._queue.append((write, written))
        with self._writing:  # the thread before may have done this write, too
            batch = [self._queue.popleft() for _ in range(len(self._queue))]
            if batch and not self._done(batch, is_last=len(batch) == 1):
                for one in batch:
                    self._done([one], is_last=True)
        written.result()

    def _done(self, batch: Sequence[_Queued], *, is_last: bool) -> bool:
        """False if an error is left to another try."""
        try:
            with self._together():
                for write, _ in batch:
                    write()
        except BaseException as error:
            if isinstance(error, Exception) and not is_last:
                return False
            for _, written in batch:  # no thread waits for a result that nobody brings
                written.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for _, written in batch:
                written.set_result(None)
        return True
