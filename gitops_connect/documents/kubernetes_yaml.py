"""The values of a Kubernetes resource as `kubectl` reads them: `sigs.k8s.io/yaml`, which is go-yaml v2 and then JSON.

go-yaml v2 has the booleans and octal numbers of YAML 1.1 (`y`, `off`, `017`), but neither its dates nor its numbers to
base 60: `2026-01-01` and `10:30` are strings. Numbers then become JSON numbers, so that `1.0` is 1.
`tests/strimzi/test_kubernetes_yaml.py` has a table of values that Go printed.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from gitops_connect.documents.fields import ScalarRules
from gitops_connect.documents.nodes import FLOAT, NOT_FINITE, NUMBER_STARTS, Value

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|(0[oO]?[0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LONGEST_NUMBER = 400
"""Characters. A longer number is refused: Go reads it as a string or as a float, which nobody means."""
_LEAST, _MOST = -(2**63), 2**64 - 1
"""What Go reads as an integer: an `int64` or a `uint64`."""
_JSON_EXPONENT = 1e21
"""From this number on, Go writes a float with an exponent. A smaller one without a fraction becomes an integer."""


def resolve(text: str) -> Value:
    """The value of a plain scalar. Raises ValueError for a number that JSON cannot hold: infinite, NaN or too long."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in NUMBER_STARTS:
        return text
    if NOT_FINITE.fullmatch(text) or len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    return _number(text, _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", ""))


def _number(text: str, plain: str) -> Value:
    integer = _integer(plain)
    if integer is not None:
        return integer
    if not FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    return text if math.isinf(number) else _as_json(number)


def _integer(plain: str) -> int | None:
    """The integer of 64 bits, or None. Other numbers are floats, or strings if they are not decimal."""
    found = _INTEGER.fullmatch(plain)
    if found is None:
        return None
    number = next(int(digits.lower().removeprefix("0o"), base) for digits, base in _digits(found) if digits)
    number = -number if plain[0] == "-" else number
    return number if _LEAST <= number <= _MOST else None


def _digits(found: re.Match[str]) -> zip[tuple[str | None, int]]:
    return zip(found.groups(), _BASES, strict=True)


def _as_json(number: float) -> int | float:
    """A float as Go's JSON has it: `1e6` is 1000000. The digits are the shortest ones that mean this float."""
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < _JSON_EXPONENT else number


def _key(value: Value) -> str | None:
    """Keys that are booleans or integers become strings: the key `on` is `true`."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case _:
            return None


KUBERNETES = ScalarRules(resolve, _key, last_merge_wins=True)
"""How `kubectl` reads a resource."""
