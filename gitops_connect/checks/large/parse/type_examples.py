"""Examples of the current offsets, which show the types of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_connect.checks.current_types import CurrentTypes
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text


class TypeExamples:
    """Collects entries until each type of each field is among them."""

    def __init__(self) -> None:
        self.offsets: dict[PartitionText, OffsetText] = {}
        self._known: set[tuple[str, str, type]] = set()

    def add_all(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Keep the entries that have a new type."""
        for entry in entries:
            if not self.knows(entry):
                self._known |= _types(entry)
                self.offsets[partition_text(entry["partition"])] = offset_text(entry["offset"])

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether the entry has no new type."""
        return _types(entry) <= self._known

    @property
    def are_mixed(self) -> bool:
        """True if a field of the offsets has several types: then only an entry's own current offset counts."""
        return CurrentTypes(self.offsets).are_mixed


def _types(entry: Mapping[str, Any]) -> set[tuple[str, str, type]]:
    return {(half, name, type(value)) for half in ("partition", "offset") for name, value in entry[half].items()}
