"""Targets of an offset change: a time, a shift or an end of the partition, instead of a number.

`kafka-consumer-groups --reset-offsets` has the same targets: `--to-datetime`, `--by-duration`, `--shift-by`,
`--to-offset`, `--to-earliest` and `--to-latest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.kafka_logs import KafkaPartition

_WILDCARDS = frozenset("*?[")


class PositionKind(Enum):
    """What the number of a target means."""

    EARLIEST = "earliest"
    """Nothing: the target is the first record that still exists."""
    LATEST = "latest"
    """Nothing: the target is the end of the partition."""
    TIME = "time"
    """Milliseconds since 1970: the target is the first record at or after this time, or the end."""
    AGO = "ago"
    """Milliseconds before the commit that added the document."""
    SHIFT = "shift"
    """How many offsets after the current one the target is."""
    OFFSET = "offset"
    """The offset of the next record to read."""


@dataclass(frozen=True, slots=True)
class OffsetTarget:
    """One target, for the partitions of the topics that match a glob (empty: all), or only for the given ones."""

    kind: PositionKind
    location: Location
    number: int = 0
    topics: str = ""
    partitions: frozenset[int] = frozenset()

    @property
    def is_exact(self) -> bool:
        """Whether it names one topic."""
        return bool(self.topics) and not _WILDCARDS.intersection(self.topics)

    @property
    def exactness(self) -> tuple[bool, bool, int]:
        """Partitions are more exact than topics, a name is more exact than a glob, and a longer glob than a shorter."""
        return bool(self.partitions), self.is_exact, len(self.topics)

    def matches(self, partition: KafkaPartition) -> bool:
        if self.partitions and partition.partition not in self.partitions:
            return False
        return not self.topics or self.topics == partition.topic or fnmatchcase(partition.topic, self.topics)


@dataclass(frozen=True, slots=True)
class OffsetTargets:
    """All targets of one offset change. `location` is that of the field `to`."""

    targets: tuple[OffsetTarget, ...]
    location: Location

    def of(self, partition: KafkaPartition) -> tuple[OffsetTarget, ...]:
        """The most exact targets that match: none, one, or several that are equally exact."""
        matching = [one for one in self.targets if one.matches(partition)]
        most = max((one.exactness for one in matching), default=None)
        return tuple(one for one in matching if one.exactness == most)

    @property
    def value(self) -> object:
        """The targets as a value for a digest, in which their order does not matter."""
        return sorted([one.kind.value, one.number, one.topics, sorted(one.partitions)] for one in self.targets)
