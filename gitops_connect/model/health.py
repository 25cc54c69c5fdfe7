"""Whether a connector works: which of its parts have failed or do not run, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import groupby

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.restart_records import RestartOutlook


class HealthReason(Enum):
    """Why a connector has its health: the `reason` of its condition `Healthy`."""

    RUNNING = "Running"
    FAILED = "Failed"
    NO_TASKS = "NoTasks"
    NOT_RUNNING = "NotRunning"
    """A part was UNASSIGNED, or on a worker that does not answer, for too long."""
    OFFSETS_NOT_MOVING = "OffsetsNotMoving"
    PROGRESSING = "Progressing"
    PAUSED = "Paused"
    STOPPED = "Stopped"
    MISSING = "Missing"
    NOT_READ = "NotRead"


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A failure whose exceptions say what is wrong (`cause`), what to do (`advice`), and whether a restart can help."""

    cause: str
    advice: str
    restart_helps: bool


@dataclass(frozen=True, slots=True)
class FailedPart:
    """A FAILED part: the number of its `task`, None for the connector, and what its stack trace says.

    `reason` is the `summary` of the trace, after the cause if the failure is a `known` one. `trace` is its begin.
    """

    task: int | None
    reason: str
    known: KnownFailure | None = None
    trace: str = field(default="", repr=False, compare=False)

    @property
    def part(self) -> str:
        return "the connector" if self.task is None else f"task {self.task}"


@dataclass(frozen=True, slots=True)
class UnhealthyConnector:
    """A connector that does not work: at least one of the problems below.

    `failures` are its FAILED parts. `no_tasks` is the likely reason if it is RUNNING without tasks. `not_running` are
    the `idle_parts`, if they have lasted for too long. `not_moving` says for how long its offsets, or those of some
    partitions, have not moved, if its document limits that. `since` is when the last two began. `restarts` is set for
    a declared connector that should run.
    """

    name: ConnectorName
    failures: tuple[FailedPart, ...] = ()
    no_tasks: str = ""
    restarts: RestartOutlook | None = None
    not_running: tuple[str, ...] = ()
    not_moving: str = ""
    since: datetime | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each reason, with all the tasks that failed for it, as in `tasks 0-7 are FAILED: …`."""
        no_tasks = (f"it is RUNNING and has no tasks: {self.no_tasks}",) if self.no_tasks else ()
        still = (self.not_moving,) if self.not_moving else ()
        return (*_fold(self.failures), *no_tasks, *self.not_running, *still)

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do about each failure that is known."""
        return tuple(dict.fromkeys(one.known.advice for one in self.failures if one.known is not None))

    @property
    def reason(self) -> HealthReason:
        if self.failures:
            return HealthReason.FAILED
        if self.no_tasks:
            return HealthReason.NO_TASKS
        return HealthReason.NOT_RUNNING if self.not_running else HealthReason.OFFSETS_NOT_MOVING


@dataclass(frozen=True, slots=True)
class OffsetProgress:
    """How the offsets of a running connector move, if its document limits how long they may be the same.

    `moved` is when they last moved or were first seen. `slowest` is the same for the partition that has not moved for
    the longest time, of those that have moved; None if none has. `distance` is how far all have moved forward, in
    `unit`, which is empty if distances are unknown. `note` is about partitions that do not make the connector degraded.
    """

    moved: datetime
    slowest: datetime | None
    distance: float
    unit: str
    note: str


def _fold(found: tuple[FailedPart, ...]) -> Iterator[str]:
    by_reason: dict[str, list[int]] = {}
    for failure in found:
        if failure.task is None:
            yield f"the connector is FAILED: {failure.reason}"
        else:
            by_reason.setdefault(failure.reason, []).append(failure.task)
    for reason, tasks in by_reason.items():
        yield f"{numbered(tasks)} FAILED: {reason}"


def numbered(tasks: list[int]) -> str:
    """`task 3 is`, or `tasks 0-3 are`."""
    return f"task {tasks[0]} is" if len(tasks) == 1 else f"tasks {_ranges(tasks)} are"


def _ranges(numbers: list[int]) -> str:
    """`0-3, 5` for 0, 1, 2, 3, 5."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
