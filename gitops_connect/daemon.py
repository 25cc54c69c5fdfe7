"""`gitops-connect run`: look at the repository, reconcile each cluster by itself, and go on whatever happens.

APScheduler gives each cluster a job of its own. A job looks at the repository, runs a cycle, and says when it wants to
run again: after the interval where all went well, after a wait that doubles where it did not; a new revision ends that
wait. Nothing else is kept from one cycle to the next: what was in hand when a process was killed is found by looking.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger

from gitops_connect.errors import GitopsConnectError, SourceRefused, SourceUnavailable
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.outcomes import CycleOutcome, Result, StepOutcome
from gitops_connect.reconcile import Conduct, Declared, Memory, declare, reconcile
from gitops_connect.settings.sections import DaemonSettings
from gitops_connect.source.checkout import Checkout, Source
from gitops_connect.world import World

log = logging.getLogger("gitops_connect")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait after so many failed cycles in a row. All in seconds."""

    interval: float
    settings: DaemonSettings

    def wait(self, failures: int) -> float:
        """The interval after a success; after failures a wait that doubles, up to its limit. Jitter is added."""
        if failures:
            doubled = self.settings.retry_interval * 2.0 ** min(failures - 1, 32)
            base = min(doubled, self.settings.max_retry_interval)
        else:
            base = self.interval
        return base + random.uniform(0, self.settings.jitter)  # noqa: S311 - to spread load, and for no secret


class LastGood:
    """A `Source` that falls back to the last good revision, and says so, where the repository cannot be read."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def last_good(self) -> Checkout | None:
        """As the source has it."""
        return self._source.last_good

    def fetch(self) -> Checkout:
        """The newest revision that can be had. Raises what git raised where there never was one."""
        try:
            return self._source.fetch()
        except (SourceUnavailable, SourceRefused) as error:
            last_good = self._source.last_good
            if last_good is None:
                raise
            fields = {"reason": type(error).__name__, "error": str(error), "keeping": last_good.revision}
            log.error("repository not read", extra={"fields": fields})  # noqa: TRY400 - no trace is needed
            return last_good

    def close(self) -> None:
        """Close the source."""
        self._source.close()


@dataclass(slots=True)
class Turn:
    """What one cluster's job carries from a cycle to the next: nothing but when to try again what failed."""

    failures: int = 0
    revision: Revision | None = None
    retry_at: float = 0.0

    def is_due(self, revision: Revision, now: float) -> bool:
        """After a failure, only a new revision or the end of the wait is a reason to try again."""
        return not self.failures or revision != self.revision or now >= self.retry_at


class Daemon:
    """Runs cycles until it is told to stop."""

    def __init__(self, world: World, source: Source) -> None:
        self._world = world
        self._source = LastGood(source)
        self._memory = Memory()
        self._looking = threading.Lock()
        self._turns = {cluster: Turn() for cluster in world.settings.clusters}
        self._backoff = Backoff(world.settings.repository.interval, world.settings.daemon)
        self._stopping = threading.Event()
        self._scheduler = BackgroundScheduler(timezone="UTC")

    def run(self) -> None:
        """Reconcile until `stop` is called; then finish the steps in hand and return."""
        for cluster in self._world.settings.clusters:
            self._schedule(cluster, self._world.clock.now())
        self._scheduler.start()
        log.info("started", extra={"fields": {"clusters": list(self._world.settings.clusters)}})
        self._stopping.wait()
        self._scheduler.shutdown(wait=True)
        log.info("stopped")

    def run_once(self) -> bool:
        """One cycle over each cluster. Returns whether all of them went well."""
        went_well = [self._look_and_cycle(cluster, Turn()) for cluster in self._world.settings.clusters]
        return all(went_well)

    def stop(self) -> None:
        """Begin no further step. May be called from a signal handler."""
        self._stopping.set()

    def _schedule(self, cluster: ClusterName, when: datetime) -> None:
        self._scheduler.add_job(
            self._take_turn, DateTrigger(when), args=[cluster], id=f"reconcile {cluster}", misfire_grace_time=None
        )

    def _take_turn(self, cluster: ClusterName) -> None:
        turn, clock = self._turns[cluster], self._world.clock
        self._look_and_cycle(cluster, turn)
        if not self._stopping.is_set():
            until_retry = turn.retry_at - clock.monotonic() if turn.failures else self._backoff.wait(0)
            wait = min(max(until_retry, 0.0), self._backoff.wait(0))
            self._schedule(cluster, clock.now() + timedelta(seconds=wait))

    def _look_and_cycle(self, cluster: ClusterName, turn: Turn) -> bool:
        """Every error ends in the log and in the back-off, and none ends the daemon. Returns whether all went well."""
        clock = self._world.clock
        declared = self._guarded(cluster, self._look)
        revision = declared.revision if declared else turn.revision
        if declared and not turn.is_due(declared.revision, clock.monotonic()):
            return False
        outcome = self._guarded(cluster, lambda: self._cycle(cluster, declared)) if declared else None
        went_well = outcome is not None and not outcome.failed
        turn.failures = 0 if went_well else turn.failures + 1
        turn.retry_at = clock.monotonic() + self._backoff.wait(turn.failures)
        turn.revision = revision
        return went_well

    def _look(self) -> Declared:
        """Fetch and load, one cluster at a time; what did not change is not parsed again."""
        with self._looking:
            return declare(self._source, self._world.settings.clusters, self._memory)

    def _cycle(self, cluster: ClusterName, declared: Declared) -> CycleOutcome:
        started = self._world.clock.monotonic()
        conduct = Conduct(listen=step_logger(cluster), interrupted=self._stopping)
        outcome = reconcile(self._world, declared, cluster, conduct)
        log.info("cycle ended", extra={"fields": summary(outcome, self._world.clock.monotonic() - started)})
        return outcome

    def _guarded(self, cluster: ClusterName, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except GitopsConnectError as error:
            fields = {"cluster": cluster, "reason": type(error).__name__, "error": str(error)}
            log.error("cycle failed", extra={"fields": fields})  # noqa: TRY400 - an error of the world needs no trace
        except Exception:
            log.exception("cycle failed: this is a bug", extra={"fields": {"cluster": cluster}})
        return None


def summary(outcome: CycleOutcome, seconds: float) -> dict[str, object]:
    """The fields of a cycle's log line."""
    return {
        "cluster": outcome.cluster,
        "revision": outcome.revision,
        "planned": len(outcome.plan.steps),
        **{result.value: sum(step.result is result for step in outcome.steps) for result in Result},
        "invalid_documents": len(outcome.diagnostics.errors),
        "drifted": len(outcome.plan.drifted),
        "interrupted": outcome.interrupted,
        "seconds": round(seconds, 3),
    }


def step_logger(cluster: ClusterName) -> Callable[[StepOutcome], None]:
    """One log line a step."""

    def listen(outcome: StepOutcome) -> None:
        level = logging.ERROR if outcome.result is Result.FAILED else logging.INFO
        fields = {
            "cluster": cluster,
            "connector": outcome.step.connector,
            "action": outcome.step.action.value,
            "result": outcome.result.value,
            "reason": outcome.step.reason,
            "message": outcome.message,
            "seconds": round(outcome.seconds, 3),
        }
        log.log(level, "step", extra={"fields": fields})

    return listen
