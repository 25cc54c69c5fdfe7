"""The types that a field of a partition or an offset may have, and why a value does not have its type."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.findings import Finding, LazyWords, describe, show
from gitops_connect.model.units import Notation

LONG = 2**63 - 1
"""Java's `Long.MAX_VALUE`: Connect refuses a larger number, or stores another one."""
INT = 2**31 - 1
"""Java's `Integer.MAX_VALUE`: the number of a partition."""
LONGEST = 40
"""No position has more digits, and converting strings to numbers gets slow with their length."""
TEXT_PATTERN = r'"[^"\\\x00-\x1f]*"'
NATURAL_PATTERN, WHOLE_PATTERN = "(?:0|[1-9][0-9]{0,17})", "(?:0|-?[1-9][0-9]{0,17})"
"""All values of a type except extreme ones."""

Accepts = Callable[[Any], bool]


def whole_number(value: Any) -> int | None:
    return value if type(value) is int else None


@dataclass(frozen=True, slots=True)
class FieldKind:
    """The type of a field. `words` describe it in messages, and `accepts` decides whether a value of JSON has the type.

    `is_number`: its values are whole numbers, `is_natural`: of 0 or more; `bound` says how large they may be.
    `is_text`: its values are strings, and a number is wrong because the quotation marks are missing. `is_loose`: its
    values have more than one JSON type, and the current offsets show which one a field has. `notation` is a second way
    to write its numbers.

    `rank` is the position of a value as a number, None if it has none; `compare` replaces the comparison of two ranks:
    positive if the second value is further, 0 if both are equal, None if the order is unknown.

    `fast_pattern` is a regular expression (RE2) for the JSON text of values: whatever matches it must be valid. It may
    leave out extreme values, and matches no string with a quotation mark or a backslash inside. Without it, each entry
    of a large manifest is checked singly, which takes about ten times as long.

    All functions are pure. Spark sends them to other processes, so they are functions of a module.
    """

    words: str
    accepts: Accepts
    is_number: bool = False
    is_natural: bool = False
    is_text: bool = False
    is_loose: bool = False
    bound: str = f"at most {LONG} (64 bits), and at least {-LONG - 1}"
    notation: Notation | None = None
    rank: Callable[[Any], int | None] = whole_number
    compare: Callable[[Any, Any], int | None] | None = None
    fast_pattern: str | None = None

    @property
    def takes_notation(self) -> bool:
        """Whether a manifest may contain a string instead of the number."""
        return self.notation is not None and self.notation.read is not None

    def order(self, before: Any, after: Any) -> int | None:
        """Positive if `after` is further, negative if it is before, 0 if both are equal, None if that is unknown."""
        if self.compare is not None:
            return self.compare(before, after)
        first, second = self.rank(before), self.rank(after)
        return None if first is None or second is None else second - first

    def mismatch(self, field: str, value: Any) -> Finding:
        """The finding for a value that does not have this type."""
        if type(value) is float and not math.isfinite(value):
            return Finding("manifest/value", field, {"found": repr(value)})
        if type(value) is int and (self.is_number or self.is_loose):
            if value < 0 and self.is_natural:
                return Finding("manifest/negative", field, LazyWords(lambda: {"found": show(value)}))
            return Finding("manifest/range", field, LazyWords(lambda: {"found": show(value), "expected": self.bound}))
        words = LazyWords(lambda: {"found": describe(value), "expected": self.words, "hint": self._hint(value)})
        return Finding("manifest/type", field, words)

    def _hint(self, value: Any) -> str:
        if self.is_number and isinstance(value, str) and is_digits(value):
            return f"write {show(int(value))}, without quotes"
        if self.is_number and isinstance(value, float) and value.is_integer():
            return f"write {show(int(value))}, without a fraction"
        if self.is_text and type(value) in (int, float, bool):
            return f'write "{show(value)}", in quotes'
        return ""


def is_digits(value: str) -> bool:
    """True for a string that is a whole number of 0 or more."""
    return value.isascii() and value.isdigit() and len(value) <= LONGEST


def is_text(value: Any) -> bool:
    return type(value) is str


def is_natural(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LONG


def is_signed(value: Any) -> bool:
    return type(value) is int and -LONG - 1 <= value <= LONG


def is_plain(value: Any) -> bool:
    """True for values that Connect stores (`OffsetUtils.validateFormat`): no mapping, no list, no huge number."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return kind is str or is_signed(value) or kind is bool or value is None


def _is_small(value: Any) -> bool:
    return type(value) is int and 0 <= value <= INT


def _is_flag(value: Any) -> bool:
    return type(value) is bool


TEXT = FieldKind("a string", is_text, is_text=True, fast_pattern=TEXT_PATTERN)
NUMBER = FieldKind(
    "a whole number of 0 or more", is_natural, is_number=True, is_natural=True, fast_pattern=NATURAL_PATTERN
)
SMALL = FieldKind(
    f"a whole number from 0 to {INT}",
    _is_small,
    is_number=True,
    is_natural=True,
    bound=f"at most {INT} (32 bits)",
    fast_pattern="(?:0|[1-9][0-9]{0,8})",
)
"""Java's `int`: the number of a Kafka partition."""
SIGNED = FieldKind("a whole number", is_signed, is_number=True, fast_pattern=WHOLE_PATTERN)
FLAG = FieldKind("true or false", _is_flag, fast_pattern="(?:true|false)")
ANY = FieldKind("a string, a number, true or false, or null", is_plain, is_loose=True)
"""Any value that Connect accepts (`OffsetUtils.validateFormat`)."""
