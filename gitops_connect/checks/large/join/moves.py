"""The directions in which the offsets of one manifest move, as numbers; and the largest moves of each direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.violations.counts import RowPosition
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.differences import Direction
from gitops_connect.model.offsets import OffsetText

TIES: Final = 200
"""Moves at most that tie for the last place among the largest; their partitions decide which of them are shown."""
_HELD: Final = 1000
_DECADES: Final = 10 ** np.arange(19, dtype=np.int64)


class LargestMove(NamedTuple):
    """One of the largest moves. `position`: where its partition is, in the manifest or in the current offsets."""

    position: RowPosition
    current: OffsetText | None
    declared: OffsetText | None
    distance: int | None = None


@dataclass(slots=True)
class Moves:
    """The moves of some or all partitions. `distances` sums up the known distances; see `furthest` for `largest`."""

    partitions: int = 0
    counts: Counter[Direction] = field(default_factory=Counter)
    distances: Counter[Direction] = field(default_factory=Counter)
    largest: dict[Direction, list[LargestMove]] = field(default_factory=dict)
    distribution: dict[Direction, list[int]] = field(default_factory=dict)

    def add(self, direction: Direction, far: LargestMove) -> None:
        """Add one move."""
        self.add_many(direction, 1, far.distance or 0, [far])
        if far.distance:
            self.add_distribution(direction, [0] * (len(str(far.distance)) - 1) + [1])

    def add_distances(self, direction: Direction, distances: NDArray[np.int64]) -> None:
        """Add the distances of moves, all of them more than 0."""
        decades = np.searchsorted(_DECADES, distances, side="right") - 1
        self.add_distribution(direction, np.bincount(decades).tolist())

    def add_distribution(self, direction: Direction, numbers: Sequence[int]) -> None:
        """Add the numbers of distances in [1, 10), in [10, 100), and so on."""
        if numbers:
            both = zip_longest(self.distribution.get(direction, ()), numbers, fillvalue=0)
            self.distribution[direction] = [sum(pair) for pair in both]

    def add_many(self, direction: Direction, count: int, distance: int, largest: list[LargestMove]) -> None:
        """Add `count` moves of one direction, their distance in all, and the largest of them."""
        if count:
            self.counts[direction] += count
            self.distances[direction] += distance
            if direction is not Direction.SAME:
                listed = self.largest.setdefault(direction, [])
                listed += largest
                if len(listed) > _HELD:
                    listed[:] = _furthest(listed)

    def furthest(self, direction: Direction) -> list[LargestMove]:
        """The largest moves; at most `TIES` of those that tie at the end, the first by place."""
        return _furthest(self.largest.get(direction, []))

    def add_all(self, other: Moves) -> None:
        """Add the moves of another part."""
        self.partitions += other.partitions
        for direction, count in other.counts.items():
            self.add_many(direction, count, other.distances[direction], other.largest.get(direction, []))
            self.add_distribution(direction, other.distribution.get(direction, ()))

    def to_json(self) -> Any:
        """A value for `from_json`, in another process."""
        parts = [
            [
                direction.value,
                count,
                self.distances[direction],
                self.furthest(direction),
                self.distribution.get(direction, []),
            ]
            for direction, count in self.counts.items()
        ]
        return [self.partitions, parts]

    @staticmethod
    def from_json(value: Any) -> Moves:
        """Read a value of `to_json`."""
        partitions, parts = value
        moves = Moves(partitions)
        for direction, count, distance, largest, numbers in parts:
            fars = [
                LargestMove(RowPosition(*position), current, declared, far)
                for position, current, declared, far in largest
            ]
            moves.add_many(Direction(direction), count, distance, fars)
            moves.add_distribution(Direction(direction), numbers)
        return moves


def _furthest(moves: list[LargestMove]) -> list[LargestMove]:
    ordered = sorted(moves, key=lambda far: (-(far.distance or 0), far.position))
    if len(ordered) <= SHOWN:
        return ordered
    least = ordered[SHOWN - 1].distance or 0
    beyond = sum((far.distance or 0) > least for far in ordered[:SHOWN])
    ties = sum((far.distance or 0) == least for far in ordered[beyond:])
    return ordered[: beyond + min(ties, TIES)]
