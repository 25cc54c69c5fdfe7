"""The topics that a sink or a mirror reads, if the meaning of its Java patterns is certain."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

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
