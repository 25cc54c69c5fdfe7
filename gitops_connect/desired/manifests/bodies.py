"""The two shapes that a manifest of one root has, in JSON and in YAML: `{"offsets": [...]}`, or the list alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gitops_connect.desired.manifests.faults import FORMAT, Faults, Unreadable, shown

ENTRIES = "offsets"
_EXPECTED = f'neither a list nor an object with the list "{ENTRIES}"'


def check_fields(fields: Collection[str], place: tuple[int, int], faults: Faults) -> None:
    """A body has one field. Connect refuses others, and so is this. Raises Unreadable where that one is not there."""
    others = ", ".join(shown(field) for field in list(fields)[:5] if field != ENTRIES)
    if ENTRIES not in fields:
        found = f"an object with the fields {others}" if others else "an empty object"
        raise Unreadable(FORMAT, f"{found}, and without {ENTRIES!r}; one entry a line is what .jsonl is for", place)
    if others:
        faults.add(FORMAT, f"other fields beside {ENTRIES!r}: {others}", place)


def no_list(value: Any, place: tuple[int, int]) -> Unreadable:
    """The fault of a root, or of `offsets`, that is no list."""
    return Unreadable(FORMAT, f"{_sort(value)}, {_EXPECTED}", place)


def _sort(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case _:
            return "an object"
