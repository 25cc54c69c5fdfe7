"""What decides where a connector resumes after its offsets were changed: rules for each class, and for its config.

`resume_rules` has the rules of the known classes, `Shape.resume` those of one connector. This module only has data
types, and evaluates the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitops_connect.model.differences import Direction, ResumeAspect, ResumeLine

ALL = frozenset(Direction) - {Direction.SAME}
UNKNOWN_CLASS = "this class does not check offsets, and may also store its position elsewhere"
"""Said after a change of the offsets of a class about which Connect and gitops-connect know nothing more."""
_POSSIBLE: Mapping[Direction, frozenset[Direction]] = {
    Direction.CHANGED: frozenset({Direction.CHANGED, Direction.REWIND, Direction.FORWARD})
}
"""If the direction of an offset is unknown, the offset may move either way."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the config: the first of `keys` that the config has decides, by its value in lower case.

    `default` is the answer if the config has none of the keys: the behaviour of the class in that case. `negated`
    inverts the answer.
    """

    keys: tuple[tuple[str, frozenset[str]], ...]
    default: bool = False
    negated: bool = False

    def holds(self, config: Mapping[str, str]) -> bool:
        """Whether a connector with this config meets the condition."""
        answers = (config[key].strip().lower() in values for key, values in self.keys if config.get(key, "").strip())
        return next(answers, self.default) is not self.negated

    def __invert__(self) -> Condition:
        return replace(self, negated=not self.negated)


def one_of(key: str, *values: str, default: bool = False) -> Condition:
    """True if the config has one of the values at the key; `default` if the config does not have the key."""
    return Condition(((key, frozenset(values)),), default)


@dataclass(frozen=True, slots=True)
class ResumeRule:
    """One fact about offsets that move in these directions, for configs that meet all conditions in `when`.

    `external`: Connect's offset alone does not decide, so the document must acknowledge `external`.
    """

    aspect: ResumeAspect
    directions: frozenset[Direction]
    message: str
    when: tuple[Condition, ...] = ()
    external: bool = False


@dataclass(frozen=True, slots=True)
class ResumeRules:
    """The rules of one class. `decides` says in a few words what decides where the connector resumes.

    `unchecked` is the warning after a change that the class itself did not check; empty if the offset alone decides.
    """

    decides: str
    rules: tuple[ResumeRule, ...]
    unchecked: str = ""

    def of(self, config: Mapping[str, str]) -> ResumeRules:
        """The rules that apply to a connector with this config."""
        matching = (rule for rule in self.rules if all(condition.holds(config) for condition in rule.when))
        return replace(self, rules=tuple(replace(rule, when=()) for rule in matching))

    def lines(self, directions: Iterable[Direction]) -> tuple[ResumeLine, ...]:
        """The lines about a change that moves offsets in these directions, without duplicates."""
        possible = frozenset().union(*(_POSSIBLE.get(one, frozenset({one})) for one in directions))
        lines = (
            ResumeLine(rule.aspect, rule.message, rule.external) for rule in self.rules if rule.directions & possible
        )
        return tuple(sorted(dict.fromkeys(lines), key=lambda line: _ORDER[line.aspect]))


_ORDER = {aspect: number for number, aspect in enumerate(ResumeAspect)}
