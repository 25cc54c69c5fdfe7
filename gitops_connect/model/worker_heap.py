"""What a change of offsets needs of a worker's memory, estimated before anything is sent.

A worker keeps every source partition that it has met for as long as it lives, and a change that does not fit kills all
of its threads at once, while its process stays up and answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeapEstimate:
    """Bytes of heap that one worker needs at most, and how they add up, in words."""

    size: int
    arithmetic: str
