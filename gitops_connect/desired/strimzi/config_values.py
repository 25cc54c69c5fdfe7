"""The values of a connector's config as strings, as Strimzi's operator sends them.

Source: `OrderedProperties.addIterablePairs` of Strimzi, which uses Java's `String.valueOf`.
"""

from __future__ import annotations

from decimal import Decimal

_LEAST, _MOST = -(2**63), 2**63 - 1
_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e7
"""Java writes other doubles with an exponent (`Double.toString`)."""


def as_text(value: object) -> str:
    """The string for a JSON value. Raises ValueError, with the reason, for a value that Strimzi rejects."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() if _LEAST <= value <= _MOST:
            return str(value)
        case int():
            raise ValueError("an integer of more than 64 bits")
        case float():
            return _double(value)
        case None:
            raise ValueError("empty")
        case list():
            raise ValueError("a list")
        case _:
            raise ValueError("a mapping")


def _double(value: float) -> str:
    if _LEAST_PLAIN <= abs(value) < _MOST_PLAIN:
        return f"{Decimal(repr(value)):f}"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:])).rstrip("0")
    return f"{'-' if sign else ''}{first}.{rest or 0}E{int(exponent) + len(digits) - 1}"
