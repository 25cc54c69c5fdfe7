"""The jobs of the daemon: each runs at its time, in a thread of its own.

Times are those of the monotonic clock. APScheduler reads the time of day: if somebody sets the clock back by an hour,
each of its jobs waits an hour longer.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gitops_connect.daemon import events
from gitops_connect.errors import LedgerBusy, Stalled
from gitops_connect.model.clock import Backoff
from gitops_connect.settings.sections import Settings

RETRY_AFTER = 60.0
"""Seconds after which a job that has failed with a bug runs again."""


class Jobs:
    """No job begins once `ended` is set. `changed` is notified when a job has ended."""

    def __init__(self, threads: int, ended: threading.Event, changed: threading.Condition) -> None:
        self._ended = ended
        self._changed = changed
        self.running = 0
        """The number of jobs that run now."""
        self._plan = threading.Condition()  # for `_waiting`, `_begun` and `_hurried`; no other lock is taken under it
        self._waiting: dict[str, tuple[float, Callable[[], None], Callable[[], None]]] = {}
        self._begun: set[str] = set()
        self._hurried: set[str] = set()
        self._pool = ThreadPoolExecutor(threads, "job")
        self._thread = threading.Thread(target=self._begin_due, name="jobs", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether the thread that starts the jobs runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

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
            self._begun.discard(name)
            is_hurried = name in self._hurried
            self._hurried.discard(name)
            self._waiting[name] = (time.monotonic() + wait, instead or work, work)
            if is_hurried:
                self._hurry(name)
            self._plan.notify()

    def hurry(self, name: str) -> None:
        """Run a waiting job now, and a job that runs already once more at its end, without a wait."""
        with self._plan:
            if name in self._waiting:
                self._hurry(name)
                self._plan.notify()
            elif name in self._begun:
                self._hurried.add(name)

    def _hurry(self, name: str) -> None:
        *_, work = self._waiting[name]
        self._waiting[name] = (time.monotonic(), work, work)

    def end(self) -> None:
        """Begin no other job. The caller has set `ended`."""
        with self._plan:
            self._waiting.clear()
            self._plan.notify()
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin_due(self) -> None:
        with self._plan:
            while not self._ended.is_set():
                now = time.monotonic()
                for name in [name for name, (at, *_) in self._waiting.items() if at <= now]:
                    self._begun.add(name)
                    self._pool.submit(self.run, name, self._waiting.pop(name)[1])
                self._plan.wait(min((at - now for at, *_ in self._waiting.values()), default=None))

    def run(self, name: str, work: Callable[[], None]) -> None:
        """Run a job in this thread, unless `ended` is set: it may have been queued just before.

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
