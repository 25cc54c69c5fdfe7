"""The execution of one step, from its first request to its end. It decides, but does not send, poll or wait."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_connect.apply.effects import EffectCheck, Progress, check_delete, check_effect, wanted
from gitops_connect.apply.polling import ClusterSnapshot
from gitops_connect.apply.working import Watched, check_working, wanted_working
from gitops_connect.errors import AlreadyExists, GitopsConnectError, LedgerBusy, NotSettled, OutcomeUnknown, Waiting
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action, Step

SNAPSHOTS_BEFORE_RESENDING = 3
SECONDS_BEFORE_RESENDING = 5.0
"""A request without an answer may still be in the queue of the herder (KAFKA-14353)."""
FIRST_RETRY, LONGEST_RETRY = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class StepResult:
    """The step is over. `harmless`: it failed and changed nothing, so that the connector may continue.

    `took_effect`: it failed although the requested change is in place: the connector does not work with it. `bug`: it
    failed because of a bug in gitops-connect.
    """

    result: Result
    message: str = ""
    harmless: bool = False
    took_effect: bool = False
    bug: Exception | None = None


@dataclass(frozen=True, slots=True)
class SendAgain:
    """The step's request is to be sent again at `at` (monotonic seconds)."""

    at: float


@dataclass(frozen=True, slots=True)
class AwaitEffect:
    """The step waits for its effect."""


NextAction = StepResult | SendAgain | AwaitEffect


class StepExecution:
    """The execution of one step. Times are monotonic seconds."""

    def __init__(self, step: Step, now: float, timeout: float, watched: Watched | None = None) -> None:
        """Begin. `timeout` is how long the cluster may reject the request, and then how long the effect may take.

        `watched`: the connector must run for some time before the step is done.
        """
        self.step = step
        self.started = now
        self._timeout = timeout
        self._deadline = now + timeout
        self._retry = FIRST_RETRY
        self._accepted = False
        self._unanswered = ""  # the error of the last request whose outcome is unknown
        self._resent = False
        self._last_refusal = ""
        self._sent_at = now
        self._outdated_until = 0  # polls up to this number began before the request was answered
        self._snapshots = 0
        self._watched = watched
        self._lasting: tuple[EffectCheck, float] | None = None
        self._found = ""
        self._took_effect = False
        self._remark = ""

    @property
    def may_have_effect(self) -> bool:
        """Whether a request was accepted, or may have been."""
        return self._accepted or bool(self._unanswered)

    def answered(
        self, error: GitopsConnectError | None, snapshot_number: int, now: float, remark: str = ""
    ) -> NextAction:
        """The request has ended, with or without `error`; older polls do not count. Success keeps `remark`."""
        self._remark = remark
        match error:
            case None:
                self._accepted, self._unanswered = True, ""
            case OutcomeUnknown():
                self._unanswered = str(error)
            case AlreadyExists() if self._unanswered and self.step.action is Action.CREATE:
                # This is our own first request, or an equal one of someone else: the config decides.
                self._accepted, self._unanswered = True, ""
            case LedgerBusy():  # the lease was lost, and this request was not sent
                return self.abandon(str(error))
            case Waiting():
                return self._later(str(error), now)
            case _:
                return StepResult(Result.FAILED, str(error))
        self._deadline = now + self._timeout
        self._sent_at, self._outdated_until, self._snapshots, self._lasting = now, snapshot_number, 0, None
        return AwaitEffect()

    def observe(self, snapshot: ClusterSnapshot, now: float) -> NextAction:
        """A poll of the cluster has ended."""
        if snapshot.number <= self._outdated_until:
            return AwaitEffect()
        verdict = self._check(snapshot)
        if verdict:
            self._found, self._took_effect = verdict.found, verdict.took_effect
            self._snapshots += 1
            if self._lasts(verdict, now):
                return self._end(verdict)
            if self._should_resend(now):
                self._resent = True
                return SendAgain(now)
        if now >= self._deadline:
            return StepResult(Result.FAILED, str(self._not_settled()), took_effect=self._took_effect)
        return AwaitEffect()

    def abandon(self, reason: str) -> StepResult:
        """The request is not to be sent again. SKIPPED if it was certainly never carried out."""
        if self.may_have_effect:
            return StepResult(Result.FAILED, f"{reason}; {self._not_settled()}")
        last = f"; the last answer of the cluster was: {self._last_refusal}" if self._last_refusal else ""
        return StepResult(Result.SKIPPED, f"skipped: {reason}{last}")

    def _later(self, refusal: str, now: float) -> NextAction:
        self._last_refusal = refusal
        pause, self._retry = self._retry, min(2 * self._retry, LONGEST_RETRY)
        if now + pause > self._deadline:
            return StepResult(
                Result.FAILED,
                f"the cluster rejected the request for {now - self.started:.0f} s; its last answer was: {refusal}",
            )
        return SendAgain(now + pause)

    def _check(self, snapshot: ClusterSnapshot) -> EffectCheck | None:
        """None if the poll says nothing about this connector."""
        name = self.step.connector
        if snapshot.error or name in snapshot.unknown:
            self._found = f"no readable status ({snapshot.error})" if snapshot.error else "no readable status"
            return None
        if self.step.action is Action.DELETE and name not in snapshot.connectors:
            return check_delete(gone=name in snapshot.gone)
        seen = snapshot.connectors.get(name)
        doubtful = bool(self._unanswered)
        if self._watched is None:
            return check_effect(self.step, seen, doubtful=doubtful)
        self._watched = self._watched.after(seen) if seen is not None else self._watched
        return check_working(self.step, seen, self._watched, doubtful=doubtful)

    def _lasts(self, verdict: EffectCheck, now: float) -> bool:
        """True if the verdict is final and has not changed for long enough. A different number of tasks is a change."""
        if verdict.progress is Progress.PENDING:
            self._lasting = None
            return False
        if self._lasting is None or self._lasting[0] != verdict:
            self._lasting = (verdict, now)
        return now - self._lasting[1] >= verdict.lasting

    def _should_resend(self, now: float) -> bool:
        """Resend once if the answer is unknown, or for a delete: during a rebalance a worker may not know the name."""
        doubtful = bool(self._unanswered) or self.step.action is Action.DELETE
        patient = self._snapshots >= SNAPSHOTS_BEFORE_RESENDING and now - self._sent_at >= SECONDS_BEFORE_RESENDING
        return doubtful and patient and not self._resent and self._lasting is None

    def _not_settled(self) -> NotSettled:
        goal = wanted_working(self.step, self._watched) if self._watched else wanted(self.step)
        text = f"expected {goal}, but found {self._found or 'no status yet'} after {self._timeout:g} s"
        if self._unanswered:
            times = "twice" if self._resent else "once"
            text += f"; the request was sent {times}, and its outcome is unknown: {self._unanswered}"
        return NotSettled(text)

    def _end(self, verdict: EffectCheck) -> StepResult:
        if verdict.progress is Progress.DONE:
            return StepResult(Result.APPLIED, "; ".join(filter(None, [self._remark, verdict.warning])))
        return StepResult(Result.FAILED, verdict.found, took_effect=verdict.took_effect)
