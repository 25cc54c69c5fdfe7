"""The size of the next chunk of a large change, learnt from the answers to earlier chunks.

No fixed size is right. What a worker does in 3 s on one day takes 15 s on another. Connect itself gives up a request
that takes more than 90 s (`ConnectResource`), and a request that does not fit into the heap kills the worker. The
overhead of a request is small: some tenths of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_connect.model.worker_heap import LARGEST_CHUNK

FIRST = 2 << 20
SMALLEST, LARGEST = 64 << 10, LARGEST_CHUNK
"""Bytes."""
TARGET, DANGER = 10.0, 45.0
"""Seconds. An answer should not take longer than `TARGET`. From `DANGER` on, the limit of 90 s is near."""
_QUICKER = 0.75
"""If the size of a chunk determines its time, half the size takes at most this share of the time."""
_WARY = 3
"""After a failure, the size grows only after this many accepted chunks."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The size of the next chunk in bytes. `wary`: a request has failed. `good`: answers since the size last changed.

    `slow` is the last chunk whose answer was slow, as bytes and seconds. If half of it was no quicker, the worker is
    slow at any size, and `least` becomes the smallest size: smaller chunks would only be more requests.
    """

    size: int = FIRST
    wary: bool = False
    good: int = 0
    slow: tuple[int, float] | None = None
    least: int = SMALLEST

    def accepted(self, sent: int, seconds: float) -> ChunkSize:
        """A chunk of `sent` bytes was accepted after `seconds`."""
        if seconds > TARGET:
            return self._slowed(min(self.size, sent), seconds)
        good = self.good + 1
        # Twice the size takes up to twice the time. A chunk that was far from full proves nothing about that.
        is_quick = 2 * seconds <= TARGET and 2 * sent >= self.size
        if is_quick and good >= (_WARY if self.wary else 1):
            return self._resized(2 * self.size)
        return replace(self, good=good)

    def failed(self, sent: int) -> ChunkSize:
        """A chunk of `sent` bytes was rejected, or its outcome is unknown."""
        return replace(self._resized(min(self.size, sent) // 2), wary=True, slow=None, least=SMALLEST)

    def _slowed(self, sent: int, seconds: float) -> ChunkSize:
        if seconds > DANGER:
            return replace(self._resized(sent // 2), slow=(sent, seconds), least=SMALLEST)
        if self.slow is not None and sent < self.slow[0] and seconds > _QUICKER * self.slow[1]:
            return replace(self._resized(self.slow[0]), slow=None, least=self.slow[0])
        return replace(self._resized(max(sent // 2, self.least)), slow=(sent, seconds))

    def _resized(self, size: int) -> ChunkSize:
        return replace(self, size=max(SMALLEST, min(size, LARGEST)), good=0)
