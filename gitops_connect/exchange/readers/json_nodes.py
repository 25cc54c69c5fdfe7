"""Composes nodes from JSON text, so that JSON is read with the place of every field, as YAML is.

The YAML parser does not read all of JSON: not the surrogate pairs of its escapes, for example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gitops_connect.documents.encoding import Refused
from gitops_connect.documents.nodes import MAX_DEPTH, MappingNode, Node, ScalarNode, SequenceNode, too_deep
from gitops_connect.exchange.readers.reading import LineStarts

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_VALUES = 150_000
"""Values of one file. A cluster may have thousands of connectors."""
_WORD = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")


def compose(text: str) -> list[Node]:
    """The roots of a JSON text: usually one, or several after each other, as in JSON Lines. Raises Refused."""
    return list(_JsonComposer(text).roots())


class _JsonComposer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines = LineStarts(text)
        self._count = 0

    def roots(self) -> Iterator[Node]:
        yield self._node(0)
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] not in "{[":
                raise self._unexpected("the end of the file")
            yield self._node(0)
            self._skip()

    def _node(self, depth: int) -> Node:
        self._skip()
        place = self._place()
        if depth > MAX_DEPTH:
            raise too_deep(place)
        self._count += 1
        if self._count > MAX_VALUES:
            raise too_many_values(place)
        if self._takes("{"):
            return MappingNode(tuple(self._pair(depth + 1) for _ in self._until("}")), None, place)
        if self._takes("["):
            return SequenceNode(tuple(self._node(depth + 1) for _ in self._until("]")), None, place)
        return self._scalar(place)

    def _scalar(self, place: tuple[int, int]) -> ScalarNode:
        if found := _STRING.match(self._text, self._at):
            self._at = found.end()
            value = str(json.loads(found.group()))
            if _SURROGATE.search(value):
                raise Refused("convert/syntax", "the string has half of a surrogate pair (\\ud800 to \\udfff)", place)
            return ScalarNode(value, plain=False, tag=None, place=place)
        if found := _WORD.match(self._text, self._at):
            self._at = found.end()
            return ScalarNode(found.group(), plain=True, tag=None, place=place)
        raise self._unexpected("a value")

    def _pair(self, depth: int) -> tuple[Node, Node]:
        self._skip()
        if not _STRING.match(self._text, self._at):
            raise self._unexpected("a key in double quotes")
        key = self._scalar(self._place())
        if not self._takes(":"):
            raise self._unexpected("a colon")
        return key, self._node(depth)

    def _until(self, bracket: str) -> Iterator[None]:
        """One step for each value up to the bracket. Takes the commas between the values, and the bracket."""
        if self._takes(bracket):
            return
        yield
        while not self._takes(bracket):
            if not self._takes(","):
                raise self._unexpected(f"a comma or {bracket}")
            yield

    def _takes(self, sign: str) -> bool:
        """Take the sign, if it is next after whitespace."""
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        if found := _BLANK.match(self._text, self._at):
            self._at = found.end()

    def _place(self) -> tuple[int, int]:
        return self._lines.place(self._at)

    def _unexpected(self, expected: str) -> Refused:
        character = self._text[self._at : self._at + 1]
        found = repr(character) if character else "the end of the file"
        found = "a letter or a digit" if character.isalnum() else found
        return Refused("convert/syntax", f"this is not JSON: expected {expected}, found {found}", self._place())


def too_many_values(place: tuple[int, int]) -> Refused:
    summary = f"the file has more than {MAX_VALUES:,} values"
    return Refused("document/too-many", summary, place, "split it into several files")
