"""The result of a step, and of a whole reconciliation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.plans import Action, Plan, Step


class Result(Enum):
    """The end of a step. A skipped step was never begun: a step before it failed, or the run was interrupted.

    UNCONFIRMED: the requested change is in place, and nothing shows yet whether the connector works or fails.
    """

    APPLIED = "applied"
    UNCONFIRMED = "unconfirmed"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_in_place(self) -> bool:
        """Whether the cluster has the requested change, and no failure of the connector was seen."""
        return self in (Result.APPLIED, Result.UNCONFIRMED)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One step, its result, the reason (`message`, possibly empty) and its duration in seconds.

    `took_effect`: the step failed although the cluster has the desired state, because the connector does not work with
    it. `id` is the id of the step in the ledger's journal; None if the step was not recorded. `bug` is the exception of
    a step that failed because of a bug in gitops-connect.
    """

    step: Step
    result: Result
    message: str = ""
    seconds: float = 0.0
    finished: datetime | None = None
    took_effect: bool = False
    id: int | None = None
    bug: Exception | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SendingProgress:
    """The progress of a large change: `done` of so many `entries` were accepted.

    `rate` is in entries a second, `remaining` in seconds; both are None if no entry was accepted yet in this
    reconciliation.
    """

    offset_change: OffsetChangeName
    connector: ConnectorName
    done: int
    entries: int
    rate: float | None = None
    remaining: float | None = None


@dataclass(frozen=True, slots=True)
class ReconciliationOutcome:
    """One reconciliation of one cluster: the plan, and the results of its steps (empty if it was only planned)."""

    cluster: ClusterName
    revision: Revision
    plan: Plan
    diagnostics: Diagnostics
    steps: tuple[StepOutcome, ...] = ()
    interrupted: bool = False

    @property
    def failed(self) -> tuple[StepOutcome, ...]:
        return tuple(outcome for outcome in self.steps if outcome.result is Result.FAILED)

    @property
    def is_unconfirmed(self) -> bool:
        """Whether it is unknown of a connector whether it works; see `Result.UNCONFIRMED`."""
        return any(outcome.result is Result.UNCONFIRMED for outcome in self.steps)

    @property
    def has_bugs(self) -> bool:
        return bool(self.diagnostics.bugs) or any(outcome.bug is not None for outcome in self.steps)

    @property
    def succeeded(self) -> bool:
        """Whether the change of every step is in place, and no guard rejects the plan.

        Steps can be skipped although none failed: if the lease is lost.
        """
        return all(outcome.result.is_in_place for outcome in self.steps) and not self.plan.refusals


# A step in the journal of the ledger: what was done, when, for which commit, and with which result.


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step. `author` is that of the commit (empty without Git), `offset_change` the name of its offset change.

    `reason` is why the step was planned, `message` the error or the warning. No text contains a secret. `id` is 0 until
    the entry is stored.
    """

    cluster: ClusterName
    at: datetime
    revision: Revision
    author: str
    connector: ConnectorName
    action: Action
    offset_change: str
    result: Result
    reason: str
    message: str
    seconds: float
    id: int = 0
