"""Composes nodes from YAML text: their text and their place, before they have a meaning.

PyYAML's own composer is not used: it recurses in C, so that 100,000 opening brackets kill the process, and its nodes
are slower to create than these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from gitops_connect.desired.refused import Refused
from gitops_connect.desired.syntax import explain

MAX_DEPTH = 50
"""Levels of lists and mappings, with aliases resolved. A gitops-connect document has five."""
MAX_NODES = 100_000
"""Values in one document, with aliases resolved: this stops a billion-laughs attack. A real connector has hundreds."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Named tuples and not dataclasses: hundreds of thousands are created, and a frozen dataclass takes four times as long.
class Scalar(NamedTuple):
    """A string as written, with quotes and escapes resolved. `plain` is True if it had no quotes."""

    text: str
    plain: bool
    tag: str | None
    place: tuple[int, int]


class Sequence(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    tag: str | None
    place: tuple[int, int]


class Mapping(NamedTuple):
    """Pairs in the order of the file; keys may repeat."""

    pairs: tuple[tuple[Node, Node], ...]
    tag: str | None
    place: tuple[int, int]


Node = Scalar | Sequence | Mapping


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
            node: Node = Scalar(event.value, event.implicit[0], event.tag, place)
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
            return Sequence(tuple(self._until(yaml.SequenceEndEvent, depth)), event.tag, place)
        flat = self._until(yaml.MappingEndEvent, depth)
        return Mapping(tuple((key, next(flat)) for key in flat), event.tag, place)

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
    """The refusal of a document with too many levels."""
    return Refused("yaml/depth", f"the document is nested deeper than {MAX_DEPTH} levels", place)


def too_many(place: tuple[int, int]) -> Refused:
    """The refusal of a document with too many values."""
    return Refused("yaml/nodes", f"with its aliases resolved, the document has more than {MAX_NODES:,} values", place)
