"""Which open pull requests change the offsets of the same connectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field

from gitops_connect.model.names import ClusterName, ConnectorName

Changed = tuple[ClusterName, ConnectorName]
"""A connector whose offsets a pull request would change."""


@dataclass(slots=True)
class OffsetConflicts:
    """The pull requests as far as they were planned. The newest plan of each counts."""

    _changed: dict[int, Set[Changed]] = field(default_factory=dict)
    _numbers: defaultdict[Changed, set[int]] = field(default_factory=lambda: defaultdict(set))

    def record(self, number: int, changed: Mapping[ClusterName, Collection[ConnectorName]]) -> None:
        """Record what a pull request would change."""
        self.forget([number])
        found = {(cluster, name) for cluster, names in changed.items() for name in names}
        self._changed[number] = found
        for one in found:
            self._numbers[one].add(number)

    def forget(self, numbers: Collection[int]) -> None:
        """Forget pull requests that are not open any more."""
        for number in numbers:
            for one in self._changed.pop(number, ()):
                self._numbers[one].discard(number)

    def others(self, number: int) -> Mapping[int, tuple[ConnectorName, ...]]:
        """The other pull requests, by number, each with the connectors that both change."""
        common = defaultdict[int, set[ConnectorName]](set)
        for one in self._changed.get(number, ()):
            for other in self._numbers[one] - {number}:
                common[other].add(one[1])
        return {other: tuple(sorted(common[other])) for other in sorted(common)}
