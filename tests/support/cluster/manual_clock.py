"""A clock that only tests and sleeps move: a sleep returns at once, and the clock is later by that time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)


class ManualClock:
    """A `Clock`; `slept` lists every sleep in seconds. `meanwhile` is called during each."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        """Repeat nothing: the tests call what they need."""
        return lambda: None

    def sleep(self, seconds: float) -> None:
        assert seconds > 0, "a sleep of nothing is a loop that spins"
        self.slept.append(seconds)
        self.seconds += seconds
        self.meanwhile()
