"""Time as an argument, so that no test sleeps; waits between tries; and durations in the notation `1m30s`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import NewType, Protocol


class Clock(Protocol):
    """The time of day, a clock for durations, waiting, and what is repeated in the background."""

    def now(self) -> datetime:
        """The current time, in UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        """Call `work` in the background after `wait` seconds, and again each time after the seconds that it returns.

        Returns a function that ends this, and waits for a call in progress.
        """


def endless() -> float:
    """The seconds that are left for work that may take as long as it needs."""
    return math.inf


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between tries, in seconds: `first`, then twice as long after each further failure, up to `longest`."""

    first: float
    longest: float

    def after(self, failures: int) -> float:
        return min(self.first * 2.0 ** min(failures - 1, 32), self.longest)

    def __iter__(self) -> Iterator[float]:
        return map(self.after, count(1))


# Durations in the notation `30s`, `5m`, `1m30s`, `500ms`, or a number of seconds.

Duration = NewType("Duration", float)
"""Seconds."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_LONGEST = 366 * 24 * 3600
"""Seconds: a year. Sockets and timers cannot wait for centuries."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")


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
