"""What the days of a simulation have met: actions, faults, holds, and pairs of features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations

from gitops_connect.model.hold import HoldKind
from simulation.faults import PRECEDED, Point

_TOGETHER = 60.0
"""Seconds. Two features meet if moments of them are not further apart."""


class Feature(Enum):
    OFFSET_CHANGE = "offset change"
    CONFIG_CHANGE = "config change"
    RESTART = "restart"
    ROLLBACK = "rollback"
    ROLLOUT = "rollout"
    SUSPEND = "suspend"
    MANUAL_PAUSE = "manual pause"
    REVIEW = "review"
    ANNOTATION = "annotation"
    PRUNE = "prune"


PAIRS = [*combinations(Feature, 2)]


@dataclass
class Coverage:
    """In how many days something was met. `+` adds other days."""

    days: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    holds: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[Feature, Feature]] = field(default_factory=Counter)

    @staticmethod
    def of(
        actions: Iterable[str], faults: Iterable[str], holds: Iterable[str], moments: Iterable[tuple[float, Feature]]
    ) -> Coverage:
        """The coverage of one day. `moments`: when a feature acted on the cluster, or people used it."""
        known = sorted(moments, key=lambda one: one[0])
        met = {
            (one, other)
            for number, (at, one) in enumerate(known)
            for later, other in known[number + 1 :]
            if later - at <= _TOGETHER
        }
        pairs = Counter({pair: 1 for pair in PAIRS if met & {pair, pair[::-1]}})
        return Coverage(1, Counter(set(actions)), Counter(set(faults)), Counter(set(holds)), pairs)

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.days + other.days,
            self.actions + other.actions,
            self.faults + other.faults,
            self.holds + other.holds,
            self.pairs + other.pairs,
        )

    def lines(self, all_actions: Iterable[str]) -> list[str]:
        """A table for people, with what was never met."""
        faults = [*dict.fromkeys(fault for point in Point for fault in point.value), PRECEDED]
        lines = [f"{self.days} days", *_table("actions", self.actions, all_actions)]
        lines += _table("faults", self.faults, faults)
        lines += _table("holds", self.holds, [one.value for one in HoldKind])
        pairs = Counter({_words(pair): count for pair, count in self.pairs.items()})
        return [*lines, *_table("pairs of features", pairs, map(_words, PAIRS))]

    def missing(self, least: int) -> list[str]:
        """The pairs of features that were met in fewer days."""
        return [f"{_words(pair)}: {self.pairs[pair]}" for pair in PAIRS if self.pairs[pair] < least]


def _words(pair: tuple[Feature, Feature]) -> str:
    return f"{pair[0].value} and {pair[1].value}"


def _table(title: str, counts: Counter[str], every: Iterable[str]) -> list[str]:
    return [f"{title}:", *(f"  {counts[name]:8,} {name}" for name in sorted(every, key=lambda one: counts[one]))]
