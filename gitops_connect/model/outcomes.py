"""The result of a step, and of a whole reconciliation; and a step in the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import NamedTuple

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
    it. `id` is the id of the step in the history; None if the step was not recorded. `bug` is the exception of a step
    that failed because of a bug in gitops-connect. `created_nothing`: the step was to create the connector, and
    certainly did not. `request` is the last request to Connect with an effect, as method and path, and `answer` its
    answer; both are empty if none was sent.
    """

    step: Step
    result: Result
    message: str = ""
    seconds: float = 0.0
    finished: datetime | None = None
    took_effect: bool = False
    id: int | None = None
    bug: Exception | None = field(default=None, repr=False, compare=False)
    created_nothing: bool = False
    request: str = ""
    answer: str = ""

    @property
    def shown_result(self) -> Result:
        """FAILED for a restart after which the connector is FAILED again: it took effect, and did not help."""
        is_in_vain = self.step.action is Action.RESTART and self.result is Result.APPLIED and bool(self.message)
        return Result.FAILED if is_in_vain else self.result


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


# A step in the history: what was done, when, by whom, why, and with which result.


class ActorKind(Enum):
    """Who or what caused a step."""

    PERSON = "person"
    """The author of a commit."""
    AUTOMATIC_RESTART = "automatic-restart"
    ROLLBACK = "rollback"
    DRIFT_CORRECTION = "drift-correction"
    RECOVERY = "recovery"
    """gitops-connect finishes what an earlier process began: a stopped connector is started again."""
    TOPIC_CLEANUP = "topic-cleanup"
    """A sink forgets active topics that it no longer reads."""
    COMMAND = "command"
    """A person, by a command."""
    FORGE = "forge"
    """A person, by a comment on a pull request."""
    UNKNOWN = "unknown"
    """An earlier version of gitops-connect recorded the step, without its actor."""


Actors = Mapping[tuple[ClusterName, ConnectorName], ActorKind]
"""What kind of actor changed each connector last."""

NO_COMMIT = Revision("")


class Actor(NamedTuple):
    """Who or what caused a step. `who` is a person; empty if it was none, or if the name is not known.

    `commit` is the commit that the step carries out, corrects drift to, or rolls back; empty if there is none.
    """

    kind: ActorKind
    who: str = ""
    commit: Revision = NO_COMMIT


class ManualAction(Enum):
    """What a person did that is no step of a plan."""

    SUSPEND = "suspend"
    END_SUSPENSION = "end-suspension"
    CONTINUE_ROLLOUT = "continue-rollout"
    SKIP_ROLLOUT = "skip-rollout"
    ABANDON_ROLLOUT = "abandon-rollout"
    MARK_APPLIED = "mark-applied"
    MARK_NOT_APPLIED = "mark-not-applied"
    APPROVE = "approve"
    REVOKE = "revoke"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step in the history. `connector` is empty if the step concerns the whole cluster.

    `revision` is the commit that was reconciled, and `author` its author (empty without Git); `who` and `commit` are
    those of the `Actor`. `offset_change` is the name of the step's offset change. `reason` is why the step was planned,
    `message` the error or the warning. `pull_request`, `approved_digest` and `approved_by` are the approval of the
    step, if it needed a review; `approved_by` is empty if merging the pull request was the approval. `request` and
    `answer` are those of Connect. No text contains a secret. `id` is 0 until the entry is stored.
    """

    cluster: ClusterName
    at: datetime
    revision: Revision
    author: str
    connector: ConnectorName
    action: Action | ManualAction
    offset_change: str
    result: Result
    reason: str
    message: str
    seconds: float
    id: int = 0
    actor: ActorKind = ActorKind.UNKNOWN
    who: str = ""
    commit: Revision = NO_COMMIT
    pull_request: int | None = None
    approved_digest: str = ""
    approved_by: str = ""
    request: str = ""
    answer: str = ""


def by_hand(
    actor: Actor, where: tuple[ClusterName, ConnectorName], action: Action | ManualAction, at: datetime, reason: str
) -> JournalEntry:
    """What a person did, which took effect at once."""
    entry = JournalEntry(where[0], at, NO_COMMIT, "", where[1], action, "", Result.APPLIED, reason, "", 0.0)
    return replace(entry, actor=actor.kind, who=actor.who, commit=actor.commit)
