"""The jobs of the daemon, with APScheduler: each runs at its time, in a thread of its own.

Times are those of the monotonic clock. APScheduler waits for a time of day, so what waits is scheduled again when the
clock of the machine was set: otherwise, each job would wait an hour longer if the clock was set back by an hour.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger

from gitops_connect.daemon import events
from gitops_connect.errors import LedgerBusy, Stalled
from gitops_connect.model.clock import Backoff
from gitops_connect.settings.sections import Settings

RETRY_AFTER = 60.0
"""Seconds after which a job that has failed with a bug runs again."""
_MOVED = 1.0
"""Seconds by which the time of day must move against the monotonic clock to count as set."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """`first` runs at the monotonic time `at`, or `work` at once if the job is hurried."""

    at: float
    first: Callable[[], None]
    work: Callable[[], None]


class Jobs:
    """No job begins once `ended` is set. `changed` is notified when a job has ended."""

    def __init__(self, threads: int, ended: threading.Event, changed: threading.Condition) -> None:
        self._ended = ended
        self._changed = changed
        self.running = 0
        """The number of jobs that run now."""
        self._plan = threading.RLock()  # for the following; taken before the locks of APScheduler
        self._waiting: dict[str, _Waiting] = {}
        self._begun: set[str] = set()
        self._hurried: set[str] = set()
        self._offset = _offset()
        # Two instances: a job that is scheduled at once may begin before its executor has recorded the end of the
        # previous run.
        defaults = {"max_instances": 2, "misfire_grace_time": None, "coalesce": True}
        pool = {"default": ThreadPoolExecutor(threads)}
        self._scheduler = BackgroundScheduler(executors=pool, job_defaults=defaults, timezone=UTC)

    @property
    def is_alive(self) -> bool:
        """Whether the thread that starts the jobs runs."""
        thread: threading.Thread | None = getattr(self._scheduler, "_thread", None)  # APScheduler has no public name
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        self._scheduler.start()

    def schedule(
        self, name: str, work: Callable[[], None], wait: float, instead: Callable[[], None] | None = None
    ) -> None:
        """Run a job after `wait` seconds, once, unless `ended` is set. It replaces a waiting job of that name.

        `instead` runs in its place if the job is not hurried. A job that calls this holds the lock under which `ended`
        is set.
        """
        with self._plan:
            if self._ended.is_set():
                return
            is_hurried = name in self._hurried
            self._begun.discard(name)
            self._hurried.discard(name)
            self._wait(name, _Waiting(time.monotonic() + wait, instead or work, work), is_hurried=is_hurried)

    def hurry(self, name: str) -> None:
        """Run a waiting job now, and a job that runs already once more at its end, without a wait."""
        with self._plan:
            if name in self._waiting:
                self._wait(name, self._waiting[name], is_hurried=True)
            elif name in self._begun:
                self._hurried.add(name)

    def _wait(self, name: str, waiting: _Waiting, *, is_hurried: bool = False) -> None:
        if is_hurried:
            waiting = _Waiting(time.monotonic(), waiting.work, waiting.work)
        self._waiting[name] = waiting
        when = datetime.now(UTC) + timedelta(seconds=max(0.0, waiting.at - time.monotonic()))
        run = DateTrigger(when, UTC)
        self._scheduler.add_job(self._begin, run, args=[name, waiting], id=name, replace_existing=True)

    def follow_clock(self) -> None:
        """Schedule what waits again if the clock of the machine was set since the last call."""
        with self._plan:
            if abs(_offset() - self._offset) > _MOVED:
                self._offset = _offset()
                for name, waiting in [*self._waiting.items()]:
                    self._wait(name, waiting)

    def end(self) -> None:
        """Begin no other job. The caller has set `ended`.

        APScheduler's thread fails with JobLookupError if it is shut down while it starts a job. So it gets no further
        jobs first, and `remove_all_jobs` waits for the job that is being started.
        """
        self._scheduler.pause()
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=False)

    def _begin(self, name: str, waiting: _Waiting) -> None:
        """Run what waited, unless it was replaced, or begins early because the clock was set forward."""
        with self._plan:
            if self._ended.is_set() or self._waiting.get(name) is not waiting:
                return
            if waiting.at - time.monotonic() > _MOVED:
                self._wait(name, waiting)
                return
            del self._waiting[name]
            self._begun.add(name)
        self.run(name, waiting.first)

    def run(self, name: str, work: Callable[[], None]) -> None:
        """Run a job in this thread, unless `ended` is set: APScheduler may have queued it just before.

        A job that fails with a bug runs again after a minute: nothing else would schedule it.
        """
        with self._changed:
            if self._ended.is_set():
                return
            self.running += 1
        try:
            work()
        except Exception as error:  # a bug: the job has to run again
            events.bug(error, job=name)
            with self._changed:
                self.schedule(name, work, RETRY_AFTER)
        finally:
            with self._changed:
                self.running -= 1
                self._changed.notify_all()


def _offset() -> float:
    """Seconds between the monotonic clock and the time of day."""
    return time.time() - time.monotonic()


BUSY = 2.0
"""Seconds until a cluster that another process holds is tried again."""
LOOK = 2.0
"""Seconds between two looks at the free space of a full disk."""


@dataclass(slots=True)
class PollSchedule:
    """How long to wait, in seconds. A random time of up to `jitter` is added to each wait."""

    interval: float
    retry: float
    longest: float
    jitter: float

    @staticmethod
    def of(settings: Settings) -> PollSchedule:
        repository, daemon = settings.repository, settings.daemon
        return PollSchedule(repository.interval, daemon.retry_interval, daemon.max_retry_interval, daemon.jitter)

    def change(self, settings: Settings) -> None:
        """Use other settings from the next wait on."""
        new = PollSchedule.of(settings)
        self.interval, self.retry, self.longest, self.jitter = new.interval, new.retry, new.longest, new.jitter

    def usual(self) -> float:
        """The wait after a success."""
        return self._with_jitter(self.interval)

    def next(self, failures: int) -> float:
        """The wait after so many failed polls in a row. It is never longer than after a success."""
        usual = self.usual()
        return min(usual, self.after(None, failures)) if failures else usual

    def after(self, error: Exception | None, failures: int) -> float:
        """The wait after so many failures in a row; `error` is the last one (None: a step failed).

        If waiting does not help, the wait is the longest: a full disk may get more space. If another process holds the
        cluster, the wait is short: for a new leader, the leases of its predecessor expire soon.
        """
        if isinstance(error, LedgerBusy):
            return min(BUSY, self.usual())
        if isinstance(error, Stalled) and error.full_disk is None:
            return self._with_jitter(self.longest)
        return self._with_jitter(Backoff(self.retry, self.longest).after(failures))

    def _with_jitter(self, seconds: float) -> float:
        return seconds + random.uniform(0, self.jitter)  # noqa: S311 - to spread load, and for no secret
