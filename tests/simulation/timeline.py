"""Simulated time. Each activity is a greenlet, and exactly one of them runs at a time: the one that is due first.

An activity gives way only while it sleeps. So the order of all events follows from their times and from the order in
which they were scheduled: the same seed gives the same history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from greenlet import getcurrent, greenlet

START = datetime(2026, 1, 1, tzinfo=UTC)
_AT_ONCE = 10_000
"""Events at one time, at most: more of them are a loop without an end."""


class Killed(BaseException):
    """The process of this activity was killed. No code of the product catches it as an error."""


@dataclass(eq=False)
class Life:
    """A process of its own, which can be killed: its activities end at their next sleep or effect."""

    name: str
    is_dead: bool = False
    frozen_until: float = 0.0
    """Until then, none of its activities goes on. In seconds since the start."""
    moved: float = 0.0
    """Seconds by which the clock of its machine differs from those of other machines."""

    def require(self) -> None:
        if self.is_dead:
            raise Killed(self.name)


class Timeline:
    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the start."""
        self.moved = 0.0
        """Seconds by which the time of day was set."""
        self.errors: list[BaseException] = []
        """What activities have raised, except for their end by a kill."""
        self._due: list[tuple[float, int, Life, Callable[[], object]]] = []
        self._order = count()
        self._main = getcurrent()  # each activity gives way to it, also one that another activity has begun

    def at(self, wait: float, life: Life, work: Callable[[], object]) -> None:
        """Begin an activity after `wait` seconds, unless its process is dead then."""

        def begin() -> None:
            try:
                if not life.is_dead:
                    work()
            except Killed:
                pass
            except BaseException as error:  # raised by whoever runs the timeline
                self.errors.append(error)

        activity = greenlet(begin, self._main)
        activity.life = life
        self._push(wait, life, activity.switch)

    @property
    def life(self) -> Life | None:
        """The process of the current activity."""
        return getattr(getcurrent(), "life", None)

    def sleep(self, seconds: float, life: Life) -> None:
        """Let the current activity of that process sleep, and others go on."""
        activity = getcurrent()
        assert activity is not self._main, "only an activity can sleep"
        self._push(seconds, life, activity.switch)
        self._main.switch()
        life.require()

    def run(self, seconds: float) -> None:
        """Let everything happen that is due within so many seconds."""
        until, at_once = self.now + seconds, 0
        while self._due and self._due[0][0] <= until and not self.errors:
            at, _, life, event = heapq.heappop(self._due)
            at_once = at_once + 1 if at == self.now else 0
            assert at_once < _AT_ONCE, f"{life.name} does not wait"
            if life.frozen_until > at:  # what was about to happen in the process happens first when it wakes
                heapq.heappush(self._due, (life.frozen_until, next(self._order), life, event))
                continue
            self.now = at
            event()
        self.now = max(self.now, until)

    def close(self) -> None:
        """End all activities."""
        while self._due:
            *_, event = heapq.heappop(self._due)
            event()

    def _push(self, wait: float, life: Life, event: Callable[[], object]) -> None:
        heapq.heappush(self._due, (self.now + max(0.0, wait), next(self._order), life, event))


@dataclass(frozen=True)
class SimulatedClock:
    """The `Clock` of one process."""

    timeline: Timeline
    life: Life

    def now(self) -> datetime:
        return START + timedelta(seconds=self.timeline.now + self.timeline.moved + self.life.moved)

    def monotonic(self) -> float:
        return self.timeline.now

    def sleep(self, seconds: float) -> None:
        self.life.require()
        self.timeline.sleep(seconds, self.life)

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        is_over = False

        def again() -> None:
            if not is_over:
                self.timeline.at(work(), self.life, again)

        def end() -> None:
            nonlocal is_over
            is_over = True

        self.timeline.at(wait, self.life, again)
        return end


class AtOnce(Executor):
    """Carries out each call when it is submitted, in the thread of the caller."""

    def __init__(self, threads: int = 1) -> None:
        del threads  # there is only one

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **more))
        except Exception as error:
            future.set_exception(error)
        return future
