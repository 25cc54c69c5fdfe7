"""What decides where a connector resumes after its offsets were changed: rules for each class, and for its config.

`ConnectorClass.resume` has the rules of a class, `Shape.resume` those that apply to one connector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitops_connect.model.differences import Direction, ResumeAspect, ResumeLine

UNKNOWN_CLASS = "this class does not check offsets, and may also store its position elsewhere"
"""Said after a change of the offsets of a class about which Connect and gitops-connect know nothing more."""
_POSSIBLE: Mapping[Direction, frozenset[Direction]] = {
    Direction.CHANGED: frozenset({Direction.CHANGED, Direction.REWIND, Direction.FORWARD})
}
"""If the direction of an offset is unknown, the offset may move either way."""


@dataclass(frozen=True, slots=True)
class ResumeCondition:
    """A condition on the config: the first of `keys` that the config has decides, by its value in lower case.

    `default` is the answer if the config has none of the keys: the behaviour of the class in that case. `negated`
    inverts the answer.
    """

    keys: tuple[tuple[str, frozenset[str]], ...]
    default: bool = False
    negated: bool = False

    def holds(self, config: Mapping[str, str]) -> bool:
        answers = (config[key].strip().lower() in values for key, values in self.keys if config.get(key, "").strip())
        return next(answers, self.default) is not self.negated

    def __invert__(self) -> ResumeCondition:
        return replace(self, negated=not self.negated)


def one_of(key: str, *values: str, default: bool = False) -> ResumeCondition:
    """True if the config has one of the values at the key; `default` if the config does not have the key."""
    return ResumeCondition(((key, frozenset(values)),), default)


@dataclass(frozen=True, slots=True)
class ResumeRule:
    """One fact about offsets that move in these directions, for configs that meet all conditions in `when`.

    `external`: Connect's offset alone does not decide, so the document must acknowledge `external`. `of_snapshot`: only
    if the current or the declared offset is of an unfinished snapshot. `without_log`: only if the brokers were not
    asked which records exist: offsets without a record are errors otherwise.
    """

    aspect: ResumeAspect
    directions: frozenset[Direction]
    message: str
    when: tuple[ResumeCondition, ...] = ()
    external: bool = False
    of_snapshot: bool = False
    without_log: bool = False


@dataclass(frozen=True, slots=True)
class ResumeMoves:
    """Directions in which offsets move; the methods are rules about such changes, by what they say."""

    directions: frozenset[Direction]

    def __or__(self, other: ResumeMoves) -> ResumeMoves:
        return ResumeMoves(self.directions | other.directions)

    def decides(self, message: str, *, when: tuple[ResumeCondition, ...] = (), external: bool = False) -> ResumeRule:
        """What decides besides the offset."""
        return ResumeRule(ResumeAspect.DECIDES, self.directions, message, when, external)

    def needs(self, message: str, *, when: tuple[ResumeCondition, ...] = ()) -> ResumeRule:
        """What the source system must still have."""
        return ResumeRule(ResumeAspect.NEEDS, self.directions, message, when)

    def risk(self, message: str, *, when: tuple[ResumeCondition, ...] = ()) -> ResumeRule:
        """What can go wrong."""
        return ResumeRule(ResumeAspect.RISK, self.directions, message, when)

    def effect(self, message: str, *, when: tuple[ResumeCondition, ...] = ()) -> ResumeRule:
        """What the connector does."""
        return ResumeRule(ResumeAspect.EFFECT, self.directions, message, when)

    def again(self, message: str, *, when: tuple[ResumeCondition, ...] = ()) -> ResumeRule:
        """How to read rows again if the earlier offset alone is not enough."""
        return ResumeRule(ResumeAspect.AGAIN, self.directions, message, when)


NEW, REWIND, FORWARD, REMOVED = (
    ResumeMoves(frozenset({one})) for one in (Direction.NEW, Direction.REWIND, Direction.FORWARD, Direction.REMOVED)
)
ALL = ResumeMoves(frozenset(Direction) - {Direction.SAME})


@dataclass(frozen=True, slots=True)
class ResumeRules:
    """The rules of one class. `decides` says in a few words what decides where the connector resumes.

    `unchecked` is the warning after a change that the class itself did not check; empty if the offset alone decides.
    """

    decides: str
    rules: tuple[ResumeRule, ...]
    unchecked: str = ""

    def of(self, config: Mapping[str, str]) -> ResumeRules:
        matching = (rule for rule in self.rules if all(condition.holds(config) for condition in rule.when))
        return replace(self, rules=tuple(replace(rule, when=()) for rule in matching))

    def lines(
        self, directions: Iterable[Direction], *, of_snapshot: bool = False, has_log: bool = False
    ) -> tuple[ResumeLine, ...]:
        """The lines about a change that moves offsets in these directions, without duplicates.

        `of_snapshot`: one of the offsets is of an unfinished snapshot. `has_log`: all of them have a record.
        """
        possible = frozenset().union(*(_POSSIBLE.get(one, frozenset({one})) for one in directions))
        lines = (
            ResumeLine(rule.aspect, rule.message, rule.external)
            for rule in self.rules
            if rule.directions & possible
            and (of_snapshot or not rule.of_snapshot)
            and not (has_log and rule.without_log)
        )
        return tuple(sorted(dict.fromkeys(lines), key=lambda line: _ORDER[line.aspect]))


_ORDER = {aspect: number for number, aspect in enumerate(ResumeAspect)}
