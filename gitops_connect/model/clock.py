"""Time as an argument: code that reads the time or waits gets a clock, so that no test sleeps."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time of day, a clock for durations, and waiting."""

    def now(self) -> datetime:
        """The current time, in UTC."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
