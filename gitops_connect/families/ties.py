"""The values that a config fixes in partitions: an offset of another partition is stored, and never read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gitops_connect.model.findings import KNOWN, VALUE, Finding, LazyWords, show
from gitops_connect.model.sensitivity import is_reference

RULES = frozenset({"manifest/alias", "manifest/file", "manifest/server", "manifest/database", "manifest/topic"})
"""The rules of these findings: each finding is about an existing string with a wrong value, and nothing else."""

Filter = Callable[[Mapping[str, Any]], Finding | None]
"""The finding for a partition that the connector certainly does not read; None if nothing is wrong or known."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A field of the partition and its possible values. `value` is the config's value of `key`."""

    field: str
    rule: str
    key: str
    value: str
    values: frozenset[str]
    in_any_case: bool = False

    def admits(self, found: Any) -> bool:
        """True for one of the values."""
        if found in self.values:
            return True
        return self.in_any_case and isinstance(found, str) and found.lower() in map(str.lower, self.values)


@dataclass(frozen=True, slots=True)
class Tied:
    """A field of the partition that the config determines.

    `rule` is the id of the rule that a wrong value violates. `keys`: the first one that the config has counts;
    `default` is the value if the config has none of them. `is_list`: the config lists several values, and the case of
    their letters does not matter.
    """

    field: str
    rule: Literal["manifest/alias", "manifest/file", "manifest/server", "manifest/database"]
    keys: tuple[str, ...]
    default: str | None = None
    is_list: bool = False

    def expectation(self, config: Mapping[str, str]) -> Expectation | None:
        """The possible values; None if they are not known here."""
        key = next((key for key in self.keys if key in config), self.keys[0])
        value = config.get(key, self.default)
        if not value or is_reference(value):
            return None
        values = frozenset(one.strip() for one in value.split(",")) if self.is_list else frozenset((value,))
        return Expectation(self.field, self.rule, key, value, values, in_any_case=self.is_list)


@dataclass(frozen=True, slots=True)
class Ties:
    """Everything that the config fixes. With `filters`, each entry of a large manifest is checked singly."""

    expectations: tuple[Expectation | TopicFilter, ...] = ()
    filters: tuple[Filter, ...] = ()

    def hold(self, partition: Mapping[str, Any]) -> bool:
        for one in self.expectations:
            if not one.admits(partition[one.field]):
                return False
        return all(found(partition) is None for found in self.filters)

    def findings(self, partition: Mapping[str, Any]) -> Iterator[Finding]:
        """The strings in the partition that differ from those of the config."""
        for one in self.expectations:
            found = partition.get(one.field)
            if isinstance(found, str) and not one.admits(found):
                words = LazyWords(partial(_words, found, one))
                yield Finding(one.rule, f"partition.{one.field}", words, unread=True)
        yield from filter(None, (found(partition) for found in self.filters))


def _words(found: str, expected: Expectation | TopicFilter) -> Mapping[str, str]:
    shown = {"found": show(found), "key": expected.key, "expected": show(expected.value)}
    return {**shown, VALUE: found, KNOWN: "\n".join(sorted(expected.values or ()))}


# The topics that a sink or a mirror reads, if the meaning of its Java patterns is certain.

_LONGEST_TOPIC = 249
"""Kafka's own limit (`Topic.MAX_NAME_LENGTH`): a string of this length is matched quickly, even with backtracking."""
SINK_TOPIC = "kafka_topic"
_UNBOUNDED = 3
"""At most this many `*`, `+` and `{n,}` take a short time at worst; more may take without end."""

_PIECES = re.compile(
    r"""
      (?P<escape> \\ (?: [dDwWsStnrf] | [^A-Za-z0-9\s] ) )
    | (?P<set> \[ \^? (?! \] ) (?: \\ (?: [dDwWsStnrf] | [^A-Za-z0-9\s] ) | [^\]\[\\&|~-] | - (?! - ) )+ \] )
    | (?P<open> \( (?: \?: | \?= | \?! | \?<= | \?<! )? (?! \? ) )
    | (?P<close> \) )
    | (?P<count> (?: [*+?] | \{ [0-9]{1,3} (?: , [0-9]{0,3} )? \} ) \?? (?! [*+?{] ) )
    | (?P<alternative> \| )
    | (?P<plain> [^\\\[\](){}*+?|] )
    """,
    re.VERBOSE,
)
"""The common syntax of Java's and Python's regular expressions; a pattern with other parts is not translated."""


@dataclass(slots=True)
class TopicFilter:
    """The topics of one connector.

    `key` is the config key that names them, `value` its value; `values` are the topics, if it lists them. `field` is
    the field of a partition with the topic. Topics that end in `always` are read.
    """

    key: str
    value: str
    values: frozenset[str] | None = None
    _pattern: re.Pattern[str] | None = None
    field: str = SINK_TOPIC
    always: str = ""
    rule: str = "manifest/topic"
    _known: dict[str, bool] = dataclasses.field(default_factory=dict)

    def admits(self, topic: str) -> bool:
        """False only if the connector certainly does not read that topic."""
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = self._match(topic)
        return known

    def _match(self, topic: str) -> bool:
        if self.always and topic.endswith(self.always):
            return True
        if self.values is not None:
            return topic in self.values
        if self._pattern is None or len(topic) > _LONGEST_TOPIC:
            return True
        return self._pattern.fullmatch(topic) is not None


def translate(pattern: str) -> re.Pattern[str] | None:
    """Java's pattern as Python's, or None if they might differ, or if matching might never end."""
    flags = re.ASCII
    if pattern.startswith("(?i)"):
        pattern, flags = pattern[4:], flags | re.IGNORECASE
    pieces = list(_PIECES.finditer(pattern))
    if "".join(piece[0] for piece in pieces) != pattern or not _is_quick(pieces):
        return None
    try:
        return re.compile(pattern, flags)
    except re.error:
        return None


def _is_quick(pieces: list[re.Match[str]]) -> bool:
    """False for a repeated group that contains a repetition, and for too many repetitions."""
    unbounded, nested = 0, [False]
    closed = False
    for piece in pieces:
        kind = piece.lastgroup
        if kind == "open":
            nested.append(False)
        elif kind == "close" and len(nested) > 1:
            closed = nested.pop()
            nested[-1] = nested[-1] or closed
            continue
        elif kind in ("count", "alternative"):
            repeats = kind == "count" and not piece[0].startswith("?")
            if repeats and closed:
                return False
            unbounded += piece[0][0] in "*+" or ",}" in piece[0]
            nested[-1] = nested[-1] or repeats or kind == "alternative"
        closed = False
    return unbounded <= _UNBOUNDED
