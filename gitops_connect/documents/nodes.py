"""Composes nodes from YAML text: their text and their place, before they have a meaning.

PyYAML's own composer is not used: it recurses in C, so that 100,000 opening brackets kill the process, and its nodes
are slower to create than these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from gitops_connect.documents.encoding import Refused
from gitops_connect.model.interning import shared_text

MAX_DEPTH = 50
"""Levels of lists and mappings, with aliases resolved. A gitops-connect document has five."""
MAX_NODES = 100_000
"""Values in one document, with aliases resolved: this stops a billion-laughs attack. A real connector has hundreds."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Named tuples and not dataclasses: hundreds of thousands are created, and a frozen dataclass takes four times as long.
class ScalarNode(NamedTuple):
    """A string as written, with quotes and escapes resolved. `plain` is True if it had no quotes."""

    text: str
    plain: bool
    tag: str | None
    place: tuple[int, int]


class SequenceNode(NamedTuple):
    items: tuple[Node, ...]
    tag: str | None
    place: tuple[int, int]


class MappingNode(NamedTuple):
    """Pairs in the order of the file; keys may repeat."""

    pairs: tuple[tuple[Node, Node], ...]
    tag: str | None
    place: tuple[int, int]


Node = ScalarNode | SequenceNode | MappingNode


def compose(text: str, first_line: int) -> list[Node]:
    """The roots of the YAML documents in `text`, which begins at that line of its file. Raises Refused."""
    try:
        return list(_Composer(yaml.parse(text, Loader=_LOADER), first_line).roots())
    except yaml.YAMLError as error:
        raise explain(error, text, first_line) from error


class _Composer:
    def __init__(self, events: Iterator[Any], first_line: int) -> None:
        self._events = events
        self._first_line = first_line
        self._anchors: dict[str, Node | None] = {}
        self._count = 0

    def roots(self) -> Iterator[Node]:
        for event in self._events:
            if type(event) is yaml.DocumentStartEvent:
                self._anchors = {}
                self._count = 0
                yield self._node(next(self._events), 0)

    def _node(self, event: Any, depth: int) -> Node:
        mark = event.start_mark
        place = (mark.line + self._first_line, mark.column + 1)
        self._count += 1
        if self._count > MAX_NODES:
            raise too_many(place)
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event.anchor, place)
        if kind is yaml.ScalarEvent:
            # 10,000 documents have the same keys and mostly the same values, and Connect returns them again.
            node: Node = ScalarNode(shared_text(event.value), event.implicit[0], event.tag, place)
        else:
            node = self._collection(event, place, depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _collection(self, event: Any, place: tuple[int, int], depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise too_deep(place)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if type(event) is yaml.SequenceStartEvent:
            return SequenceNode(tuple(self._until(yaml.SequenceEndEvent, depth)), event.tag, place)
        flat = self._until(yaml.MappingEndEvent, depth)
        return MappingNode(tuple((key, next(flat)) for key in flat), event.tag, place)

    def _until(self, end: type[Any], depth: int) -> Iterator[Node]:
        for event in self._events:
            if type(event) is end:
                return
            yield self._node(event, depth)

    def _alias(self, name: str, place: tuple[int, int]) -> Node:
        if name not in self._anchors:
            hint = "put a string that begins with * in quotes"
            raise Refused("yaml/alias", "there is no anchor with the name of this alias before it", place, hint)
        node = self._anchors[name]
        if node is None:
            raise Refused("yaml/alias", "this alias is inside its own anchor", place)
        return node


def too_deep(place: tuple[int, int]) -> Refused:
    return Refused("yaml/depth", f"the document is nested deeper than {MAX_DEPTH} levels", place)


def too_many(place: tuple[int, int]) -> Refused:
    return Refused("yaml/nodes", f"with its aliases resolved, the document has more than {MAX_NODES:,} values", place)


# The value of a scalar without quotes: the core schema of YAML 1.2 (section 10.3.2), and not YAML 1.1.
#
# In 1.1, `no` is false, `12:30:00` is 45000 and `0777` is 511. Here `no` and `12:30:00` are strings and `0777` is 777.
# Config values reach Connect in their source text anyway (`Document.texts`).

Value = str | int | float | bool | None

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_WORD = 5
_INTEGER = re.compile(r"[-+]?[0-9]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
NUMBER_STARTS = frozenset("+-.0123456789")
_LONGEST_NUMBER = 200
"""Characters. JSON Schema compares integers with floats, which have at most 308 digits before the point."""


def resolve(text: str) -> Value:
    """The value of a plain scalar. Raises ValueError for a number that JSON cannot hold: infinite, NaN or too long."""
    if len(text) <= _LONGEST_WORD and text in _WORDS:
        return _WORDS[text]
    if text[0] not in NUMBER_STARTS:
        return text
    return _number(text)


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return _bounded(text, int(text) if len(text) <= _LONGEST_NUMBER else math.inf)
    if FLOAT.fullmatch(text):
        return _bounded(text, float(text))
    if _BASED.fullmatch(text):
        return _bounded(text, int(text, 0) if len(text) <= _LONGEST_NUMBER else math.inf)
    if NOT_FINITE.fullmatch(text):
        raise ValueError(text)
    return text


def _bounded(text: str, number: float) -> Value:
    if math.isinf(number):
        raise ValueError(text)
    return number


# Translates the errors of a YAML parser for readers who do not know how a scanner works.

_LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")
"""YAML 1.1, section 5.4, which is what libyaml counts."""
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)


@cache
def _explanations() -> list[dict[str, str]]:
    found: list[dict[str, str]] = yaml.safe_load(files(__package__).joinpath("syntax_errors.yaml").read_text("utf-8"))
    return found


def explain(error: yaml.YAMLError, text: str, first_line: int) -> Refused:
    """The refusal with rule `yaml/syntax` for a parser's error; the text of an unknown error is passed on unchanged."""
    if conflict := _CONFLICT.search(text):
        line = first_line + text.count("\n", 0, conflict.start())
        return Refused("yaml/syntax", "a merge conflict is not resolved", (line, 1))
    mark = _mark(error)
    if mark is None:
        return Refused("yaml/syntax", f"this is not YAML: {_one_line(str(error))}", (first_line, 1))
    problem = str(getattr(error, "problem", "") or error)
    summary, hint = _words(problem, text[mark.index : mark.index + 1])
    line, column = _place(mark, text)
    return Refused("yaml/syntax", f"this is not YAML: {summary}", (line + first_line, column + 1), hint)


def _mark(error: yaml.YAMLError) -> Any:
    """The place of the error: for a quote that is never closed, its opening and not the end of the file."""
    context, problem = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    if "quoted scalar" in str(getattr(error, "context", "")) and "unexpected" in str(getattr(error, "problem", "")):
        return context or problem
    return problem or context


def _place(mark: Any, text: str) -> tuple[int, int]:
    """The line and column of a mark, counted from 0.

    If the last line has no line end, libyaml reports the end of the text on a new line. The place is in the last line
    then.
    """
    if mark.column or mark.index < len(text) or text.endswith(_LINE_ENDS):
        return mark.line, mark.column
    return mark.line - 1, len(text) - 1 - max(text.rfind(end) for end in _LINE_ENDS)


def _words(problem: str, character: str) -> tuple[str, str]:
    if "cannot start any token" in problem:
        if character == "\t":
            return "the indentation contains a tab", "indent YAML with spaces only"
        named = repr(character) if character else "this character"
        return f"a string cannot begin with {named}", "put the string in quotes"
    found = next((one for one in _explanations() if one["parser"] in problem), {"summary": _one_line(problem)})
    return found["summary"], found.get("hint", "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
