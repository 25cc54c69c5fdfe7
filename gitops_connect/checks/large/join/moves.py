"""The directions in which the offsets of one manifest move, as numbers; and the largest moves of each direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.large.violations.line_numbers import RowPosition
from gitops_connect.checks.small import SHOWN
from gitops_connect.model.differences import Direction
from gitops_connect.model.offsets import OffsetText

TIES: Final = 200
"""Moves at most that tie for the last place among the largest; their partitions decide which of them are shown."""
_DECADES: Final = 10 ** np.arange(19, dtype=np.int64)


class LargestMove(NamedTuple):
    """One of the largest moves. `position`: where its partition is, in the manifest or in the current offsets."""

    position: RowPosition
    current: OffsetText | None
    declared: OffsetText | None
    distance: int | None = None


@dataclass(slots=True)
class Moves:
    """The moves of some or all partitions. `distances` sums up the known distances.

    `decades` counts distances in [1, 10) as 0, those in [10, 100) as 1, and so on. `largest` are candidates for the
    largest moves: those of many parts together still contain all that `candidates` returns for the whole.
    """

    partitions: int = 0
    counts: Counter[Direction] = field(default_factory=Counter)
    distances: Counter[Direction] = field(default_factory=Counter)
    decades: Counter[tuple[Direction, int]] = field(default_factory=Counter)
    largest: dict[Direction, list[LargestMove]] = field(default_factory=dict)

    def add(self, direction: Direction, distances: NDArray[Any], largest: Sequence[LargestMove]) -> None:
        """Add moves of one direction, with the distance of each (0 if it is unknown), and the largest of them."""
        self.counts[direction] += len(distances)
        self.distances[direction] += sum(distances.tolist())
        decades = np.bincount(_decades(distances[distances > 0]))
        self.decades.update({(direction, decade): count for decade, count in enumerate(decades.tolist()) if count})
        self._keep(direction, largest)

    def add_all(self, other: Moves) -> None:
        """Add the moves of another part."""
        self.partitions += other.partitions
        self.counts.update(other.counts)
        self.distances.update(other.distances)
        self.decades.update(other.decades)
        for direction, moves in other.largest.items():
            self._keep(direction, moves)

    def candidates(self, direction: Direction) -> list[LargestMove]:
        """The largest moves, and at most `TIES` of those that tie with the last, the first by position."""
        moves = self.largest[direction]
        least = moves[:SHOWN][-1].distance or 0
        larger = sum((move.distance or 0) > least for move in moves)
        return [move for move in moves[: larger + TIES] if (move.distance or 0) >= least]

    def distribution(self) -> dict[Direction, tuple[int, ...]]:
        """The numbers of distances in [1, 10), in [10, 100), and so on."""
        directions = {direction for direction, _ in self.decades}
        last = {one: max(decade for direction, decade in self.decades if direction is one) for one in directions}
        return {one: tuple(self.decades[one, decade] for decade in range(end + 1)) for one, end in last.items()}

    def _keep(self, direction: Direction, moves: Sequence[LargestMove]) -> None:
        both = sorted((*self.largest.get(direction, ()), *moves), key=lambda one: (-(one.distance or 0), one.position))
        if both:
            self.largest[direction] = both[: SHOWN + TIES]


def largest_of(distances: NDArray[Any], rows: NDArray[np.int64]) -> list[int]:
    """The indexes of the largest distances that `Moves` needs; of those that tie, the first by row."""
    count = SHOWN + TIES
    if len(rows) <= count:
        return list(range(len(rows)))
    least = np.partition(distances, -count)[-count]
    larger, ties = np.flatnonzero(distances > least), np.flatnonzero(distances == least)
    left = count - len(larger)
    return [*larger.tolist(), *ties[np.argpartition(rows[ties], left - 1)[:left]].tolist()]


def _decades(distances: NDArray[Any]) -> NDArray[np.int64]:
    if distances.dtype == object:  # a distance may have more than 64 bits
        return np.array([len(str(distance)) - 1 for distance in distances], np.int64)
    return np.searchsorted(_DECADES, distances, side="right") - 1
