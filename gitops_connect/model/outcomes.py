"""What became of a step, and of a whole cycle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName, Revision
from gitops_connect.model.plans import Plan, Step


class Result(Enum):
    """The end of a step. A skipped one was never begun: a step before it failed, or the run was interrupted."""

    APPLIED = "applied"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One step, how it ended, why (`message`, empty where there is nothing to say) and how long it took (seconds).

    `took_effect`: a step that failed, although the cluster has what it asks for: the connector does not work with it.
    """

    step: Step
    result: Result
    message: str = ""
    seconds: float = 0.0
    finished: datetime | None = None
    took_effect: bool = False


@dataclass(frozen=True, slots=True)
class SendingProgress:
    """How far the offsets of a large change are sent: `done` of so many `entries` were accepted.

    `rate` is in entries a second, `remaining` in seconds; None where nothing was accepted in this cycle yet.
    """

    operation: OperationName
    connector: ConnectorName
    done: int
    entries: int
    rate: float | None = None
    remaining: float | None = None


@dataclass(frozen=True, slots=True)
class ReconciliationOutcome:
    """One cycle over one cluster: what was planned, and what became of it (empty where it was only planned)."""

    cluster: ClusterName
    revision: Revision
    plan: Plan
    diagnostics: Diagnostics
    steps: tuple[StepOutcome, ...] = ()
    interrupted: bool = False

    @property
    def failed(self) -> tuple[StepOutcome, ...]:
        """The steps that did not take effect."""
        return tuple(outcome for outcome in self.steps if outcome.result is Result.FAILED)

    @property
    def succeeded(self) -> bool:
        """Whether every step took effect. A step may be skipped without one that failed: when the lease is lost."""
        return all(outcome.result is Result.APPLIED for outcome in self.steps)
