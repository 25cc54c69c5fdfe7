"""Units of distances between offsets: what a distance counts, how it is written, and how far a change may skip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_PERIODS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
"""In milliseconds."""
_SHOWN_PERIODS = 2

OTHER = "other"
"""The limit of every unit that has no limit of its own."""
SkipLimits = Mapping[str, int]
"""By the keys of `max_skip`: how far one change may move all offsets forward in sum without an acknowledgement."""
DEFAULT_SKIP_LIMITS: SkipLimits = MappingProxyType(
    {
        "records": 1000,
        "file_bytes": 64 * 1024,
        "wal_bytes": 64 * 1024,
        "binlog_bytes": 64 * 1024,
        "ids": 1000,
        "time": 60_000,
        OTHER: 1000,
    }
)


@dataclass(frozen=True, slots=True)
class Unit:
    """What the distance between two offsets counts: `one` thing, or `many`. `key` is the unit's name for programs.

    `limit` is the key of its limit in `max_skip`. `counts_what_is_read` is False for distances in a log that also
    contains other changes, and for times. `is_time`: the distances are milliseconds.
    """

    key: str
    one: str
    many: str
    limit: str = OTHER
    counts_what_is_read: bool = True
    is_time: bool = False

    def amount(self, distance: int) -> str:
        """A distance in words: `1,200 records`, `1 byte of WAL`, `2 h 5 min`."""
        return duration(distance) if self.is_time else f"{distance:,} {self.one if distance == 1 else self.many}"


@dataclass(frozen=True, slots=True)
class Notation:
    """A second way to write a number in an offset, which people know from the source system.

    `write` returns the number in this notation; empty if the value cannot be written in it. `read` returns the number
    of a value in this notation, and None for any other value; without `read`, a manifest cannot use the notation.
    """

    write: Callable[[Any], str]
    read: Callable[[Any], int | None] | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """How the distances of one connector class are counted and written.

    `unit` is None if distances are unknown. `notations` are the fields of an offset that are also written in another
    way, the most significant first.
    """

    unit: Unit | None = None
    notations: Mapping[str, Notation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.unit.key if self.unit is not None else ""

    @property
    def counts_what_is_read(self) -> bool:
        """False if the distances are known to count something else than what the connector reads."""
        return self.unit is None or self.unit.counts_what_is_read

    @property
    def is_time(self) -> bool:
        return self.unit is not None and self.unit.is_time

    def amount(self, distance: int) -> str:
        """A distance in words; a number if the unit is unknown."""
        return self.unit.amount(distance) if self.unit is not None else f"{distance:,}"

    def written(self, offset: Mapping[str, Any]) -> dict[str, str]:
        """The fields of an offset that have a second notation, in that notation."""
        found = {name: notation.write(offset.get(name)) for name, notation in self.notations.items()}
        return {name: text for name, text in found.items() if text}


def duration(milliseconds: int) -> str:
    """The two largest units of a duration: `2 h 5 min`, `45 s`, `250 ms`."""
    parts: list[str] = []
    for index, (name, size) in enumerate(_PERIODS):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count:,} {name}")
        if parts and (len(parts) == _SHOWN_PERIODS or index == len(_PERIODS) - 1 or not milliseconds):
            break
    return " ".join(parts) or "0 ms"
