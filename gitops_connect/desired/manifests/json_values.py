"""Reads consecutive JSON values of a text, each with its faults.

Python's own parser, in C, does the work; alone it accepts more than JSON allows, and more than Connect can store.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from gitops_connect.model.unreadable import (
    DUPLICATE_KEY,
    ENCODING,
    FORMAT,
    MAX_DEPTH,
    MAX_FIELDS,
    NUMBER,
    TOO_DEEP,
    explain,
    is_too_deep,
    shown,
)

_LONGEST_NUMBER = 400
"""Digits. Python rejects more than 4,300, and no float has more than 309 before the point."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


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
    """Reads values. Creating a reader takes as long as reading several values."""

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
            raise Misread(TOO_DEEP, start) from error
        opened = text.count("[", start, end) + text.count("{", start, end)
        if opened > MAX_DEPTH and is_too_deep(value):
            raise Misread(TOO_DEEP, start)
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
            self.doubts.append(Doubt(DUPLICATE_KEY, f"the field {shown(twice)} appears twice in one object"))
        if len(fields) > MAX_FIELDS:
            found = f"an object with {len(fields):,} fields, expected at most {MAX_FIELDS:,}"
            self.doubts.append(Doubt(FORMAT, found))
        return fields

    def _integer(self, digits: str) -> int | None:
        if len(digits) <= _LONGEST_NUMBER:
            return int(digits)
        self.doubts.append(Doubt(NUMBER, f"a number of {len(digits)} digits"))
        return None

    def _float(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.doubts.append(Doubt(NUMBER, f"the number {digits[:20]}, which is too large"))
        return number

    def _constant(self, word: str) -> None:
        self.doubts.append(Doubt(NUMBER, f"{word}, which is not a number in JSON"))

    def _refuse_surrogates(self, value: Any) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self.doubts.append(
                Doubt(ENCODING, "half of a surrogate pair (\\ud800 to \\udfff), which is not a character")
            )
