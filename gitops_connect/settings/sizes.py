"""Sizes of memory in the notation `2GiB`, `512MiB`, `1.5GiB`, Java's `2g`, or a number of bytes."""

from __future__ import annotations

import re
from typing import NewType

Size = NewType("Size", int)
"""Bytes."""

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LARGEST = 2**60
_WHOLE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:ib)?|(b))?", re.IGNORECASE | re.ASCII)


def parse_size(value: object) -> Size:
    """Bytes from a number or a string. Raises ValueError for anything else, and for a negative number.

    `2g` has the meaning of Java's `-Xmx2g`. `2GB` is rejected, because it can mean 2,000,000,000 bytes or 2 GiB.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return Size(value)
    found = _WHOLE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    number, letter, plain = found.groups()
    size = float(number) * _UNITS[(letter or plain or "").lower()]
    if size > _LARGEST:
        raise ValueError(value)
    return Size(round(size))
