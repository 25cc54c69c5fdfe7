"""The jobs of a daemon in simulated time, with the rules of `daemon/jobs.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Event

from gitops_connect.daemon.jobs import Jobs
from simulation.timeline import Life, Timeline


@dataclass(eq=False)
class _Waiting:
    first: Callable[[], None]
    work: Callable[[], None]


@dataclass(eq=False)
class SimulatedJobs(Jobs):
    """`run` of the base class contains a bug in a job; time and threads are those of the timeline."""

    timeline: Timeline
    life: Life
    ended: Event
    changed: Condition
    carry_out: Callable[[str, Callable[[], None]], None]
    """Runs a job of that name."""
    _waits: dict[str, _Waiting] = field(default_factory=dict)
    _runs: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._ended, self._changed, self.running = self.ended, self.changed, 0

    def start(self) -> None:
        """Jobs begin when they are due."""

    def schedule(
        self, name: str, work: Callable[[], None], wait: float, instead: Callable[[], None] | None = None
    ) -> None:
        is_hurried = name in self._again
        self._runs.discard(name)
        self._again.discard(name)
        waiting = self._waits[name] = _Waiting(work if is_hurried else instead or work, work)
        self.timeline.at(0 if is_hurried else wait, self.life, lambda: self._start(name, waiting))

    def hurry(self, name: str) -> None:
        if (waiting := self._waits.get(name)) is not None:
            hurried = self._waits[name] = _Waiting(waiting.work, waiting.work)
            self.timeline.at(0, self.life, lambda: self._start(name, hurried))
        elif name in self._runs:
            self._again.add(name)

    def _start(self, name: str, waiting: _Waiting) -> None:
        if self._waits.get(name) is waiting and not self.ended.is_set():
            del self._waits[name]
            self._runs.add(name)
            self.carry_out(name, partial(self.run, name, waiting.first))
