"""The run of one connector through its steps: in order, one at a time, until the first step that fails."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime

from gitops_connect.apply.actions import sensitive_keys
from gitops_connect.apply.effects import Watched, failed_parts, leaves_running
from gitops_connect.apply.step_context import ExecuteOptions
from gitops_connect.apply.step_execution import NextAction, StepExecution, StepResult
from gitops_connect.connect.exchanges import LONGEST, Exchange
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.desired import TargetState
from gitops_connect.model.masking import mask, sensitive_values
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, ConnectorPlan, Step

_GO_ON = (Action.RESUME, Action.PAUSE)
_END_A_STOP = (*_GO_ON, Action.DELETE)


@dataclass(slots=True)
class ConnectorRun:
    """The steps of one connector: the outcomes of the finished steps, and the step in progress.

    `failed` is the first step that failed. `harmless` is False after a failure that may have changed something.
    `exchanges` are the requests of the step in progress. `announced`: the ledger may have the record of its creation.
    """

    plan: ConnectorPlan
    cluster: ClusterName
    options: ExecuteOptions
    outcomes: list[StepOutcome] = field(default_factory=list)
    failed: Step | None = None
    harmless: bool = True
    attempt: StepExecution | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    announced: bool = False

    @property
    def name(self) -> ConnectorName:
        return self.plan.name

    @property
    def step(self) -> Step:
        """The step in progress, or the next step."""
        return self.plan.steps[len(self.outcomes)]

    @property
    def is_over(self) -> bool:
        return len(self.outcomes) == len(self.plan.steps)

    @property
    def goes_back(self) -> bool:
        """True if the next step resumes or pauses a connector that was only stopped for its offsets, none in doubt.

        False for a connector that is to be seeded: it has not run yet.
        """
        kinds = {step.offset_change.kind for step in self.plan.steps if step.offset_change is not None}
        for_offsets = bool(kinds) and OffsetChangeKind.SEED not in kinds
        return self._was_stopped and for_offsets and self.harmless and self.step.action in _GO_ON

    def execution(self, now: float) -> StepExecution:
        """The step in progress. If there is none, the next step begins now (monotonic seconds)."""
        if self.attempt is None:
            self.attempt = StepExecution(self.step, now, self.options.settle_timeout, self._watched())
            if self._stops() and not self._is_last:
                self.options.stopped.add(self.cluster, self.name)
        return self.attempt

    def answered(
        self, error: GitopsConnectError | None, snapshot_number: int, now: float, remark: Future[str] | None
    ) -> NextAction:
        """The request of the step in progress has ended; see `StepExecution.answered`."""
        if error is None and self.step.action in _END_A_STOP:
            self.options.stopped.discard(self.cluster, self.name)
        return self.execution(now).answered(error, snapshot_number, now, remark)

    @property
    def _is_last(self) -> bool:
        """Whether the later steps leave the connector as it is after this one."""
        return all(step.action is Action.RESET_TOPICS for step in self.plan.steps[len(self.outcomes) + 1 :])

    @property
    def can_wait(self) -> bool:
        """Whether nothing depends on how soon its effect is seen: no step follows, and it is not watched."""
        return self._is_last and self._watched() is None

    @property
    def _was_stopped(self) -> bool:
        return any(one.step.action is Action.STOP and one.result is Result.APPLIED for one in self.outcomes)

    def _watched(self) -> Watched | None:
        """How the connector is watched after the next step: only after its last one, if it runs then.

        If the connector was seen STOPPED without tasks, its earlier failures are gone: a failure reported later is new
        (`AbstractHerder.onDeletion`).
        """
        if not (self._is_last and self.options.min_running and leaves_running(self.step)):
            return None
        seen = None if self._was_stopped else self.options.before.get(self.name)
        return Watched(self.options.min_running, failed_parts(seen) if seen is not None else {}, self.options.families)

    def _stops(self) -> bool:
        created = self.step.action is Action.CREATE and self.step.initial_state is TargetState.STOPPED
        return self.step.action is Action.STOP or created

    def end(self, ending: StepResult, seconds: float, finished: datetime) -> StepOutcome:
        """End the step in progress, or the next step, with this result. The message contains no secret of the steps."""
        next_steps = advice(self.outcomes, self.step) if ending.took_effect else ""
        secrets = self._secrets()
        message = "; ".join(filter(None, [mask(ending.message, secrets), next_steps]))
        outcome = StepOutcome(self.step, ending.result, message, seconds, finished, ending.took_effect, bug=ending.bug)
        may_have_effect = self.attempt is not None and self.attempt.may_have_effect
        if self.step.action is Action.CREATE and self.announced and not (may_have_effect or ending.bug):
            outcome = replace(outcome, created_nothing=True)
        if self.exchanges:
            last, count = self.exchanges[-1], len(self.exchanges)
            request = f"{last.request} (the last of {count} requests)" if count > 1 else last.request
            outcome = replace(outcome, request=request, answer=mask(last.answer, secrets)[:LONGEST])
        never_stopped = self._stops() and not may_have_effect
        if never_stopped or (ending.result.is_in_place and self.step.action in _END_A_STOP):
            self.options.stopped.discard(self.cluster, self.name)
        if ending.result is Result.FAILED:
            self.failed = self.failed or self.step
            self.harmless = self.harmless and ending.harmless
        self.outcomes.append(outcome)
        self.attempt, self.exchanges = None, []
        return outcome

    def why_not(self) -> str:
        """Why the next step is not begun after the finished steps, or an empty string.

        If offsets were not changed and certainly are as before, the connector continues as before.
        """
        if self.harmless and self.step.action in _GO_ON and (self.failed is not None or self.goes_back):
            return ""
        if self.failed is not None:
            return f"skipped: the step {self.failed.action.value} before it failed"
        last = self.outcomes[-1]
        return last.message if last.result is Result.SKIPPED else ""

    def _secrets(self) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for step in self.plan.steps:
            before = {change.key: change.before for change in step.changes if change.before is not None}
            keys = sensitive_keys(step)
            found |= sensitive_values(step.config, keys) | sensitive_values(before, keys)
        return found


# What to do about a connector that fails after its steps took effect.

_CHANGES_OFFSETS = (Action.ALTER, Action.RESET)


def advice(before: Iterable[StepOutcome], step: Step) -> str:
    """How to recover from `step`, which took effect and then failed, and from the steps `before` it.

    An undo of an offset change also reverts the later offset changes of the connector.
    """
    applied = [outcome.step for outcome in before if outcome.result is Result.APPLIED]
    changes = [one.offset_change for one in applied if one.action in _CHANGES_OFFSETS and one.offset_change is not None]
    actions = {one.action for one in (*applied, step)}
    parts = []
    if changes:
        parts.append(f"to restore the offsets, run: {command_line('offsets undo', changes[0].name)}")
    if Action.CONFIGURE in actions:
        parts.append("fix its config in the repository (Git has the previous version), and apply again")
    elif Action.CREATE in actions:
        parts.append("fix its config in the repository, and apply again")
    return "; ".join(parts)
