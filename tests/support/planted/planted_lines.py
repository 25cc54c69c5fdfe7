"""A line of a manifest with its planted faults: its key, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import partition_text
from support.planted.planted_families import ODD_ENTRIES, ODD_LINES, Entry, Family, Plant, Says
from support.spark.large_engine import laid_out, line_of

UNKEPT_LINES = frozenset({*ODD_LINES, *(f"entry: {name}" for name in ODD_ENTRIES)})
"""Faults that replace an entry instead of changing it."""
REPEATS = ("duplicate", "conflict")
WARNINGS = frozenset({"unknown-field", "nothing-to-remove"})


@dataclass
class Line:
    """`text` is the line's content if that is not an entry. `key` is the canonical partition; None: it has none."""

    number: int
    value: Any = None
    plants: tuple[Plant, ...] = ()
    text: bytes = b""
    said: tuple[str, ...] = ()
    key: str | None = None

    @property
    def says(self) -> Iterator[tuple[Plant, Says]]:
        return ((plant, say) for plant in self.plants for say in plant.says)

    @property
    def is_null(self) -> bool:
        return isinstance(self.value, dict) and "offset" in self.value and self.value["offset"] is None

    @property
    def is_eased(self) -> bool:
        """All its faults can be acknowledged, and the current offsets may have them."""
        spoiling = [plant for plant in self.plants if plant.says]
        return bool(spoiling) and all(one.may_exist and all(say.eased for say in one.says) for one in spoiling)

    @property
    def may_exist_as_it_is(self) -> bool:
        """Only its offset is wrong, in a way that says nothing about the types of other offsets."""
        return bool(self.plants) and all(one.may_exist and one.touches[0] == "offset" for one in self.plants)


@dataclass(frozen=True)
class Plan:
    """How to make a manifest. `current`: None (not known), or the share of valid partitions with current offsets."""

    family: Family
    kind: OffsetChangeKind = OffsetChangeKind.ALTER
    acknowledged: frozenset[Acknowledgement] = frozenset()
    current: float | None = None
    names: tuple[str, ...] = ("offsets/a.jsonl",)
    styles: tuple[str, ...] = ("", "", "blanks", "turned", "escaped", "indented", "carriage return")


def is_fine(plant: Plant) -> bool:
    """No error, if unread partitions are acknowledged and the current offsets have the same types."""
    return all((say.eased and not say.current) or say.rule in WARNINGS for say in plant.says)


def kept_key(family: Family, line: Line) -> str | None:
    """The key of the line; None if the entry has no canonical form."""
    return None if any(say.unkept for _, say in line.says) else key_of(family, line)


def key_of(family: Family, line: Line) -> str:
    """The partition as Connect stores it, for an entry that has a partition."""
    partition: Entry = line.value["partition"]
    kept = {name: one for name, one in partition.items() if not family.lenient or name in family.lenient}
    return partition_text(kept)


def written(line: Line, style: str) -> bytes:
    if line.text:
        return line.text
    return _STYLES[style](line.value).encode()


_STYLES: Mapping[str, Callable[[Any], str]] = {
    "": line_of,
    "blanks": lambda value: line_of(value, (", ", ": ")),
    "turned": lambda value: laid_out(value, (",", ":"), backwards=True),
    "escaped": lambda value: line_of(value, ascii_only=True),
    "indented": lambda value: f" \t{line_of(value)} ",
    "carriage return": lambda value: f"{line_of(value)}\r",
}
