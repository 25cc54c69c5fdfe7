"""The current offsets that the check of an entry needs: an example of each type, and the entry's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_connect.model.offsets import Offsets, OffsetText, PartitionText, offset_text, partition_text


class CurrentSample(Mapping[PartitionText, OffsetText]):
    """Offsets that represent millions of current offsets: all types of their fields are in the `examples`.

    `own` is the current offset of the partition that is checked next, if it is known.
    """

    def __init__(self, examples: Offsets) -> None:
        self._examples = dict(examples)
        self.own: tuple[PartitionText, OffsetText] | None = None

    def __getitem__(self, partition: PartitionText) -> OffsetText:
        if self.own is not None and self.own[0] == partition:
            return self.own[1]
        raise KeyError(partition)

    def __iter__(self) -> Iterator[PartitionText]:
        return iter(self._examples)

    def __len__(self) -> int:
        return len(self._examples)

    def values(self) -> Any:
        """The offsets of the examples."""
        return self._examples.values()


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
        fields = [(where, name) for where, name, kind in self._known if where == "offset" and kind is not type(None)]
        return len(fields) > len(set(fields))


def _types(entry: Mapping[str, Any]) -> set[tuple[str, str, type]]:
    return {(half, name, type(value)) for half in ("partition", "offset") for name, value in entry[half].items()}
