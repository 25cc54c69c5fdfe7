"""The value of a scalar without quotes: the core schema of YAML 1.2 (section 10.3.2), and not YAML 1.1.

In 1.1, `no` is false, `12:30:00` is 45000 and `0777` is 511. Here `no` and `12:30:00` are strings and `0777` is 777.
Config values reach Connect in their source text anyway (`Document.texts`).
"""

from __future__ import annotations

import math
import re

Value = str | int | float | bool | None

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_WORD = 5
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("+-.0123456789")
_LONGEST_NUMBER = 200
"""Characters. JSON Schema compares integers with floats, which have at most 308 digits before the point."""


def resolve(text: str) -> Value:
    """The value of a plain scalar. Raises ValueError for a number that JSON cannot hold: infinite, NaN or too long."""
    if len(text) <= _LONGEST_WORD and text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    return _number(text)


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return _bounded(text, int(text) if len(text) <= _LONGEST_NUMBER else math.inf)
    if _FLOAT.fullmatch(text):
        return _bounded(text, float(text))
    if _BASED.fullmatch(text):
        return _bounded(text, int(text, 0) if len(text) <= _LONGEST_NUMBER else math.inf)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(text)
    return text


def _bounded(text: str, number: float) -> Value:
    if math.isinf(number):
        raise ValueError(text)
    return number
