"""Durations in the notation `30s`, `5m`, `1m30s`, `500ms`, or a number of seconds."""

from __future__ import annotations

import re
from typing import NewType

Duration = NewType("Duration", float)
"""Seconds."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 366 * 24 * 3600
"""Seconds: a year. Sockets and timers cannot wait for centuries."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")


def parse_duration(value: object) -> Duration:
    """Seconds from a number or a string. Raises ValueError for anything else, and for more than a year."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    else:
        seconds = _LONGEST + 1 if isinstance(value, int) and value > _LONGEST else float(value)
    if not 0 <= seconds <= _LONGEST:
        raise ValueError(value)
    return Duration(seconds)
