"""How large the next chunk of a large change is, learnt from the answers to those before.

There is no right fixed size: what a worker does in three seconds on one day takes fifteen on another, a request of more
than 90 s is given up by Connect itself (`ConnectResource`), and one that does not fit into the heap kills the worker. A
request as such costs little: some tenths of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST = 2 << 20
SMALLEST, LARGEST = 64 << 10, 12 << 20
"""Bytes. The largest is some 140,000 offsets: more at once are not quicker, and need more of a worker's heap."""
TARGET = 10.0
"""Seconds that an answer should not take longer than."""
_WARY = 3
"""After a failure, so many good answers come before each growth."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The size of the next chunk in bytes. `wary`: something has failed; `good` answers came since it last changed."""

    size: int = FIRST
    wary: bool = False
    good: int = 0

    def accepted(self, sent: int, seconds: float) -> ChunkSize:
        """A chunk of so many bytes was accepted after so long."""
        if seconds > TARGET:
            return self._resized(min(self.size, sent) // 2)
        good = self.good + 1
        # Twice as much takes up to twice as long. A chunk that was far from full says nothing of that.
        is_quick = 2 * seconds <= TARGET and 2 * sent >= self.size
        if is_quick and good >= (_WARY if self.wary else 1):
            return self._resized(2 * self.size)
        return replace(self, good=good)

    def failed(self, sent: int) -> ChunkSize:
        """A chunk of so many bytes was not accepted, or nobody knows whether it was."""
        return replace(self._resized(min(self.size, sent) // 2), wary=True)

    def _resized(self, size: int) -> ChunkSize:
        return replace(self, size=max(SMALLEST, min(size, LARGEST)), good=0)
