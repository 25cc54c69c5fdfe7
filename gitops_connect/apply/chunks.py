"""How large the next chunk of a large change is, learnt from the answers to those before.

There is no right fixed size: what a worker does in three seconds on one day takes fifteen on another, a request of more
than 90 s is given up by Connect itself (`ConnectResource`), and one that does not fit into the heap kills the worker. A
request as such costs little: some tenths of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_connect.model.worker_heap import LARGEST_CHUNK

FIRST = 2 << 20
SMALLEST, LARGEST = 64 << 10, LARGEST_CHUNK
"""Bytes."""
TARGET, DANGER = 10.0, 45.0
"""Seconds that an answer should not take longer than; and those from which on the 90 s are near."""
_QUICKER = 0.75
"""Half as much should take at most that share of the time, if it is the size that takes it."""
_WARY = 3
"""After a failure, so many good answers come before each growth."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The size of the next chunk in bytes. `wary`: something has failed; `good` answers came since it last changed.

    `slow` is the last chunk whose answer was slow, as bytes and seconds. Where half of it was no quicker, the worker is
    slow whatever it is sent, and `least` is what it is sent from then on: smaller chunks would only be more of them.
    """

    size: int = FIRST
    wary: bool = False
    good: int = 0
    slow: tuple[int, float] | None = None
    least: int = SMALLEST

    def accepted(self, sent: int, seconds: float) -> ChunkSize:
        """A chunk of so many bytes was accepted after so long."""
        if seconds > TARGET:
            return self._slowed(min(self.size, sent), seconds)
        good = self.good + 1
        # Twice as much takes up to twice as long. A chunk that was far from full says nothing of that.
        is_quick = 2 * seconds <= TARGET and 2 * sent >= self.size
        if is_quick and good >= (_WARY if self.wary else 1):
            return self._resized(2 * self.size)
        return replace(self, good=good)

    def failed(self, sent: int) -> ChunkSize:
        """A chunk of so many bytes was not accepted, or nobody knows whether it was."""
        return replace(self._resized(min(self.size, sent) // 2), wary=True, slow=None, least=SMALLEST)

    def _slowed(self, sent: int, seconds: float) -> ChunkSize:
        if seconds > DANGER:
            return replace(self._resized(sent // 2), slow=(sent, seconds), least=SMALLEST)
        if self.slow is not None and sent < self.slow[0] and seconds > _QUICKER * self.slow[1]:
            return replace(self._resized(self.slow[0]), slow=None, least=self.slow[0])
        return replace(self._resized(max(sent // 2, self.least)), slow=(sent, seconds))

    def _resized(self, size: int) -> ChunkSize:
        return replace(self, size=max(SMALLEST, min(size, LARGEST)), good=0)
