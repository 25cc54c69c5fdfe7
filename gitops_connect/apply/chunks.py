"""The size of the next chunk of a large change, computed from the time of the last one.

No fixed size is right. What a worker does in 3 s on one day takes 15 s on another. Connect itself gives up a request
that takes more than 90 s (`ConnectResource`), and a request that does not fit into the heap kills the worker.

If the workers support exactly-once sources, a worker reads its offsets topic from the beginning for each request
(`Worker.modifySourceConnectorOffsets`). That takes as long for a small chunk as for a large one, and longer with each
chunk that was accepted. So the fewest chunks are the fastest, and the heap alone determines the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_connect.connect.worker_heap import LARGEST_CHUNK

FIRST, SMALLEST = 2 << 20, 64 << 10
"""Bytes."""
TARGET = 45.0
"""Seconds that a chunk may take: half of the time after which Connect gives up a request."""
_STRETCHED = 4 / 3
"""The last chunk may be larger by this factor, so that no small rest needs a request of its own."""
_WARY = 3
"""After a failure, the size grows only after this many accepted chunks, and only to twice the size."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """The size of the next chunk in bytes, at most `largest`.

    A slow answer reduces it to `least` at most; only failures reduce it further. `wary`: a request has failed. `good`:
    chunks that were accepted since then, or since the size last grew.
    """

    size: int = FIRST
    largest: int = LARGEST_CHUNK
    least: int = SMALLEST
    wary: bool = False
    good: int = 0

    @staticmethod
    def if_all_is_read_again(largest: int) -> ChunkSize:
        """For workers with exactly-once support. Smaller chunks would make slow workers read more often."""
        return ChunkSize(largest=largest, least=LARGEST_CHUNK)

    def of(self, left: float) -> int:
        """The bytes of the next chunk if about `left` bytes are not sent yet: a small rest is sent with it."""
        return min(self.largest, int(left)) if self.size < left < _STRETCHED * self.size else self.size

    def accepted(self, sent: int, seconds: float) -> ChunkSize:
        """A chunk of `sent` bytes was accepted after `seconds`."""
        # Twice the size takes at most twice the time: a part of the time does not depend on the size.
        fitting = int(sent * TARGET / max(seconds, 0.001))
        after = replace(self, good=self.good + 1)
        if seconds > TARGET:
            return replace(after, size=min(self.size, max(fitting, self.least)))
        if fitting <= self.size or (self.wary and after.good < _WARY):
            return after
        return replace(after, size=min(fitting, self.largest, 2 * self.size if self.wary else fitting), good=0)

    def failed(self, sent: int) -> ChunkSize:
        """A chunk of `sent` bytes was rejected, or its outcome is unknown."""
        return replace(self, size=max(SMALLEST, min(self.size, sent) // 2), wary=True, good=0)
