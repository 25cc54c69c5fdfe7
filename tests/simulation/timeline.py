"""Simulated time. Each activity has a thread, and exactly one of them runs at a time: the one that is due first.

An activity gives way only while it sleeps. So the order of all events follows from their times and from the order in
which they were scheduled: the same seed gives the same history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from queue import SimpleQueue
from threading import Thread
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)


class Killed(BaseException):
    """The process of this activity was killed. No code of the product catches it as an error."""


@dataclass(eq=False)
class Life:
    """A process of its own, which can be killed: its activities end at their next sleep or effect."""

    name: str
    is_dead: bool = False

    def require(self) -> None:
        if self.is_dead:
            raise Killed(self.name)


@dataclass(eq=False)
class _Activity:
    life: Life
    turn: SimpleQueue[None] = field(default_factory=SimpleQueue)


class Timeline:
    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the start."""
        self.moved = 0.0
        """Seconds by which the time of day was set."""
        self.errors: list[BaseException] = []
        """What activities have raised, except for their end by a kill."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._idle: list[SimpleQueue[Callable[[], None] | None]] = []
        self._given_back = SimpleQueue[None]()
        self._current: _Activity | None = None

    def at(self, wait: float, life: Life, work: Callable[[], object]) -> None:
        """Begin an activity after `wait` seconds, unless its process is dead then."""

        def begin() -> None:
            if not life.is_dead:
                self._begin(_Activity(life), work)

        self._push(wait, begin)

    def sleep(self, seconds: float) -> None:
        """Let the current activity sleep, and others go on."""
        activity = self._current
        assert activity is not None, "only an activity can sleep"
        self._push(seconds, lambda: self._resume(activity))
        self._given_back.put(None)
        activity.turn.get()
        activity.life.require()

    def run(self, seconds: float) -> None:
        """Let everything happen that is due within so many seconds."""
        until = self.now + seconds
        while self._due and self._due[0][0] <= until and not self.errors:
            self.now, _, event = heapq.heappop(self._due)
            event()
        self.now = max(self.now, until)

    def close(self, lives: list[Life]) -> None:
        """Kill these processes, and end all threads."""
        for life in lives:
            life.is_dead = True
        while self._due:
            _, _, event = heapq.heappop(self._due)
            event()
        for thread in self._idle:
            thread.put(None)

    def _push(self, wait: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + max(0.0, wait), next(self._order), event))

    def _begin(self, activity: _Activity, work: Callable[[], object]) -> None:
        def run() -> None:
            try:
                work()
            except Killed:
                pass
            except BaseException as error:  # raised by whoever runs the timeline
                self.errors.append(error)

        if self._idle:
            thread = self._idle.pop()
        else:
            thread = SimpleQueue()
            Thread(target=self._work, args=(thread,), name="activity", daemon=True).start()
        before, self._current = self._current, activity
        thread.put(run)
        self._given_back.get()
        self._current = before

    def _work(self, orders: SimpleQueue[Callable[[], None] | None]) -> None:
        while (order := orders.get()) is not None:
            order()
            self._idle.append(orders)
            self._given_back.put(None)

    def _resume(self, activity: _Activity) -> None:
        before, self._current = self._current, activity
        activity.turn.put(None)
        self._given_back.get()
        self._current = before


@dataclass(frozen=True)
class SimulatedClock:
    """The `Clock` of one process."""

    timeline: Timeline
    life: Life

    def now(self) -> datetime:
        return START + timedelta(seconds=self.timeline.now + self.timeline.moved)

    def monotonic(self) -> float:
        return self.timeline.now

    def sleep(self, seconds: float) -> None:
        self.life.require()
        self.timeline.sleep(seconds)

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

    def __init__(self, threads: int) -> None:
        del threads  # there is only one

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **more))
        except Exception as error:
            future.set_exception(error)
        return future
