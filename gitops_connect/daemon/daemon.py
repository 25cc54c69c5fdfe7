"""The loop of the daemon: which job runs when, in which thread, and how the daemon ends.

APScheduler has one job that polls the repository, one for each cluster, one for each cluster whose lag is measured, and
one that ends an idle Spark session. Each job has its own thread: a Git server, a cluster or a broker that does not
answer delays no other job. A job decides when it runs again: after the interval if all went well, after a wait that
doubles if it failed; a new revision ends every wait. Nothing else is kept between reconciliations. If a process was
killed, the next reconciliation finds what was in progress in the ledger and on the cluster.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from itertools import count
from logging import INFO, WARNING
from queue import Empty, SimpleQueue
from typing import Any

from gitops_connect import __version__
from gitops_connect.apply.step_context import StoppedConnectors
from gitops_connect.connect.client import ConnectClient
from gitops_connect.daemon import events
from gitops_connect.daemon.cluster_progress import ClusterProgress, Ended, Interrupted, full_disk
from gitops_connect.daemon.jobs import LOOK, Jobs, PollSchedule
from gitops_connect.daemon.lag_measurements import LagMeasurements
from gitops_connect.daemon.leadership import Leadership
from gitops_connect.daemon.repository_follower import RepositoryFollower
from gitops_connect.daemon.state import ClusterView, DaemonState, Reconciliations
from gitops_connect.declare import Declared
from gitops_connect.errors import FreeSpace, GitopsConnectError, UsageError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import StepOutcome
from gitops_connect.model.plans import Plan, Step
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Reviews
from gitops_connect.propose import ProposeOptions, propose
from gitops_connect.reconcile import ReconcileOptions, reconcile
from gitops_connect.runtime import Runtime, require_extras
from gitops_connect.safe_files import has_more_space
from gitops_connect.settings.sections import Settings, StateSettings
from gitops_connect.settings.settings_file import require_clusters
from gitops_connect.source.checkout import Source
from gitops_connect.tracing.spans import span

GRACE = 1.0
"""Seconds that a poll in progress has at the end. A poll that takes longer is abandoned: it has no effect to lose."""
_SIGNAL_CHECK = 1.0
"""Seconds until a signal is handled that arrived at the worst moment."""
_POLL = "poll the repository"
_GIVE_BACK = "end an idle Spark session"
_GIVE_BACK_EVERY = 30.0
_CLEAN_UP = "remove old offsets from the ledger"
_FIRST_CLEAN_UP, _CLEAN_UP_EVERY = 15 * 60.0, 24 * 3600.0


class _Over(Enum):
    """What `run` waits for: a reason to return, or to read the settings again."""

    REQUESTED = "asked to stop"
    DONE = "nothing left to do"
    RELOAD = "asked to read the settings again"


class Daemon:
    """Reconciles until it is requested to stop, or with `once` one time for each cluster."""

    def __init__(
        self,
        runtime: Runtime,
        source: Source,
        *,
        once: bool = False,
        load: Callable[[], Settings] | None = None,
        jobs: Callable[[int, threading.Event, threading.Condition], Jobs] = Jobs,
    ) -> None:
        """`load` reads the settings again. `jobs` makes what runs the jobs."""
        self._runtime = runtime
        self._load = load or (lambda: runtime.settings)
        self.schedule = PollSchedule.of(runtime.settings)
        self.state = DaemonState({cluster: ClusterView(cluster) for cluster in runtime.settings.clusters})
        self.state.set_leader(is_leader=once)
        self._repository = RepositoryFollower(source, runtime.settings)
        self._once = once
        parts = (runtime.ledger, runtime.clock, self.state, self.schedule, once)
        self._progress = {cluster: ClusterProgress(cluster, *parts) for cluster in runtime.settings.clusters}
        self._declared: Declared | None = None
        self.reconciliations = Reconciliations()
        self.reviews: Callable[[Revision], Reviews] = lambda _: NO_REVIEWS
        self.review_now: Callable[[], None] = lambda: None
        self._scheduling = threading.Lock()  # for `_declared`, which job runs when, and setting `_interrupted`
        self._work = threading.Condition()  # for `_acting` and `_jobs.running`, and setting `_interrupted`
        self._acting = StepsInProgress()
        self._interrupted = threading.Event()
        self._over: SimpleQueue[_Over] = SimpleQueue()
        lost = partial(self.state.set_leader, is_leader=False)
        self.leadership = Leadership(runtime.ledger, runtime.clock, self._reconcile_all, lost, self.state.set_ledger)
        self.stop_requested = False
        self.abandoned: Sequence[tuple[ClusterName, Step]] = ()
        """The steps that were in progress when `run` returned, because `[daemon] shutdown_timeout` was over."""
        self.stopped = StoppedConnectors()
        """The connectors that the steps in progress have stopped and not resumed yet."""
        self._lags: dict[ClusterName, LagMeasurements] = {}
        self._jobs = jobs(2 * len(self._progress) + 2, self._interrupted, self._work)

    @property
    def ended(self) -> list[Ended | None]:
        """The result of the last reconciliation of each cluster; None if there was none."""
        return [progress.last for progress in self._progress.values()]

    @property
    def declared(self) -> Declared | None:
        """What the repository declares; None before it was read."""
        return self._declared

    @property
    def repository_error(self) -> Exception | None:
        """Why the repository could not be read at the last poll; None if it could be read."""
        return self._repository.error

    @property
    def is_alive(self) -> bool:
        """Whether the thread that starts the jobs runs."""
        return self._jobs.is_alive

    @property
    def is_polling(self) -> bool:
        """Whether, after `run`, a thread still waits for a server. Only a step in `abandoned` may have an effect."""
        return self._jobs.running > 0

    def poll_now(self) -> None:
        """Poll the repository at once. A poll in progress is followed by another one."""
        self.reconcile_now(())

    def reconcile_now(self, clusters: Collection[ClusterName]) -> int:
        """Poll the repository at once, and then reconcile these clusters, even if nothing has changed.

        Returns the number of the request, for `reconciliations`. Requests during a poll are carried out by one other
        poll.
        """
        with self._scheduling:
            number = self.reconciliations.request(clusters)
            self._jobs.hurry(_POLL)
        return number

    def stop(self) -> None:
        """Begin no further step, and let `run` return. A signal handler may call it, because it takes no lock."""
        self._over.put(_Over.REQUESTED)

    def reload(self) -> None:
        """Read the settings again. A signal handler may call it, because it takes no lock."""
        self._over.put(_Over.RELOAD)

    def run(self) -> None:
        """Reconcile until requested to stop; then finish steps in progress, abandon polls in progress, and return.

        Raises LedgerBusy if the ledger allows one daemon, and there is another one.
        """
        self.begin()
        while (over := self._next_request()) is _Over.RELOAD:
            self._reload()
        self.stop_requested = over is _Over.REQUESTED
        with self._scheduling, self._work:
            self._interrupted.set()
            if self.stop_requested:
                events.say(INFO, "daemon_stopping", in_progress=sorted(self._acting.clusters))
        self._jobs.end()
        timeout = self._runtime.settings.daemon.shutdown_timeout
        with self._work:
            self._work.wait_for(lambda: not self._acting, timeout)
            self._work.wait_for(lambda: not self._jobs.running, GRACE)
            self.abandoned = self._acting.steps()
        for cluster, step in self.abandoned:
            events.abandoned(cluster, step, timeout)
        if not self.abandoned:
            self.leadership.end()
        events.say(INFO, "daemon_stopped")

    def begin(self) -> None:
        """Start the jobs, and return. Raises LedgerBusy as `run` does."""
        events.say(INFO, "daemon_started", version=__version__, clusters=list(self._progress))
        self._jobs.schedule(_POLL, self._poll, 0)
        if not self._once:  # a single run is a command, and needs only the leases of the clusters
            self.leadership.begin()
            self._jobs.schedule(_GIVE_BACK, self._give_back, _GIVE_BACK_EVERY)
            self._jobs.schedule(_CLEAN_UP, self._clean_up, _FIRST_CLEAN_UP)
            with self._scheduling:
                self._begin_measuring()
        self._jobs.start()

    def _next_request(self) -> _Over:
        """Wait for the next request of a signal or a job.

        CPython runs signal handlers between two instructions. A signal that arrives after the last check and before
        the wait has begun does not end the wait, so the wait ends by itself from time to time.
        """
        while True:
            with suppress(Empty):
                return self._over.get(timeout=_SIGNAL_CHECK)
            self._jobs.follow_clock()

    def _reload(self) -> None:
        """Use other settings in all reconciliations that begin from now on, and begin them now."""
        if (reloaded := reload_settings(self._runtime, self._load)) is None:
            return
        with self._scheduling:
            self._runtime = reloaded
            self.schedule.change(reloaded.settings)
            for name in (_POLL, *map(_job, self._progress), *map(_lag_job, self._lags)):
                self._jobs.hurry(name)
            if not self._once:
                self._begin_measuring()

    def _poll(self) -> None:
        """Poll the repository. A new revision ends the wait of every cluster, a request that of its clusters."""
        number = self.reconciliations.last
        declared = self._repository.poll(self._declared)
        self.state.set_repository(self._repository.view(declared, self._runtime.clock.now()))
        with self._scheduling:
            self.reconciliations.poll_ended(number)
            before, self._declared = self._declared, declared
            if declared and (before is None or before.revision != declared.revision):
                self._wake(self._progress, first=before is None)
            elif declared:
                self._wake(self.reconciliations.due(self._progress))
            if not self._once:
                wait = self.schedule.next(self._repository.failures)
                self._schedule(_POLL, self._poll, wait, full_disk(self._repository.error))
            elif declared is None:
                self._over.put(_Over.DONE)

    def _reconcile_all(self) -> None:
        """This daemon has become the leader. It does not wait for jobs of the time before, which change nothing."""
        self.state.set_leader(is_leader=True)
        with self._scheduling:
            if self._declared is not None:
                self._wake(self._progress, first=True)
            for cluster in self._lags:
                self._jobs.hurry(_lag_job(cluster))

    def _wake(self, clusters: Iterable[ClusterName], *, first: bool = False) -> None:
        for cluster in clusters:
            if first:
                self._jobs.schedule(_job(cluster), partial(self._take_turn, cluster), 0)
            else:
                self._jobs.hurry(_job(cluster))

    def _give_back(self) -> None:
        self._runtime.spark.give_back_if_idle(self._runtime.clock.monotonic())
        with self._scheduling:
            self._jobs.schedule(_GIVE_BACK, self._give_back, _GIVE_BACK_EVERY)

    def _clean_up(self) -> None:
        """Remove what `[state]` does not keep. A ledger that cannot be used is cleaned up the next day."""
        try:
            if self.state.snapshot.is_leader:
                clean_up(self._runtime.ledger, self._progress, self._runtime.settings.state, self._runtime.clock.now())
        except GitopsConnectError as error:
            events.say_error("clean_up_failed", error, WARNING)
        finally:
            with self._scheduling:
                self._jobs.schedule(_CLEAN_UP, self._clean_up, _CLEAN_UP_EVERY)

    def _begin_measuring(self) -> None:
        """Measure the lag of each cluster whose settings ask for it, and that is not measured yet."""
        for cluster, settings in self._runtime.settings.clusters.items():
            if settings.lag_interval and cluster not in self._lags:
                self._lags[cluster] = LagMeasurements(cluster, self.state)
                self._jobs.schedule(_lag_job(cluster), partial(self._measure_lag, cluster), settings.lag_interval)

    def _measure_lag(self, cluster: ClusterName) -> None:
        self._lags[cluster].measure(self._runtime)
        with self._scheduling:
            if interval := self._runtime.cluster(cluster).lag_interval:
                self._jobs.schedule(_lag_job(cluster), partial(self._measure_lag, cluster), interval)
            else:  # it may have measured with earlier settings
                self._lags.pop(cluster).measure(self._runtime)

    def _take_turn(self, cluster: ClusterName) -> None:
        with self._scheduling:
            declared, number = self._declared, self.reconciliations.polled
        if declared is None or self._interrupted.is_set():
            return
        began, begun = self._runtime.clock.monotonic(), list[int]()
        try:
            wait = self._cycle(cluster, declared, begun)
            if (ended := self._progress[cluster].last) is not None:
                self.reconciliations.end(cluster, number, ended, self._runtime.clock.monotonic() - began)
        finally:
            with self._work:
                for plan in begun:
                    self._acting.discard(plan)
                self._work.notify_all()
        with self._scheduling:
            if self._once:
                if all(progress.last for progress in self._progress.values()):
                    self._over.put(_Over.DONE)
            else:
                work = partial(self._take_turn, cluster)
                self._schedule(_job(cluster), work, wait, self._progress[cluster].full_disk)

    def _schedule(self, name: str, work: Callable[[], None], wait: float, full: FreeSpace | None) -> None:
        """Run a job after `wait` seconds; if a disk is full, also as soon as that has more space than then.

        A look at the free space costs less than what failed, and writes nothing.
        """

        def look() -> None:
            if wait <= LOOK or full is None or has_more_space(full):
                work()
                return
            with self._scheduling:
                self._schedule(name, work, wait - LOOK, full)

        self._jobs.schedule(name, work, wait if full is None else min(wait, LOOK), look)

    def _cycle(self, cluster: ClusterName, declared: Declared, begun: list[int]) -> float:
        """Reconcile one cluster. `begun` gets the number of the plan. Returns the seconds until the next one."""
        progress, began = self._progress[cluster], self._runtime.clock.monotonic()
        progress.begin()
        with span("reconcile", {"gitops_connect.cluster": cluster, "gitops_connect.revision": declared.revision}):
            ended = self._attempt(cluster, declared, begun)
            try:
                return progress.ended(declared, ended, self._runtime.clock.monotonic() - began)
            except Exception as error:  # a bug in what is logged or published
                events.bug(error, cluster=cluster, revision=declared.revision)
                progress.last = error
                return self.schedule.usual()

    def _attempt(self, cluster: ClusterName, declared: Declared, begun: list[int]) -> Ended:
        progress, leader = self._progress[cluster], self.leadership.lease
        is_follower = leader is None and not self._once
        self.state.set_leader(is_leader=not is_follower)
        if is_follower:
            return self._follow(cluster, declared)

        def begin(plan: Plan) -> None:
            with self._work:
                if self._interrupted.is_set():
                    raise Interrupted
                begun.append(self._acting.begin(cluster, plan))

        def listen(outcome: StepOutcome) -> None:
            self._acting.ended(begun[0], outcome)
            progress.step_ended(declared.revision, outcome)

        proposed = partial(progress.proposed, declared, records=True)
        follow = partial(events.sending, cluster, declared.revision)
        try:
            acting, reviews = (self._interrupted, follow, self.stopped, leader), self.reviews(declared.revision)
            options = ReconcileOptions(proposed, begin, listen, *acting, is_daemon=True, reviews=reviews)
            return reconcile(self._runtime, declared, cluster, options)
        except Exception as error:  # an error of a server, or a bug: the caller distinguishes them
            was_left_behind = self._interrupted.is_set() and not begun
            return Interrupted() if was_left_behind else error

    def _follow(self, cluster: ClusterName, declared: Declared) -> Ended:
        """Read the cluster for the status page, and change nothing: another daemon is the leader."""
        try:
            options = ProposeOptions(is_daemon=True, reviews=self.reviews(declared.revision))
            proposal = propose(self._runtime, declared, cluster, options)
            if not self.leadership.is_leader:  # otherwise another job shows what it does
                self._progress[cluster].proposed(declared, proposal, records=False)
        except Exception as error:  # an error of a server or the ledger, or a bug: the caller distinguishes them
            return error
        return Interrupted()


def _job(cluster: ClusterName) -> str:
    return f"reconcile {cluster}"


def _lag_job(cluster: ClusterName) -> str:
    return f"measure the lag of {cluster}"


# The steps that are in progress on each cluster: what the daemon waits for at its end, and what it leaves behind.


class StepsInProgress:
    """The plans that are being carried out, each by its number. The caller has a lock for all changes.

    A cluster may have two: a daemon that was the leader before may still wait for the end of earlier steps.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self._left: dict[int, tuple[ClusterName, dict[ConnectorName, deque[Step]]]] = {}

    def __len__(self) -> int:
        return len(self._left)

    @property
    def clusters(self) -> set[ClusterName]:
        return {cluster for cluster, _ in self._left.values()}

    def begin(self, cluster: ClusterName, plan: Plan) -> int:
        """The steps of the plan begin. Returns the number of the plan."""
        number = next(self._numbers)
        self._left[number] = (cluster, {one.name: deque(one.steps) for one in plan.connectors if one.applicable})
        return number

    def ended(self, number: int, outcome: StepOutcome) -> None:
        """A step has ended, or will not begin. The steps of one connector end in their order."""
        self._left[number][1][outcome.step.connector].popleft()

    def discard(self, number: int) -> None:
        del self._left[number]

    def steps(self) -> Sequence[tuple[ClusterName, Step]]:
        """The next step to end of each connector, sorted: once no other step begins, these are in progress."""
        left = sorted((cluster, name, number) for number, (cluster, names) in self._left.items() for name in names)
        return [(cluster, steps[0]) for cluster, name, number in left if (steps := self._left[number][1][name])]


# Settings that were read again while the daemon runs: which take effect at once, and which need a restart.

_PLACE = ("directory", "file", "chooses_ledger")
"""The fields with the place of the settings file and of the ledger. They are not settings themselves."""


def reload_settings(runtime: Runtime, load: Callable[[], Settings]) -> Runtime | None:
    """The runtime with the settings that can change now. None, with an event in the log, if they have an error.

    A reconciliation in progress continues with the runtime that it has, and with its clients. A client whose settings
    changed is replaced; it closes its connections when nothing uses it any more (urllib3).
    """
    try:
        read = load()
        require_clusters(read)
        require_extras(read)
        settings = in_effect(runtime.settings, read)
        reloaded = replace(runtime, settings=settings, clients=_clients(runtime, settings))
    except UsageError as error:
        events.say_error("settings_rejected", error)
        return None
    except Exception as error:  # a bug: the earlier settings remain in effect
        events.bug(error)
        return None
    events.say(INFO, "settings_reloaded", changed=list(differences(runtime.settings, settings)))
    if needed := list(differences(settings, read)):
        events.say(WARNING, "settings_need_restart", settings=needed)
    return reloaded


def clean_up(ledger: Ledger, clusters: Iterable[ClusterName], keep: StateSettings, now: datetime) -> None:
    """Remove old offsets and old steps of the history. Raises LedgerBusy or LedgerUnusable."""
    for cluster in clusters:
        if removed := ledger.offset_changes.remove_offsets(cluster, now - timedelta(seconds=keep.keep_offsets)):
            events.say(INFO, "old_offsets_removed", cluster=cluster, offset_changes=removed)
    if removed := ledger.status.remove_steps(now - timedelta(seconds=keep.keep_history)):
        events.say(INFO, "old_steps_removed", steps=removed)
    ledger.compact()


def in_effect(current: Settings, read: Settings) -> Settings:
    """The settings that were read, as far as they can change without a restart; else the current ones."""
    return replace(
        current,
        clusters={
            name: replace(
                read.clusters.get(name, cluster),
                strimzi=cluster.strimzi,
                require_exactly_once=cluster.require_exactly_once,
            )
            for name, cluster in current.clusters.items()
        },
        secrets=read.secrets,
        repository=replace(current.repository, interval=read.repository.interval),
        daemon=replace(read.daemon, log_format=current.daemon.log_format),
    )


def differences(one: Settings, other: Settings) -> Iterator[str]:
    """The names of the settings that differ, without their values, which may be secrets."""
    for section in fields(Settings):
        before, after = getattr(one, section.name), getattr(other, section.name)
        if section.name in _PLACE:
            continue
        if section.name != "clusters":
            yield from _fields(section.name, before, after)
            continue
        for name in sorted(before.keys() | after.keys()):
            if name in before and name in after:
                yield from _fields(f"clusters.{name}", before[name], after[name])
            else:
                yield f"[clusters.{name}]"


def _fields(section: str, one: Any, other: Any) -> Iterator[str]:
    return (f"[{section}] {each.name}" for each in fields(one) if getattr(one, each.name) != getattr(other, each.name))


def _clients(runtime: Runtime, settings: Settings) -> dict[Any, ConnectClient]:
    clients = dict(runtime.clients)
    for name, cluster in settings.clusters.items():
        if cluster != runtime.cluster(name):
            earlier, clients[name] = clients[name], ConnectClient(cluster, runtime.clock)
            clients[name].conceal(earlier.concealed)
    return clients
