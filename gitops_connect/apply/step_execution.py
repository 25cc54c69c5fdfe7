"""The execution of one step, from its first request to its end. It decides, but does not send, poll or wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from gitops_connect.apply.effects import EffectCheck, Progress, Watched, check_delete, check_effect, wanted
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import AlreadyExists, GitopsConnectError, LedgerBusy, NotSettled, OutcomeUnknown, Waiting
from gitops_connect.model.clock import Backoff, Clock
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action, Step

SNAPSHOTS_BEFORE_RESENDING = 3
SECONDS_BEFORE_RESENDING = 5.0
"""A request without an answer may still be in the queue of the herder (KAFKA-14353)."""
RETRY = Backoff(0.5, 5.0)


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
        self._pauses = iter(RETRY)
        self._accepted = False
        self._unanswered = ""  # the error of the last request whose outcome is unknown
        self._resent = False
        self._last_refusal = ""
        self._sent_at = now
        self._outdated_until = 0  # polls up to this number began before the request was answered
        self._snapshots = 0
        self._watched = watched
        self._lasting: tuple[EffectCheck, float] | None = None
        self._start_began = now
        self._start_seconds = 0.0  # of the longest start of the connector
        self._found = ""
        self._took_effect = False
        self._remark: Future[str] | None = None

    @property
    def may_have_effect(self) -> bool:
        """Whether a request was accepted, or may have been."""
        return self._accepted or bool(self._unanswered)

    def answered(
        self, error: GitopsConnectError | None, snapshot_number: int, now: float, remark: Future[str] | None = None
    ) -> NextAction:
        """The request has ended, with or without `error`; older polls do not count. Success waits for `remark`."""
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
        self._start_began = now
        self._sent_at, self._outdated_until, self._snapshots, self._lasting = now, snapshot_number, 0, None
        return AwaitEffect()

    def observe(self, snapshot: ClusterSnapshot, now: float) -> NextAction:
        if snapshot.number <= self._outdated_until:
            return AwaitEffect()
        verdict = self._check(snapshot)
        if verdict:
            self._found, self._took_effect = verdict.found, verdict.took_effect
            self._snapshots += 1
            if self._lasts(verdict, now):
                return self._ended(verdict)
            if self._should_resend(now):
                self._resent = True
                return SendAgain(now)
        if now < self._deadline:
            return AwaitEffect()
        if verdict and self._watched and verdict.progress in (Progress.DONE, Progress.UNCONFIRMED):
            return StepResult(Result.UNCONFIRMED, str(self._not_settled()))
        return StepResult(Result.FAILED, str(self._not_settled()), took_effect=self._took_effect)

    def _ended(self, verdict: EffectCheck) -> NextAction:
        if verdict.progress in (Progress.FAILED, Progress.PENDING):
            return StepResult(Result.FAILED, verdict.found, took_effect=verdict.took_effect)
        if self._remark is not None and not self._remark.done():  # it takes at most as long as the effect may take
            return AwaitEffect()
        remark = self._remark.result() if self._remark is not None else ""
        if verdict.progress is Progress.DONE:
            return StepResult(Result.APPLIED, "; ".join(filter(None, [remark, verdict.warning])))
        return StepResult(Result.UNCONFIRMED, "; ".join(filter(None, [remark, verdict.found])))

    def abandon(self, reason: str) -> StepResult:
        """The request is not to be sent again. SKIPPED if it was certainly never carried out."""
        if self.may_have_effect:
            return StepResult(Result.FAILED, f"{reason}; {self._not_settled()}")
        last = f"; the last answer of the cluster was: {self._last_refusal}" if self._last_refusal else ""
        return StepResult(Result.SKIPPED, f"skipped: {reason}{last}")

    def _later(self, refusal: str, now: float) -> NextAction:
        self._last_refusal = refusal
        pause = next(self._pauses)
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
        if self._watched is not None and seen is not None:
            self._watched = self._watched.after(seen)
        return check_effect(self.step, seen, self._watched, doubtful=bool(self._unanswered))

    def _lasts(self, verdict: EffectCheck, now: float) -> bool:
        """True if the verdict is final and has not changed for long enough. A different number of tasks is a change."""
        before = self._lasting[0] if self._lasting else None
        if before is not None and before != verdict and before.progress is Progress.DONE:
            self._start_began = now
        if verdict.progress is Progress.PENDING:
            self._lasting = None
            return False
        if self._lasting is None or before != verdict:
            self._lasting = (verdict, now)
            self._start_seconds = max(self._start_seconds, now - self._start_began)
        return now - self._lasting[1] >= self._required()

    def _required(self) -> float:
        """How long what was found must last, in seconds."""
        if self._lasting is None:
            return 0.0
        lasting = self._lasting[0].lasting
        return max(lasting, self._start_seconds) if self._lasting[0].outlasts_start else lasting

    def _should_resend(self, now: float) -> bool:
        """Resend once if the answer is unknown, or for a delete: during a rebalance a worker may not know the name."""
        doubtful = bool(self._unanswered) or self.step.action is Action.DELETE
        patient = self._snapshots >= SNAPSHOTS_BEFORE_RESENDING and now - self._sent_at >= SECONDS_BEFORE_RESENDING
        return doubtful and patient and not self._resent and self._lasting is None

    def _not_settled(self) -> NotSettled:
        seconds = self._required()
        goal = wanted(self.step, self._watched, seconds if math.isfinite(seconds) else 0.0)
        text = f"expected {goal}, but found {self._found or 'no status yet'} after {self._timeout:g} s"
        if self._unanswered:
            times = "twice" if self._resent else "once"
            text += f"; the request was sent {times}, and its outcome is unknown: {self._unanswered}"
        return NotSettled(text)


# The one poll of the cluster that all waiting steps share, and how often it happens.

SHORTEST_PAUSE = 0.2
LONGEST_PAUSE = 2.0
BUSY_PAUSE, LONGEST_BUSY_PAUSE = 1.0, 5.0
"""While steps queue up for their requests, more frequent polls would only take time from the requests. The longer pause
is enough as long as nothing depends on how soon an effect is seen."""
_GROWTH = 1.6
_SHARE_IDLE, _SHARE_BUSY = 3, 10
"""Pauses last at least this many times the duration of the last poll: with 300 connectors a poll costs up to 0.3 s of a
worker."""


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The state of the whole cluster at one time. `number` counts polls; `gone` are the deleted that no worker lists.

    If the cluster could not be read, `error` says why and the rest is empty.
    """

    number: int
    seconds: float
    connectors: Mapping[ConnectorName, ObservedConnector] = field(default_factory=dict)
    unknown: frozenset[ConnectorName] = frozenset()
    gone: frozenset[ConnectorName] = frozenset()
    error: str = ""


def take_snapshot(
    cluster: ConnectClient, clock: Clock, number: int, deleted: frozenset[ConnectorName]
) -> ClusterSnapshot:
    """Read all connectors in one request, and in two more if some of `deleted` seem to be gone."""
    began = clock.monotonic()
    try:
        connectors, unknown = cluster.connectors()
        gone = cluster.absent(deleted - connectors.keys() - unknown)
    except GitopsConnectError as error:
        return ClusterSnapshot(number, clock.monotonic() - began, error=str(error))
    return ClusterSnapshot(number, clock.monotonic() - began, connectors, unknown, gone)


class PollInterval:
    """When to poll next: soon after a request, then less and less often, and never so often that it is costly."""

    def __init__(self, now: float) -> None:
        self._pause = SHORTEST_PAUSE
        self._since = now
        self._cost = 0.0

    def answered(self, now: float, *, alone: bool) -> None:
        """A request has ended, so an effect is expected soon. `alone`: no other step is waited for."""
        self._pause = SHORTEST_PAUSE
        if alone:
            self._since = now

    def observe(self, now: float, seconds: float, *, moved: bool) -> None:
        self._pause = SHORTEST_PAUSE if moved else min(self._pause * _GROWTH, LONGEST_PAUSE)
        self._since = now
        self._cost = seconds

    def due(self, *, busy: bool, urgent: bool) -> float:
        """When to poll next (monotonic seconds). `busy`: steps wait to be sent. `urgent`: a step depends on it."""
        if busy:
            shortest = BUSY_PAUSE if urgent else LONGEST_BUSY_PAUSE
            return self._since + max(shortest, self._pause, _SHARE_BUSY * self._cost)
        return self._since + max(self._pause, _SHARE_IDLE * self._cost)
