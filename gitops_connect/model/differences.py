"""What an offset change does to each partition, as values: in which direction its offset moves, and how far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.offset_changes import Acknowledgement
from gitops_connect.model.offsets import OffsetPatch, Offsets, OffsetText, PartitionText
from gitops_connect.model.units import Scale


class Direction(Enum):
    NEW = "new"
    SAME = "same"
    FORWARD = "skip"
    REWIND = "rewind"
    REMOVED = "removed"
    CHANGED = "changed"
    """Another value, and whether it is before or after the current one is unknown, as for an unknown class."""


@dataclass(frozen=True, slots=True)
class Move:
    """The move of one partition: `current -> declared`, each None if the partition has no offset there.

    `distance` is in the difference's unit, or None if the distance is unknown. `time` are the milliseconds between the
    records at both offsets, or None if that is unknown. `also` is the move in a second notation, as far as it is
    recorded.
    """

    partition: PartitionText
    current: OffsetText | None
    declared: OffsetText | None
    direction: Direction
    distance: int | None = None
    time: int | None = None
    also: str = ""

    def sort_key(self) -> tuple[int, int, str]:
        """Reprocessed or lost records first, and the largest distance first in each direction."""
        return _ORDER[self.direction], -(self.distance or 0), self.partition


_ORDER = {
    Direction.REWIND: 0,
    Direction.CHANGED: 1,
    Direction.REMOVED: 2,
    Direction.FORWARD: 3,
    Direction.NEW: 4,
    Direction.SAME: 5,
}


class ResumeAspect(Enum):
    """Which question about resuming a line answers, in the order in which lines are shown."""

    SLOT = "replication slot"
    DECIDES = "resume position"
    NEEDS = "needs"
    RISK = "risk"
    EFFECT = "effect"
    AGAIN = "to read rows again"


@dataclass(frozen=True, slots=True)
class ResumeLine:
    """What a connector class does with an offset that moves in this way.

    `external` is True if the source system also decides, which the document must acknowledge.
    """

    aspect: ResumeAspect
    message: str
    external: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """All partitions of an offset change: how many move in each direction, how far in all, and the largest moves.

    `moves` contains no partition whose offset stays the same. `scale` says what a distance counts and how it is
    written. `exact` is False if the current offsets can only be read after the connector is created. `resume` says what
    the connector's class does with offsets that move in this way. `times` and `unknown` are what the methods of these
    names find, for a recorded difference that has not kept all moves.
    """

    counts: Mapping[Direction, int] = field(default_factory=dict)
    distances: Mapping[Direction, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = field(default=(), repr=False)
    scale: Scale = field(default_factory=Scale)
    exact: bool = True
    resume: tuple[ResumeLine, ...] = ()
    times: Mapping[Direction, int] = field(default_factory=dict)
    unknown: frozenset[Direction] = frozenset()

    @property
    def changes_nothing(self) -> bool:
        """True if every partition already has the declared offset, or the offset change concerns no partition."""
        return self.exact and not any(count for way, count in self.counts.items() if way is not Direction.SAME)

    def time(self, direction: Direction) -> int:
        """The longest known time between the records at the two offsets of one partition, in milliseconds."""
        of_moves = (one.time or 0 for one in self.moves if one.direction is direction)
        return max(of_moves, default=0) or self.times.get(direction, 0)

    def is_unknown(self, direction: Direction) -> bool:
        """True if the distance of some partition is unknown, so that the sum of that direction is a lower bound."""
        of_moves = (one.distance is None for one in self.moves if one.direction is direction)
        return direction in self.unknown or any(of_moves)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an offset change is rejected. `missing`: the acknowledgement that would allow it; None if none would.

    `rule` and `hint` are those of its diagnostic, if the acknowledgement does not decide them.
    """

    message: str
    missing: Acknowledgement | None = None
    rule: str = ""
    hint: str = ""


def missing(refusals: Collection[Refusal]) -> frozenset[Acknowledgement]:
    """The acknowledgements that would allow an offset change with these refusals; empty if none would."""
    found = [one.missing for one in refusals if one.missing is not None]
    return frozenset(found) if len(found) == len(refusals) else frozenset()


@dataclass(frozen=True, slots=True)
class Review:
    """An offset change compared with the current offsets: the patch to send, its effect, and the reasons to reject it.

    `patch` is empty if every offset is as declared. `before` has the offsets at the time when the offset change began.
    `partial` is True if the current offsets differ from `before`: an earlier reconciliation has sent the offset change
    or a part. `unchecked` is the warning for a change that the connector's class has not checked; empty if that means
    nothing for the class. `resolved` are the offsets of a change with targets, which were resolved for this review.
    """

    patch: OffsetPatch
    difference: Difference
    refusals: tuple[Refusal, ...] = ()
    before: Offsets = field(default_factory=dict, repr=False)
    partial: bool = False
    unchecked: str = ""
    resolved: OffsetPatch | None = None
