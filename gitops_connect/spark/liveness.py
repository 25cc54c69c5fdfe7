"""Watches a cluster while a job runs there: without its master or executors, Spark waits without end."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gitops_connect.spark.master_url import Master

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY = 1.0
_TRIES = 3
_ANSWER = 3.0
UNATTENDED = 300.0
"""Seconds. YARN and Kubernetes may have to start a machine first."""


@dataclass(slots=True)
class Liveness:
    """The watch of a cluster. `end` ends a waiting job. `lost` is the reason for a person to read."""

    master: Master
    spark: SparkSession
    end: Callable[[], None]
    lost: str | None = None
    _users: int = 0
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Watch the cluster during the block. Several threads may use this at once."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._over = threading.Event()
                threading.Thread(target=self._look, args=(self._over,), daemon=True, name="spark-watch").start()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._over.set()

    def _look(self, over: threading.Event) -> None:
        missed, attended = 0, time.monotonic()
        while not over.wait(_EVERY):
            missed = 0 if answers(self.master) else missed + 1
            if _is_attended(self.spark):
                attended = time.monotonic()
            if missed >= _TRIES:
                self.lost = f"the master {self.master.shown} no longer answers"
            elif time.monotonic() - attended > UNATTENDED:
                self.lost = (
                    f"no executor of {self.master.shown} took a task for {UNATTENDED:.0f} s: "
                    "check that it has workers with free cores and memory"
                )
            if self.lost is not None:
                self.end()
                return


def answers(master: Master) -> bool:
    """Whether an address of the master accepts connections; True if it has no known address."""
    if not master.addresses:
        return True
    for host, port in master.addresses:
        with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), port), _ANSWER):
            return True
    return False


def _is_attended(spark: SparkSession) -> bool:
    """Whether a task runs, or none has to run. A session that cannot answer fails by itself."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - nothing of Spark is imported before it is used

    try:
        tracker: Any = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    except (Py4JError, OSError):
        return True
    return not stages or any(stage is not None and stage.numActiveTasks for stage in stages)


def has_executors(spark: SparkSession) -> bool:
    """Whether there are executors other than the driver."""
    tracker: Any = spark.sparkContext.statusTracker()
    return len(tracker.getExecutorInfos()) > 1 if hasattr(tracker, "getExecutorInfos") else True
