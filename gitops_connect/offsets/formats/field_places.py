"""The position of a field in an entry, so that an error can point at the field instead of the whole entry.

Positions are computed when an error is reported, so that valid entries cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.connect.entry_texts import in_one_line, scan

_JSON = re.compile(r"\.json(?:\.gz|\.zst)?$")
_BLANKS = re.compile(r"[ \t\r\n]*")

Place = tuple[int, int]


class JsonPlaces:
    """Field positions for the entries of a JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []

    def locate(self, entry: Place, field: str) -> Place:
        """Line and column of a field of the entry, else of its partition or offset, else of the entry."""
        return locate_in(self.line(entry), entry, field)

    def line(self, entry: Place, value: Any = None) -> str:
        """The entry as a line of JSON, cut out of the text."""
        if not self._starts:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        start = self._starts[entry[0] - 1] + entry[1] - 1
        _, end = scan(self._text, start)
        return in_one_line(self._text[start:end])


class LinePlaces:
    """Field positions for entries of a JSON text that were rewritten as one line each."""

    def __init__(self, lines: Mapping[Place, str]) -> None:
        self._lines = lines

    def locate(self, entry: Place, field: str) -> Place:
        """Line and column of a field of the entry, else of its partition or offset, else of the entry."""
        return locate_in(self._lines[entry], entry, field)

    def line(self, entry: Place, value: Any) -> str:
        """The entry as the line of JSON to which it was rewritten."""
        return self._lines[entry]


def is_json(name: str) -> bool:
    """Whether a manifest of that name is one JSON text."""
    return _JSON.search(name) is not None


def locate_in(text: str, entry: Place, field: str) -> Place:
    """Line and column of a field of one entry, which is a line of JSON with a carriage return for each line break.

    If the field does not exist, the position is that of the partition or the offset, or else of the entry.
    """
    half, _, name = field.partition(".")
    found = _member(text, 0, half)
    if found is None:
        return entry
    inner = _member(text, found[1], name)
    at = found[0] if inner is None else inner[0]
    last = text.rfind("\r", 0, at)
    return (entry[0], entry[1] + at) if last < 0 else (entry[0] + text.count("\r", 0, at), at - last)


def _member(text: str, start: int, name: str) -> tuple[int, int] | None:
    """The positions of a member's key and value in the object that begins at `start`; None if there is no such key."""
    return next(((key, value) for found, key, value, _ in members(text, start) if found == name), None)


def members(text: str, start: int) -> Iterator[tuple[str, int, int, int]]:
    """The name of each member of the object that begins there, with the positions of key and value, and the end."""
    at = _after_blanks(text, start + 1)
    while text[start : start + 1] == "{" and text[at : at + 1] == '"':
        key, end = scan(text, at)
        value = _after_blanks(text, _after_blanks(text, end) + 1)
        _, end = scan(text, value)
        yield key, at, value, end
        at = _after_blanks(text, _after_blanks(text, end) + 1)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
