"""What an operation does to each partition, as values: which way it moves, and how far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gitops_connect.model.offsets import OffsetPatch, Offsets, OffsetText, PartitionText
from gitops_connect.model.operations import Acknowledgement
from gitops_connect.model.units import Scale


class Direction(Enum):
    """Which way a partition's offset moves."""

    NEW = "new"
    SAME = "same"
    FORWARD = "skip"
    """Records are skipped."""
    REWIND = "rewind"
    """Records are reprocessed."""
    REMOVED = "removed"
    CHANGED = "changed"
    """Another value, of which cannot be told whether it is before or after: the class is not known here."""


@dataclass(frozen=True, slots=True)
class Move:
    """One partition: `current -> declared`, None where it has no offset. `distance` in the difference's unit, or None
    where it cannot be told."""

    partition: PartitionText
    current: OffsetText | None
    declared: OffsetText | None
    direction: Direction
    distance: int | None = None

    def sort_key(self) -> tuple[int, int, str]:
        """What comes again or is lost first, the largest of each before the others."""
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

    DECIDES = "resume position"
    NEEDS = "needs"
    RISK = "risk"
    EFFECT = "effect"
    AGAIN = "to read rows again"


@dataclass(frozen=True, slots=True)
class ResumeLine:
    """What a class does with an offset that moves as it does here.

    `external`: the source system also decides, which the document must acknowledge.
    """

    aspect: ResumeAspect
    message: str
    external: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """All partitions of an operation: how many move which way, by how much in all, and the moves, largest first.

    `moves` leaves out what stays the same. `scale` says what a distance counts and how it is written. `exact` is False
    where the current offsets could not be read before the connector is there. `resume` says what the class of the
    connector does with offsets that move like this.
    """

    counts: Mapping[Direction, int] = field(default_factory=dict)
    distances: Mapping[Direction, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = field(default=(), repr=False)
    scale: Scale = field(default_factory=Scale)
    exact: bool = True
    resume: tuple[ResumeLine, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        """True if every partition has the declared offset already, or no partition is concerned."""
        return self.exact and not any(count for way, count in self.counts.items() if way is not Direction.SAME)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation may not be done as things stand; `missing` is the acknowledgement that would allow it, if any
    would."""

    message: str
    missing: Acknowledgement | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """An operation held against the offsets that stand: what is to be sent, what that does, and why it may not be.

    `patch` is empty where all is as it should be. `before` is what stood when it was begun; `partial` is True where an
    earlier cycle has sent it, and that can be seen. `unchecked` is the warning for a change that the connector's class
    has not checked; empty if that means nothing for the class.
    """

    patch: OffsetPatch
    difference: Difference
    refusals: tuple[Refusal, ...] = ()
    before: Offsets = field(default_factory=dict, repr=False)
    partial: bool = False
    unchecked: str = ""
