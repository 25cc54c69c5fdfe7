"""The loop of the daemon: which job runs when, in which thread, and how the daemon ends.

APScheduler has one job that polls the repository, one for each cluster, and one that ends an idle Spark session. Each
job has its own thread: a Git server or a cluster that does not answer delays no other job. A job decides when it runs
again: after the interval if all went well, after a wait that doubles if it failed; a new revision ends every wait.
Nothing else is kept between reconciliations. If a process was killed, the next reconciliation finds what was in
progress in the ledger and on the cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from queue import SimpleQueue

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger

from gitops_connect import __version__
from gitops_connect.apply.stopped import StoppedConnectors
from gitops_connect.daemon import events
from gitops_connect.daemon.leadership import Leadership
from gitops_connect.daemon.poll_schedule import PollSchedule
from gitops_connect.daemon.repository_follower import RepositoryFollower
from gitops_connect.errors import LedgerBusy
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ReconciliationOutcome, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.plan.restarts import until_next_restart
from gitops_connect.reconcile import Declared, ReconcileOptions, reconcile
from gitops_connect.runtime import Runtime
from gitops_connect.source.checkout import Source

HEARTBEAT = 3600.0
"""Seconds. If nothing happens on a cluster, its reconciliations are logged so often."""
GRACE = 1.0
"""Seconds that a poll in progress has at the end. A poll that takes longer is abandoned: it has no effect to lose."""
_POLL = "poll the repository"
_GIVE_BACK = "end an idle Spark session"
_GIVE_BACK_EVERY = 30.0


@dataclass(slots=True)
class ClusterProgress:
    """The state of one cluster's job between reconciliations: the time to wait, and what was already logged."""

    ended: ReconciliationOutcome | Exception | None = None
    """The result of its last reconciliation."""
    revision: Revision | None = None
    failures: int = 0
    logged_at: float = float("-inf")
    diagnostics: events.NewItems = field(default_factory=events.NewItems)
    notes: events.NewItems = field(default_factory=events.NewItems)
    unhealthy: frozenset[ConnectorName] = frozenset()
    given_up: events.NewItems = field(default_factory=events.NewItems)


class _Over(Enum):
    """The reason why `run` returns."""

    REQUESTED = "asked to stop"
    DONE = "nothing left to do"


class _Stopped(Exception):
    """The reconciliation changes nothing: the daemon was requested to stop before, or another daemon is the leader."""


class Daemon:
    """Reconciles until it is requested to stop, or with `once` one time for each cluster."""

    def __init__(self, runtime: Runtime, source: Source, *, once: bool = False) -> None:
        """Raises UsageError if an interval in the settings is 0."""
        self._runtime = runtime
        self._poll_schedule = PollSchedule.of(runtime.settings)
        self._repository = RepositoryFollower(source, runtime.settings)
        self._once = once
        self._progress = {cluster: ClusterProgress() for cluster in runtime.settings.clusters}
        self._declared: Declared | None = None
        self._scheduling = threading.Lock()  # for `_declared`, which job runs when, and setting `_interrupted`
        self._work = threading.Condition()  # for `_acting` and `_running`, and setting `_interrupted`
        self._acting: set[ClusterName] = set()
        self._running = 0
        self._interrupted = threading.Event()
        self._over: SimpleQueue[_Over] = SimpleQueue()
        self.leadership = Leadership(runtime.ledger, runtime.clock, self._reconcile_all)
        self.stop_requested = False
        self.stopped = StoppedConnectors()
        """The connectors that the steps in progress have stopped and not resumed yet."""
        # Two instances: a job that is scheduled at once may begin before its executor has recorded the end of the
        # previous run.
        defaults = {"max_instances": 2, "misfire_grace_time": None, "coalesce": True}
        threads = {"default": ThreadPoolExecutor(len(self._progress) + 2)}
        self._scheduler = BackgroundScheduler(executors=threads, job_defaults=defaults, timezone=UTC)

    @property
    def ended(self) -> list[ReconciliationOutcome | Exception | None]:
        """The result of the last reconciliation of each cluster; None if there was none."""
        return [progress.ended for progress in self._progress.values()]

    @property
    def repository_error(self) -> Exception | None:
        """Why the repository could not be read at the last poll; None if it could be read."""
        return self._repository.error

    @property
    def is_polling(self) -> bool:
        """Whether, after `run`, a thread still waits for a server that does not answer. It will change nothing."""
        return self._running > 0

    def stop(self) -> None:
        """Begin no further step, and let `run` return. A signal handler may call it, because it takes no lock."""
        self._over.put(_Over.REQUESTED)

    def run(self) -> None:
        """Reconcile until requested to stop; then finish steps in progress, abandon polls in progress, and return.

        Raises LedgerBusy if the ledger allows one daemon, and there is another one.
        """
        events.started(self._progress, __version__)
        self._schedule(_POLL, self._poll, 0)
        if not self._once:  # a single run is a command, and needs only the leases of the clusters
            self.leadership.begin()
            self._schedule(_GIVE_BACK, self._give_back, _GIVE_BACK_EVERY)
        self._scheduler.start()
        self.stop_requested = self._over.get() is _Over.REQUESTED
        with self._scheduling, self._work:
            self._interrupted.set()
            if self.stop_requested:
                events.stopping(self._acting)
        self._end_scheduler()
        with self._work:
            self._work.wait_for(lambda: not self._acting)
            self._work.wait_for(lambda: not self._running, GRACE)
        self.leadership.end()
        events.stopped()

    def _end_scheduler(self) -> None:
        """Begin no other job.

        APScheduler's thread fails with JobLookupError if it is shut down while it starts a job. So it gets no further
        jobs first, and `remove_all_jobs` waits for the job that is being started.
        """
        self._scheduler.pause()
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=False)

    def _schedule(self, name: str, work: Callable[[], None], wait: float) -> None:
        """Run a job after `wait` seconds, unless `run` has begun to end. A job that calls it holds `_scheduling`."""
        if self._interrupted.is_set():
            return
        when = datetime.now(UTC) + timedelta(seconds=wait)  # APScheduler reads the clock of the machine
        self._scheduler.add_job(self._counted, DateTrigger(when, UTC), args=[work], id=name, replace_existing=True)

    def _counted(self, work: Callable[[], None]) -> None:
        """Run a job, unless `run` has begun to end: APScheduler may have queued it just before it was shut down."""
        with self._work:
            if self._interrupted.is_set():
                return
            self._running += 1
        try:
            work()
        finally:
            with self._work:
                self._running -= 1
                self._work.notify_all()

    def _poll(self) -> None:
        """Poll the repository; a new revision ends the wait of every cluster."""
        declared = self._repository.poll(self._declared)
        with self._scheduling:
            before, self._declared = self._declared, declared
            if declared and (before is None or before.revision != declared.revision):
                self._wake(first=before is None)
            if not self._once:
                self._schedule(_POLL, self._poll, self._until_next_poll())
            elif declared is None:
                self._over.put(_Over.DONE)

    def _until_next_poll(self) -> float:
        """Seconds until the next poll. After a failure it is earlier than usual, and never later."""
        usual, failures = self._poll_schedule.usual(), self._repository.failures
        return min(usual, self._poll_schedule.after(None, failures)) if failures else usual

    def _reconcile_all(self) -> None:
        with self._scheduling:
            if self._declared is not None:
                self._wake(first=True)

    def _wake(self, *, first: bool) -> None:
        now = DateTrigger(datetime.now(UTC), UTC)
        for cluster in self._progress:
            if first:
                self._schedule(_job(cluster), self._turn_of(cluster), 0)
                continue
            try:
                self._scheduler.reschedule_job(_job(cluster), trigger=now)
            except JobLookupError:  # it runs now, and will see at its end that there is another revision
                continue

    def _give_back(self) -> None:
        """End the Spark session once it is idle."""
        self._runtime.spark.give_back_if_idle(self._runtime.clock.monotonic())
        with self._scheduling:
            self._schedule(_GIVE_BACK, self._give_back, _GIVE_BACK_EVERY)

    def _turn_of(self, cluster: ClusterName) -> Callable[[], None]:
        return lambda: self._take_turn(cluster)

    def _take_turn(self, cluster: ClusterName) -> None:
        with self._scheduling:
            declared = self._declared
        if declared is None or self._interrupted.is_set():
            return
        try:
            wait = self._cycle(cluster, declared)
        finally:
            with self._work:
                self._acting.discard(cluster)
                self._work.notify_all()
        with self._scheduling:
            if self._once:
                if all(progress.ended for progress in self._progress.values()):
                    self._over.put(_Over.DONE)
            else:
                is_old = self._declared is None or self._declared.revision != declared.revision
                self._schedule(_job(cluster), self._turn_of(cluster), 0 if is_old else wait)

    def _cycle(self, cluster: ClusterName, declared: Declared) -> float:
        """Reconcile one cluster. Errors are logged and lengthen the wait, and never end the daemon. Returns seconds."""
        progress, began = self._progress[cluster], self._runtime.clock.monotonic()
        is_new, progress.revision = progress.revision != declared.revision, declared.revision
        ended = self._attempt(cluster, declared)
        now = self._runtime.clock.monotonic()
        failed = not isinstance(ended, LedgerBusy | _Stopped) and not went_well(ended)
        progress.failures = (1 if is_new else progress.failures + 1) if failed else 0
        error = ended if isinstance(ended, Exception) else None
        is_busy = isinstance(ended, LedgerBusy)
        wait = self._poll_schedule.after(error, progress.failures) if failed or is_busy else self._poll_schedule.usual()
        if isinstance(ended, ReconciliationOutcome):
            wait = min(wait, until_next_restart(ended.plan, self._runtime.clock.now()))
            _log_outcome(ended, progress, declared)
            if ended.steps or is_new or not went_well(progress.ended) or now - progress.logged_at >= HEARTBEAT:
                progress.logged_at = now
                events.cycle_ended(ended, now - began)
        elif not isinstance(ended, _Stopped) and not (is_busy and str(ended) == str(progress.ended)):
            events.cycle_broken_off(cluster, declared.revision, ended, None if self._once else wait)
        progress.ended = ended
        return wait

    def _attempt(self, cluster: ClusterName, declared: Declared) -> ReconciliationOutcome | Exception:
        leader = self.leadership.lease
        if leader is None and not self._once:
            return _Stopped()

        def begin(_plan: Plan) -> None:
            with self._work:
                if self._interrupted.is_set():
                    raise _Stopped
                self._acting.add(cluster)

        def listen(outcome: StepOutcome) -> None:
            events.step_ended(cluster, declared.revision, outcome)

        follow = partial(events.sending, cluster, declared.revision)
        try:
            options = ReconcileOptions(
                begin, listen, self._interrupted, follow, self.stopped, leader, restarts_failed=True
            )
            return reconcile(self._runtime, declared, cluster, options)
        except Exception as error:  # an error of a server, or a bug: the caller distinguishes them
            was_left_behind = self._interrupted.is_set() and cluster not in self._acting
            return _Stopped() if was_left_behind else error


def _job(cluster: ClusterName) -> str:
    return f"reconcile {cluster}"


def went_well(ended: ReconciliationOutcome | Exception | None) -> bool:
    """Whether every step took effect; an interruption is no failure."""
    return isinstance(ended, ReconciliationOutcome) and (ended.succeeded or ended.interrupted)


def _log_outcome(outcome: ReconciliationOutcome, progress: ClusterProgress, declared: Declared) -> None:
    known = set(declared.diagnostics)
    for diagnostic in progress.diagnostics.of(one for one in outcome.diagnostics if one not in known):
        events.diagnosed(diagnostic, outcome.cluster)
    for connector, message in progress.notes.of(events.notes(outcome.plan)):
        events.noted(outcome.cluster, connector, message)
    progress.unhealthy = events.health_seen(outcome.plan, progress.unhealthy)
    given_up = {one.name: one for one in outcome.plan.unhealthy if one.restarts and one.restarts.gave_up}
    for name in progress.given_up.of(given_up):
        events.given_up(outcome.cluster, given_up[name])
