"""Whether a value has a field's type, and if not, which rule it violates and with which words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gitops_connect.checks.rules import Finding, LazyWords
from gitops_connect.model.positions import (
    fits_binlog,
    fits_commit_scn,
    fits_digits,
    fits_lsn,
    fits_sequence,
    fits_vgtid,
)
from gitops_connect.model.shape_fields import FieldType

LONG = 2**63 - 1
"""Java's `Long.MAX_VALUE`: Connect refuses a larger number, or stores another one."""
INT = 2**31 - 1
"""Java's `Integer.MAX_VALUE`: the number of a partition."""
NANOS = 1_000_000_000
"""Nanoseconds in a second."""
_LONGEST_SHOWN = 60

Accepts = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LONG


def _is_small(value: Any) -> bool:
    return type(value) is int and 0 <= value <= INT


def _is_signed(value: Any) -> bool:
    return type(value) is int and -LONG - 1 <= value <= LONG


def _is_zero(value: Any) -> bool:
    return type(value) is int and value == 0


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_binlog(value: Any) -> bool:
    return type(value) is str and fits_binlog(value)


def _is_lsn(value: Any) -> bool:
    return type(value) is str and fits_lsn(value)


def _is_digits(value: Any) -> bool:
    return fits_digits(value) if type(value) is str else _is_number(value)


def _is_sequence(value: Any) -> bool:
    return type(value) is str and fits_sequence(value)


def _is_commit_scn(value: Any) -> bool:
    return fits_commit_scn(value) if type(value) is str else _is_number(value)


def _is_nanos(value: Any) -> bool:
    return type(value) is int and 0 <= value < NANOS


def _is_vgtid(value: Any) -> bool:
    return type(value) is str and fits_vgtid(value)


def is_plain(value: Any) -> bool:
    """True for values that Connect stores (`OffsetUtils.validateFormat`): no mapping, no list, no huge number."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return kind is str or _is_signed(value) or kind is bool or value is None


ACCEPTS: Mapping[FieldType, Accepts] = MappingProxyType(
    {
        FieldType.TEXT: _is_text,
        FieldType.NUMBER: _is_number,
        FieldType.SMALL: _is_small,
        FieldType.SIGNED: _is_signed,
        FieldType.ZERO: _is_zero,
        FieldType.SERVER: _is_signed,
        FieldType.FLAG: _is_flag,
        FieldType.BINLOG: _is_binlog,
        FieldType.GTIDS: _is_text,
        FieldType.LSN: _is_lsn,
        FieldType.PG_LSN: _is_number,
        FieldType.MILLISECONDS: _is_signed,
        FieldType.DIGITS: _is_digits,
        FieldType.SEQUENCE: _is_sequence,
        FieldType.COMMIT_SCN: _is_commit_scn,
        FieldType.NANOS: _is_nanos,
        FieldType.VGTID: _is_vgtid,
        FieldType.TOKEN: _is_text,
        FieldType.ANY: is_plain,
    }
)
"""For each type, whether a value has it."""

LOOSE = frozenset({FieldType.ANY, FieldType.DIGITS, FieldType.COMMIT_SCN})
"""Types with more than one JSON type: the current offsets show which one a field has."""

_NUMBERS = frozenset(
    {
        FieldType.NUMBER,
        FieldType.SMALL,
        FieldType.SIGNED,
        FieldType.ZERO,
        FieldType.SERVER,
        FieldType.PG_LSN,
        FieldType.MILLISECONDS,
        FieldType.NANOS,
    }
)
_NOT_NEGATIVE = frozenset(
    {
        FieldType.NUMBER,
        FieldType.SMALL,
        FieldType.PG_LSN,
        FieldType.DIGITS,
        FieldType.COMMIT_SCN,
        FieldType.NANOS,
    }
)
_BOUNDS = {
    FieldType.NANOS: f"at most {NANOS - 1}, the nanoseconds of a second",
    FieldType.SMALL: f"at most {INT} (32 bits)",
    FieldType.ZERO: "0, the only value that the connector accepts",
}
_LONG_BOUND = f"at most {LONG} (64 bits), and at least {-LONG - 1}"


def mismatch(field: str, kind: FieldType, value: Any) -> Finding:
    """The finding for a value that does not have that type."""
    if type(value) is float and not math.isfinite(value):
        return Finding("manifest/value", field, {"found": repr(value)})
    numeric = kind in _NUMBERS or kind in LOOSE
    if type(value) is int and numeric:
        if value < 0 and kind in _NOT_NEGATIVE:
            return Finding("manifest/negative", field, LazyWords(lambda: {"found": show(value)}))
        expected = _BOUNDS.get(kind, _LONG_BOUND)
        return Finding("manifest/range", field, LazyWords(lambda: {"found": show(value), "expected": expected}))
    words = LazyWords(lambda: {"found": describe(value), "expected": kind.value, "hint": _hint(kind, value)})
    return Finding("manifest/type", field, words)


def _hint(kind: FieldType, value: Any) -> str:
    if kind in _NUMBERS and isinstance(value, str) and fits_digits(value):
        return f"write {show(int(value))}, without quotes"
    if kind in _NUMBERS and isinstance(value, float) and value.is_integer():
        return f"write {show(int(value))}, without a fraction"
    if (ACCEPTS[kind] is _is_text or kind is FieldType.SEQUENCE) and type(value) in (int, float, bool):
        return f'write "{show(value)}", in quotes'
    return ""


def show(value: Any) -> str:
    """A value in JSON, cut off if it is long; no value makes this fail."""
    if type(value) is int and value.bit_length() > _LONGEST_SHOWN * 4:
        return f"a number of {value.bit_length()} bits"
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return shorten(text)


def shorten(text: str) -> str:
    """A string, cut off if it is long."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def place_of(where: str, name: Any) -> str:
    """A field as messages name it: `partition.topic`; a long name, or a name with control characters, in JSON."""
    plain = isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST_SHOWN
    return f"{where}.{name if plain else show(name)}"


def describe(value: Any) -> str:
    """A value with its type."""
    if isinstance(value, bool) or value is None:
        return show(value)
    if isinstance(value, str):
        return f"the string {show(value)}"
    if isinstance(value, int | float):
        return f"the number {show(value)}"
    return (
        "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"a {type(value).__name__}"
    )
