"""Offset manifests as one JSON text, and as JSON Lines."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gitops_connect.connect import unreadable
from gitops_connect.connect.entry_texts import Body, EntryText, Scan, scan
from gitops_connect.connect.unreadable import Place, explain, is_too_deep, shown, stray_in
from gitops_connect.offsets.formats.content import Faults

_LONGEST_NUMBER = 400
"""Digits. Python rejects more than 4,300, and no float has more than 309 before the point."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BLANK = " \t\r\n"
_CONTENT = re.compile(r"[^ \t\r\n][^\n]*")


def _first_repeated(names: Iterable[str]) -> str:
    counted: Counter[str] = Counter()
    for name in names:
        counted[name] += 1
        if counted[name] > 1:
            return name
    raise AssertionError("no name is repeated")


class Doubt(NamedTuple):
    """A fault inside a readable value: the id of the rule, and what was found."""

    rule: str
    found: str


class Misread(Exception):
    """No value begins at that position of the text, or the value does not end."""

    def __init__(self, found: str, position: int) -> None:
        super().__init__(found)
        self.found = found
        self.position = position


class JsonValues:
    """Reads values, each with its faults. Creating a reader takes as long as reading several values.

    Python's own parser, in C, does the work; alone it accepts more than JSON allows, and more than Connect can store.
    """

    def __init__(self) -> None:
        self.doubts: list[Doubt] = []
        """The faults inside the value that was read last."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_int=self._integer,
            parse_constant=self._constant,
        )

    def read(self, text: str, start: int) -> tuple[Any, int, list[Doubt]]:
        """The value at that position, its end, and its faults. Raises Misread."""
        try:
            value, end = self.scan(text, start)
        except json.JSONDecodeError as error:
            raise Misread(explain(error), error.pos) from error
        except RecursionError as error:
            raise Misread(unreadable.TOO_DEEP, start) from error
        opened = text.count("[", start, end) + text.count("{", start, end)
        if opened > unreadable.MAX_DEPTH and is_too_deep(value):
            raise Misread(unreadable.TOO_DEEP, start)
        return value, end, self.doubts

    def scan(self, text: str, start: int) -> tuple[Any, int]:
        """The value at that position, and its end. Raises JSONDecodeError or RecursionError."""
        self.doubts = []
        value, end = self._decoder.raw_decode(text, start)
        if _SURROGATE.search(text, start, end):
            self._refuse_surrogates(value)
        return value, end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            twice = _first_repeated(name for name, _ in pairs)
            self.doubts.append(Doubt(unreadable.DUPLICATE_KEY, f"the field {shown(twice)} appears twice in one object"))
        if len(fields) > unreadable.MAX_FIELDS:
            found = f"an object with {len(fields):,} fields, expected at most {unreadable.MAX_FIELDS:,}"
            self.doubts.append(Doubt(unreadable.FORMAT, found))
        return fields

    def _integer(self, digits: str) -> int | None:
        if len(digits) <= _LONGEST_NUMBER:
            return int(digits)
        self.doubts.append(Doubt(unreadable.NUMBER, f"a number of {len(digits)} digits"))
        return None

    def _float(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.doubts.append(Doubt(unreadable.NUMBER, f"the number {digits[:20]}, which is too large"))
        return number

    def _constant(self, word: str) -> None:
        self.doubts.append(Doubt(unreadable.NUMBER, f"{word}, which is not a number in JSON"))

    def _refuse_surrogates(self, value: Any) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self.doubts.append(
                Doubt(unreadable.ENCODING, "half of a surrogate pair (\\ud800 to \\udfff), which is not a character")
            )


def read_body(texts: Iterable[str], faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entries of one JSON text, each with the place of its beginning. Raises Unreadable.

    The text is the body of GET and PATCH `/connectors/NAME/offsets`, or the list alone (KIP-875).
    """
    values = JsonValues()
    for entry, place in _body(texts, values.scan, faults):
        faults.add_doubts(values.doubts, place)
        if not values.doubts:
            yield entry.value, place


def body_lines(texts: Iterable[str], faults: Faults) -> Iterator[tuple[str, Place]]:
    """The texts of the entries, as `read_body`, each in one line: `read_lines` finds the faults inside of them."""
    for entry, place in _body(texts, scan, faults):
        yield entry.text, place


def _body(texts: Iterable[str], read: Scan, faults: Faults) -> Iterator[tuple[EntryText, Place]]:
    others = JsonValues()

    def add_doubts(text: str, place: Place) -> None:
        faults.add_doubts(others.read(text, 0)[2], place)

    for entry in Body(texts, read, add_doubts, faults.add).entries():
        place = Place(entry.line, entry.column)
        if stray := stray_in(entry.text):
            faults.add(unreadable.ENCODING, stray[1], place)
        else:
            yield entry, place


class _Lines:
    """Counts line breaks up to the last position, so that many places cost one pass."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted_to = 0
        self._line = 1
        self._line_starts = 0

    def place(self, position: int) -> Place:
        """Line and column of a position, which must not be before the previous position."""
        last = self._text.rfind("\n", self._counted_to, position)
        if last >= 0:
            self._line += self._text.count("\n", self._counted_to, position)
            self._line_starts = last + 1
        self._counted_to = position
        return Place(self._line, position - self._line_starts + 1)


def read_lines(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entry of each line that is not only whitespace. An unreadable line does not affect the others."""
    lines, values = _Lines(text), JsonValues()
    has_strays = stray_in(text) is not None
    for found in _CONTENT.finditer(text):
        content, place = found.group().rstrip(_BLANK), lines.place(found.start())
        if has_strays and (stray := stray_in(content)):
            faults.add(unreadable.ENCODING, stray[1], (place.line, place.column + stray[0]))
            continue
        try:
            value, end, doubts = values.read(content, 0)
        except Misread as error:
            faults.add(unreadable.SYNTAX, error.found, (place.line, place.column + error.position))
            continue
        rest = content[end:].lstrip(_BLANK)
        if rest:
            column = place.column + len(content) - len(rest)
            faults.add(unreadable.SYNTAX, f"{shown(rest)} after the entry", (place.line, column))
            continue
        faults.add_doubts(doubts, place)
        if not doubts:
            yield value, place
