"""The jobs of the daemon, with APScheduler: each runs at its time, in a thread of its own."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger

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

    def schedule(self, name: str, work: Callable[[], None], wait: float) -> None:
        """Run a job after `wait` seconds, once, unless `ended` is set. It replaces a waiting job of that name.

        A job that calls this holds the lock under which `ended` is set.
        """
        if self._ended.is_set():
            return
        when = datetime.now(UTC) + timedelta(seconds=wait)  # APScheduler reads the clock of the machine
        self._scheduler.add_job(self.run, DateTrigger(when, UTC), args=[name, work], id=name, replace_existing=True)

    def hurry(self, name: str) -> None:
        """Run a waiting job now. Does nothing if the job runs already."""
        with suppress(JobLookupError):
            self._scheduler.reschedule_job(name, trigger=DateTrigger(datetime.now(UTC), UTC))

    def end(self) -> None:
        """Begin no other job. The caller has set `ended`.

        APScheduler's thread fails with JobLookupError if it is shut down while it starts a job. So it gets no further
        jobs first, and `remove_all_jobs` waits for the job that is being started.
        """
        self._scheduler.pause()
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=False)

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


BUSY = 2.0
"""Seconds until a cluster that another process holds is tried again."""


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

        If waiting does not help, the wait is the longest. If another process holds the cluster, the wait is short: for
        a new leader, the leases of its predecessor expire soon.
        """
        if isinstance(error, LedgerBusy):
            return min(BUSY, self.usual())
        if isinstance(error, Stalled):
            return self._with_jitter(self.longest)
        return self._with_jitter(Backoff(self.retry, self.longest).after(failures))

    def _with_jitter(self, seconds: float) -> float:
        return seconds + random.uniform(0, self.jitter)  # noqa: S311 - to spread load, and for no secret
