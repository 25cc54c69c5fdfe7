"""Positions in the logs of Kafka's partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class KafkaPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offset of the first record that still exists, and the offset of the next record that will be written."""

    start: int
    end: int

    def unread(self, position: int) -> int:
        """The number of offsets from a position to the end; before the start, there is no record."""
        return max(0, self.end - max(position, self.start))


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record by its offset. `timestamp`: milliseconds since 1970."""

    offset: int
    timestamp: int
