"""One JSON value after another out of a text, each with what is wrong in it.

Python's own parser does the work, in C; it alone lets through more than JSON does, and more than Connect can keep.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from gitops_connect.desired.manifests.faults import DUPLICATE_KEY, ENCODING, NUMBER, SYNTAX, Unreadable, shown

MAX_DEPTH = 50
"""Levels of lists and objects in one value: an entry has three."""
_LONGEST_NUMBER = 400
"""Digits. Python refuses more than 4,300, and no float has more than 309 before the point."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_WHERE = {
    "Expecting value": "where a value begins",
    "Expecting property name": "where the name of a field begins, in double quotes",
    "Expecting ':' delimiter": "where a ':' belongs",
    "Expecting ',' delimiter": "where a ',' or the end of the list or object belongs",
    "Invalid control character": "inside a text, where only an escape may stand for it",
    "Illegal trailing comma": "behind the last value",
}
_WHOLE = {
    "Unterminated string": "a text that is opened here and never closed",
    "Invalid \\escape": "a backslash that begins no escape",
    "Invalid \\uXXXX escape": "a \\u without four hexadecimal digits behind it",
}


class Doubt(NamedTuple):
    """What is wrong inside a value that can be read: the id of the rule, and what was found."""

    rule: str
    found: str


class Misread(Exception):
    """No value begins at that position of the text, or it does not end."""

    def __init__(self, found: str, position: int) -> None:
        super().__init__(found)
        self.found = found
        self.position = position

    def at(self, place: tuple[int, int]) -> Unreadable:
        """The same, as the fault of a file."""
        return Unreadable(SYNTAX, self.found, place)


class JsonValues:
    """Reads values. Making one takes as long as reading several."""

    def __init__(self) -> None:
        self._doubts: list[Doubt] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_int=self._integer,
            parse_constant=self._constant,
        )

    def read(self, text: str, start: int) -> tuple[Any, int, list[Doubt]]:
        """The value that begins there, where it ends, and what is wrong in it. Raises Misread."""
        self._doubts = []
        try:
            value, end = self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise Misread(_explain(error), error.pos) from error
        except RecursionError as error:
            raise _too_deep(start) from error
        opened = text.count("[", start, end) + text.count("{", start, end)
        if opened > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
            raise _too_deep(start)
        if _SURROGATE.search(text, start, end):
            self._refuse_surrogates(value)
        return value, end, self._doubts

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            self._doubts.append(Doubt(DUPLICATE_KEY, f"the field {shown(twice)} twice in one object"))
        return fields

    def _integer(self, digits: str) -> int | None:
        if len(digits) <= _LONGEST_NUMBER:
            return int(digits)
        self._doubts.append(Doubt(NUMBER, f"a number of {len(digits)} digits"))
        return None

    def _float(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self._doubts.append(Doubt(NUMBER, f"the number {digits[:20]}, which is too large for any reader"))
        return number

    def _constant(self, word: str) -> None:
        self._doubts.append(Doubt(NUMBER, f"{word}, which is no number in JSON"))

    def _refuse_surrogates(self, value: Any) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self._doubts.append(Doubt(ENCODING, "half of a surrogate pair (\\ud800 to \\udfff), which is no character"))


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        collections = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [inner for collection in collections for inner in collection]
    return any(isinstance(one, dict | list) for one in level)


def _too_deep(start: int) -> Misread:
    return Misread(f"a value that is nested deeper than {MAX_DEPTH} levels", start)


def _explain(error: json.JSONDecodeError) -> str:
    for known, words in _WHOLE.items():
        if error.msg.startswith(known):
            return words
    at = error.doc[error.pos : error.pos + 1]
    found = shown(at) if at else "the end"
    for known, words in _WHERE.items():
        if error.msg.startswith(known):
            return f"{found} {words}"
    return f"{found} ({error.msg})"
