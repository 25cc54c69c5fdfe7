"""What of the offsets that stand an entry is judged by, without holding them: an example of each type, and its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_connect.model.offsets import Offsets, OffsetText, PartitionText, offset_text, partition_text


class CurrentSample(Mapping[PartitionText, OffsetText]):
    """Offsets that stand in for millions: all types that their fields have are in the `examples`.

    `own` is what stands for the partition that is judged next, once that is known.
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
    """Gathers entries until each type of each field is among them."""

    def __init__(self) -> None:
        self.offsets: dict[PartitionText, OffsetText] = {}
        self._known: set[tuple[str, str, type]] = set()

    def add_all(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Keep those that have something new."""
        for entry in entries:
            if not self.knows(entry):
                self._known |= _types(entry)
                self.offsets[partition_text(entry["partition"])] = offset_text(entry["offset"])

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether there is nothing new in it."""
        return _types(entry) <= self._known

    @property
    def are_mixed(self) -> bool:
        """True where a field of the offsets has more than one type: then an entry is judged by its own alone."""
        fields = [(where, name) for where, name, kind in self._known if where == "offset" and kind is not type(None)]
        return len(fields) > len(set(fields))


def _types(entry: Mapping[str, Any]) -> set[tuple[str, str, type]]:
    return {(half, name, type(value)) for half in ("partition", "offset") for name, value in entry[half].items()}
