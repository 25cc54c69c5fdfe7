"""A manifest as one JSON text: the body of GET and PATCH `/connectors/NAME/offsets`, or the list alone (KIP-875)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitops_connect.desired.manifests.bodies import ENTRIES, check_fields, no_list
from gitops_connect.desired.manifests.faults import DUPLICATE_KEY, SYNTAX, Faults, Place, Unreadable, shown
from gitops_connect.desired.manifests.json_values import JsonValues, Misread
from gitops_connect.desired.manifests.lines import Lines

_BLANKS = re.compile(r"[ \t\r\n]*")


def read(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entries, each where it begins. Raises Unreadable."""
    return _Body(text, faults).entries()


class _Body:
    def __init__(self, text: str, faults: Faults) -> None:
        self._text = text
        self._faults = faults
        self._values = JsonValues()
        self._lines = Lines(text)
        self._at = 0

    def entries(self) -> Iterator[tuple[Any, Place]]:
        root = self._next()
        if not root:
            return
        if root == "[":
            yield from self._list()
        elif root == "{":
            yield from self._object()
        else:
            value, place = self._value()
            raise no_list(value, place)
        if self._next():
            raise self._misplaced("behind the end of the list or object; one entry a line is what .jsonl is for")

    def _object(self) -> Iterator[tuple[Any, Place]]:
        start = self._lines.place(self._at)
        fields: list[str] = []
        self._at += 1
        ended = self._next() == "}"
        self._at += ended
        while not ended:
            name, place = self._name()
            if name in fields:
                raise Unreadable(DUPLICATE_KEY, f"the field {shown(name)} twice in one object", place)
            fields.append(name)
            if name != ENTRIES:
                self._value()
            elif self._next() == "[":
                yield from self._list()
            else:
                raise no_list(*self._value())
            ended = self._separator("}")
        check_fields(fields, start, self._faults)

    def _name(self) -> tuple[str, Place]:
        if self._next() != '"':
            raise self._misplaced("where the name of a field begins, in double quotes")
        name, place = self._value()
        if self._next() != ":":
            raise self._misplaced("where a ':' belongs")
        self._at += 1
        return str(name), place

    def _list(self) -> Iterator[tuple[Any, Place]]:
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return
        while True:
            self._next()
            before = self._faults.count
            value, place = self._value()
            if self._faults.count == before:
                yield value, place
            if self._separator("]"):
                return

    def _value(self) -> tuple[Any, Place]:
        """The value that begins here; what is wrong in it becomes faults at its beginning."""
        self._next()
        start = self._at
        place = self._lines.place(start)
        try:
            value, self._at, doubts = self._values.read(self._text, start)
        except Misread as error:
            raise error.at(self._lines.place(error.position)) from error
        for doubt in doubts:
            self._faults.add(doubt.rule, doubt.found, place)
        return value, place

    def _separator(self, end: str) -> bool:
        """Pass over what stands behind a value; True where it was the end."""
        found = self._next()
        if found not in (",", end) or not found:
            raise self._misplaced(f"where a ',' or a {end!r} belongs")
        self._at += 1
        return found == end

    def _next(self) -> str:
        """The next character that is no blank; empty at the end."""
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._text[self._at : self._at + 1]

    def _misplaced(self, where: str) -> Unreadable:
        found = self._next()
        place = self._lines.place(self._at)
        return Unreadable(SYNTAX, f"{shown(found) if found else 'the end of the file'} {where}", place)
