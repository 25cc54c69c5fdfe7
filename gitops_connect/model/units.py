"""Units of distances between offsets: what a distance counts, how it is written, and how far a change may skip."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import Any


class Unit(Enum):
    """What the distance between two offsets counts. The value is the key of its limit in `max_skip`."""

    RECORDS = "records"
    FILE_BYTES = "file_bytes"
    WAL_BYTES = "wal_bytes"
    """Bytes of PostgreSQL's write-ahead log, which also contains changes of tables that the connector does not read."""
    BINLOG_BYTES = "binlog_bytes"
    """Bytes of a binlog of MySQL or MariaDB, which also contains changes of other tables."""
    IDS = "ids"
    """Values of a column that grows; there may be gaps between them."""
    TIME = "time"
    """Milliseconds."""
    OTHER = "other"
    """The unit that `x-unit` of a schema in the repository names."""


_WORDS: Mapping[Unit, tuple[str, str]] = {
    Unit.RECORDS: ("record", "records"),
    Unit.FILE_BYTES: ("byte of the file", "bytes of the file"),
    Unit.WAL_BYTES: ("byte of WAL", "bytes of WAL"),
    Unit.BINLOG_BYTES: ("byte of binlog", "bytes of binlog"),
    Unit.IDS: ("id", "ids"),
}
_PERIODS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
"""In milliseconds."""
_SHOWN_PERIODS = 2

SkipLimits = Mapping[Unit, int]
"""For each unit, how far one change may move all offsets forward in sum before its document must acknowledge it."""

DEFAULT_SKIP_LIMITS: SkipLimits = MappingProxyType(
    {
        Unit.RECORDS: 1000,
        Unit.FILE_BYTES: 64 * 1024,
        Unit.WAL_BYTES: 64 * 1024,
        Unit.BINLOG_BYTES: 64 * 1024,
        Unit.IDS: 1000,
        Unit.TIME: 60_000,
        Unit.OTHER: 1000,
    }
)


class Notation(Enum):
    """A second way to write a number in an offset, which people know from the source system."""

    PG_LSN = "pg_lsn"
    """PostgreSQL's type `pg_lsn`: the upper and the lower 32 bits in hexadecimal, as in `0/1985390`."""
    MILLISECONDS = "milliseconds"
    """Milliseconds since 1970-01-01, as an ISO 8601 time in UTC."""

    def write(self, value: Any) -> str:
        """A value in this notation; empty if the value cannot be written in it."""
        if type(value) is not int:
            return ""
        if self is Notation.PG_LSN:
            return f"{value >> 32:X}/{value & _LOW_32_BITS:X}" if 0 <= value < 2**64 else ""
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
        except OverflowError:
            return ""
        return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


_LOW_32_BITS = 2**32 - 1
_PG_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_pg_lsn(value: Any) -> int | None:
    """The number of an LSN in PostgreSQL's notation (`0/1985390`); None for every other value."""
    found = _PG_LSN.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else int(found[1], 16) << 32 | int(found[2], 16)


@dataclass(frozen=True, slots=True)
class Scale:
    """How the distances of one connector class are counted and written.

    `unit` is None if distances are unknown; `noun` is the word of `Unit.OTHER`. `notations` are the fields of an offset
    that are also written in another way, the most significant first.
    """

    unit: Unit | None = None
    noun: str = ""
    notations: Mapping[str, Notation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The unit for programs: its key in `max_skip`, or the word of the repository's schema; empty if unknown."""
        if self.unit is None:
            return ""
        return self.noun if self.unit is Unit.OTHER else self.unit.value

    @property
    def counts_what_is_read(self) -> bool:
        """False for distances in a log that also contains other changes, and for times."""
        return self.unit not in (Unit.WAL_BYTES, Unit.BINLOG_BYTES, Unit.TIME)

    def amount(self, distance: int) -> str:
        """A distance in words: `1,200 records`, `1 byte of WAL`, `2 h 5 min`."""
        if self.unit is Unit.TIME:
            return duration(distance)
        one, many = _WORDS.get(self.unit, (self.noun, self.noun)) if self.unit is not None else ("", "")
        return f"{distance:,} {one if distance == 1 else many}".rstrip()

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


def unit_named(word: str) -> tuple[Unit | None, str]:
    """The unit of a schema's `x-unit`: one of the closed set if the word is its key, else OTHER with that word."""
    if not word:
        return None, ""
    known = {unit.value: unit for unit in _closed()}
    return (known[word], "") if word in known else (Unit.OTHER, word)


def _closed() -> Iterable[Unit]:
    return (unit for unit in Unit if unit is not Unit.OTHER)
