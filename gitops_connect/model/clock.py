"""Time as an argument: what reads or waits gets one of these, so that no test sleeps."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time of day, a clock for durations, and waiting."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
