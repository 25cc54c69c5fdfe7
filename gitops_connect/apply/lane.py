"""One connector's way through its steps: in their order, one at a time, until the first that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_connect.apply.actions import sensitive_keys
from gitops_connect.apply.attempt import Attempt, Ending
from gitops_connect.connect.redaction import redact, sensitive_values
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, ConnectorPlan, Step

_GO_ON = (Action.RESUME, Action.PAUSE)


@dataclass(slots=True)
class Lane:
    """The steps of one connector, how those ended that are over, and the one in hand.

    `patience` (seconds) is that of `Attempt`. `failed` is the first step that did; `harmless` is False once one has
    failed that may have left something behind.
    """

    plan: ConnectorPlan
    patience: float
    outcomes: list[StepOutcome] = field(default_factory=list)
    failed: Step | None = None
    harmless: bool = True
    attempt: Attempt | None = None

    @property
    def name(self) -> ConnectorName:
        """The connector's."""
        return self.plan.name

    @property
    def step(self) -> Step:
        """The one in hand, or the next."""
        return self.plan.steps[len(self.outcomes)]

    @property
    def is_over(self) -> bool:
        """True where every step has ended."""
        return len(self.outcomes) == len(self.plan.steps)

    @property
    def goes_back(self) -> bool:
        """True where the next step brings a connector back that was only stopped for its offsets, none in doubt.

        One that is to be seeded has not gone anywhere yet.
        """
        was_stopped = any(one.step.action is Action.STOP and one.result is Result.APPLIED for one in self.outcomes)
        kinds = {step.operation.kind for step in self.plan.steps if step.operation is not None}
        for_offsets = bool(kinds) and OperationKind.SEED not in kinds
        return was_stopped and for_offsets and self.harmless and self.step.action in _GO_ON

    def in_hand(self, now: float) -> Attempt:
        """The step in hand; where there is none, the next one is taken in hand now (monotonic seconds)."""
        if self.attempt is None:
            self.attempt = Attempt(self.step, now, self.patience)
        return self.attempt

    def end(self, ending: Ending, seconds: float, finished: datetime) -> StepOutcome:
        """The step in hand, or the next, ends like this. No secret of the connector's steps is in the message."""
        message = redact(ending.message, self._secrets()) if ending.message else ""
        outcome = StepOutcome(self.step, ending.result, message, seconds, finished)
        if ending.result is Result.FAILED:
            self.failed = self.failed or self.step
            self.harmless = self.harmless and ending.harmless
        self.outcomes.append(outcome)
        self.attempt = None
        return outcome

    def why_not(self) -> str:
        """Why the next step is not begun after those that have ended, or nothing.

        Where offsets were not changed and certainly are as they were, the connector goes on as before.
        """
        if self.harmless and self.step.action in _GO_ON and (self.failed is not None or self.goes_back):
            return ""
        if self.failed is not None:
            return f"not begun: {self.failed.action.value} did not succeed before it"
        last = self.outcomes[-1]
        return last.message if last.result is Result.SKIPPED else ""

    def _secrets(self) -> frozenset[str]:
        return frozenset().union(*(_secrets(step) for step in self.plan.steps))


def _secrets(step: Step) -> frozenset[str]:
    keys = sensitive_keys(step)
    before: Mapping[str, str] = {change.key: change.before for change in step.changes if change.before is not None}
    return sensitive_values(step.config, keys) | sensitive_values(before, keys)
