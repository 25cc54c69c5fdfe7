"""Numbers as the strings that Java makes of them."""

from __future__ import annotations

from decimal import Decimal

_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e7


def java_double(number: float) -> str:
    """`Double.toString`: decimal from 0.001 to 10,000,000, otherwise with an exponent."""
    if number == 0 or _LEAST_PLAIN <= abs(number) < _MOST_PLAIN:
        return repr(number)
    digits, _, exponent = f"{Decimal(repr(number)):E}".partition("E")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
