"""One cluster from reconciliation to reconciliation: what is logged, what the status shows, and how long to wait.

Conditions are also recorded in the ledger, so that the time since when they are true survives the daemon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from logging import ERROR, INFO, WARNING

from gitops_connect.daemon import events
from gitops_connect.daemon.events import NewItems, say
from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.daemon.state import DaemonState
from gitops_connect.declare import Declared
from gitops_connect.errors import FreeSpace, GitopsConnectError, LedgerBusy, Stalled
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.status import (
    Condition,
    ConditionKey,
    Conditions,
    ConditionStatus,
    ConditionType,
    ConnectorStatus,
)
from gitops_connect.plan.annotation_warnings import CLUSTER
from gitops_connect.plan.conditions import changes, cluster_failed, cluster_ready, connector_conditions
from gitops_connect.plan.guards import unsafe
from gitops_connect.plan.restarts import find_unhealthy, until_next_restart
from gitops_connect.plan.rollouts import stopped_rollouts, until_rollout_continues, waiting_for_rollout
from gitops_connect.propose import Proposal
from gitops_connect.report.connector_status import (
    StatusFindings,
    after_steps,
    connector_statuses,
    failure_of,
    problems_by_connector,
    unread_statuses,
    with_since,
)
from gitops_connect.report.verdict_rules import unread
from gitops_connect.report.words import hold_lines, problem_words, remedy
from gitops_connect.tracing.spans import ended_span, mark_failed

HEARTBEAT = 3600.0
"""Seconds. If nothing happens on a cluster, its reconciliations are logged so often."""


class Interrupted(Exception):
    """The reconciliation changes nothing: the daemon was requested to stop before, or another daemon is the leader."""


Ended = ReconciliationOutcome | Exception
"""How a reconciliation ended."""


class _Applying:
    """What becomes of the statuses while the steps of a plan are applied: each step that ends changes one."""

    def __init__(self, plan: Plan, desired: DesiredState, statuses: Sequence[ConnectorStatus]) -> None:
        self._plans = {one.name: one for one in plan.connectors if one.applicable}
        self._desired = desired
        self._before = {one.name: one for one in statuses}
        self._statuses = dict(self._before)
        self._ended = defaultdict[ConnectorName, list[StepOutcome]](list)

    def after(self, outcome: StepOutcome) -> tuple[ConnectorStatus, ...]:
        """The statuses after another step has ended. A skipped step says nothing."""
        name = outcome.step.connector
        if outcome.result is not Result.SKIPPED and name in self._statuses and name in self._plans:
            self._ended[name].append(outcome)
            declared = self._desired.by_name.get(name)
            target = None if declared is None else declared.state
            status = after_steps(self._before[name], self._plans[name], self._ended[name], target)
            if status is None:
                del self._statuses[name]
            else:
                self._statuses[name] = status
        return tuple(self._statuses.values())


@dataclass(eq=False)
class ClusterProgress:
    """Used by one thread at a time: the job of the cluster. `once`: there is no next reconciliation."""

    cluster: ClusterName
    ledger: Ledger
    clock: Clock
    state: DaemonState
    schedule: PollSchedule
    once: bool
    last: Ended | None = None
    """How the last reconciliation ended; None before the first one."""
    full_disk: FreeSpace | None = None
    """The disk without enough space for the last reconciliation; None if there was none."""
    _conditions: Conditions = field(default_factory=dict)
    _statuses: tuple[ConnectorStatus, ...] = ()
    _was_read: bool = False
    """Whether this reconciliation, or the last one, could read the cluster."""
    _failures_of_steps: dict[ConnectorName, str] | None = None
    """Why the last step of a connector failed; None before the ledger was asked."""
    _applying: _Applying | None = None
    _steps: tuple[StepOutcome, ...] = ()
    _revision: Revision | None = None
    _failures: int = 0
    _is_broken: bool = False
    """Whether `reconciliation_failed` was logged, and `reconciliation_recovered` was not logged since."""
    _full_disks: NewItems = field(default_factory=NewItems)
    _logged_at: float = float("-inf")
    _diagnostics: NewItems = field(default_factory=NewItems)
    _notes: NewItems = field(default_factory=NewItems)
    _unhealthy: frozenset[ConnectorName] = frozenset()
    _given_up: NewItems = field(default_factory=NewItems)
    _unexpected_topics: NewItems = field(default_factory=NewItems)
    _rolled_back: NewItems = field(default_factory=NewItems)
    _stopped_rollouts: NewItems = field(default_factory=NewItems)
    _has_stopped_rollout: bool = False
    _cluster_is_suspended: bool = False
    _suspended: frozenset[ConnectorName] = frozenset()
    _drifted: NewItems = field(default_factory=NewItems)

    def begin(self) -> None:
        self._steps, self._was_read = (), False
        self._publish(next=None)

    def proposed(self, declared: Declared, proposal: Proposal, *, records: bool) -> None:
        """The cluster was read and a plan was made. `records`: under its lease, so that conditions are recorded.

        A bug in what is shown about a connector does not stop the reconciliation.
        """
        try:
            self._show(declared, proposal, records=records)
        except GitopsConnectError:
            raise
        except Exception as error:
            events.bug(error, cluster=self.cluster, revision=declared.revision)

    def _show(self, declared: Declared, proposal: Proposal, *, records: bool) -> None:
        situation, plan = proposal.situation, proposal.plan
        problems = problems_by_connector(situation.desired, declared.diagnostics, proposal.diagnostics)
        if self._failures_of_steps is None:
            self._failures_of_steps = self.ledger.status.failed_steps(self.cluster)
        findings = StatusFindings(situation.now, find_unhealthy(situation), problems, self._failures_of_steps)
        found = connector_statuses(plan, situation.desired, situation.observed, findings)
        before = situation.conditions
        after = connector_conditions(before, found, plan, situation.now) if records else before
        self._statuses, self._was_read = tuple(with_since(found, after)), True
        self._applying = _Applying(plan, situation.desired, self._statuses)
        self._conditions = before
        if records:
            events.topics_changed(self.cluster, situation.topics.changes)
            for name, rolled_back in self._rolled_back.of(plan.rolled_back.items()):
                about = {"cluster": self.cluster, "connector": name, "revision": rolled_back.revision}
                say(ERROR, "config_rolled_back", **about, keys=list(rolled_back.keys), message=rolled_back.reason)
            self._record({**after, **{key: one for key, one in before.items() if not _is_of_connectors(key)}})
        self._publish(
            plan=plan,
            connectors=self._statuses,
            conditions=self._conditions,
            diagnostics=declared.diagnostics + proposal.diagnostics,
            steps=(),
            observed=situation.now,
            topics=situation.topics.known,
        )

    def step_ended(self, revision: Revision, outcome: StepOutcome) -> None:
        """A step has ended; called by the threads of different connectors, one at a time."""
        events.step_ended(self.cluster, revision, outcome)
        _trace(outcome)
        self._steps, name = (*self._steps, outcome), outcome.step.connector
        if self._failures_of_steps is not None and outcome.result is not Result.SKIPPED:
            self._failures_of_steps.pop(name, None)
            if outcome.result is Result.FAILED:
                self._failures_of_steps[name] = failure_of(outcome)
        if self._applying is not None:
            self._statuses = self._applying.after(outcome)
        self._publish(steps=self._steps, connectors=self._statuses)

    def ended(self, declared: Declared, ended: Ended, seconds: float) -> float:
        """Log and publish how a reconciliation ended. Errors lengthen the wait. Returns the seconds until the next."""
        is_new, self._revision = self._revision != declared.revision, declared.revision
        failed = not isinstance(ended, LedgerBusy | Interrupted) and not went_well(ended)
        self._failures = (1 if is_new else self._failures + 1) if failed else 0
        error = ended if isinstance(ended, Exception) else None
        schedule, is_busy = self.schedule, isinstance(ended, LedgerBusy)
        wait = schedule.after(error, self._failures) if failed or is_busy else schedule.usual()
        now, self.full_disk = self.clock.now(), full_disk(ended)
        if failed:
            reason = _error_of(ended)
            mark_failed("StepsFailed" if reason is None else type(reason).__name__)
        if isinstance(ended, ReconciliationOutcome):
            due = min(until_next_restart(ended.plan, now), until_rollout_continues(ended.plan, now))
            wait = 0.0 if self._should_follow(ended) else min(wait, due)
            self._log(ended, declared, seconds, is_new=is_new)
            if (rejected := unsafe(ended.plan)) is not None:
                self._break_off(declared, rejected, wait)
        elif not isinstance(ended, Interrupted) and not (is_busy and str(ended) == str(self.last)):
            self._break_off(declared, ended, wait)
        is_recorded = self._record_cluster(ended, declared)
        if self._is_broken and is_recorded and _error_of(ended) is None:
            self._is_broken = False
            self._full_disks.of(())
            say(INFO, "reconciliation_recovered", cluster=self.cluster, revision=declared.revision)
        self.last, self._applying = ended, None
        is_error = error is not None and not isinstance(ended, Interrupted)
        if is_error and not (is_busy or self._was_read):
            self._show_unread(declared, f"{type(ended).__name__}: {ended}")
        self._publish(error=f"{type(ended).__name__}: {ended}" if is_error else "", next=now + timedelta(seconds=wait))
        return wait

    def _show_unread(self, declared: Declared, error: str) -> None:
        """Nothing is known of a cluster that could not be read, whatever it was before."""
        verdict = unread(self.state.snapshot.clusters[self.cluster].observed, error)
        desired = declared.states.get(self.cluster)
        self._statuses = tuple(unread_statuses(self.cluster, desired, self._statuses, verdict))
        self._publish(connectors=self._statuses)

    def _break_off(self, declared: Declared, error: Exception, wait: float | None) -> None:
        """A full disk is logged once, and not again for each attempt."""
        self._is_broken = self._is_broken or not isinstance(error, LedgerBusy)
        full = full_disk(error)
        if full is None or self._full_disks.of([full.directory]):
            events.cycle_broken_off(self.cluster, declared.revision, error, None if self.once else wait)

    def _should_follow(self, outcome: ReconciliationOutcome) -> bool:
        """Whether to reconcile again at once: to show the effects of the steps, or to continue a rollout.

        Only once in a row, or as long as fewer and fewer connectors wait for a rollout.
        """
        before = self.last if isinstance(self.last, ReconciliationOutcome) else None
        if not (outcome.steps and outcome.succeeded):
            return False
        if before is None or not before.steps:
            return True
        return waiting_for_rollout(outcome.plan) < waiting_for_rollout(before.plan)

    def _log(self, outcome: ReconciliationOutcome, declared: Declared, seconds: float, *, is_new: bool) -> None:
        known = set(declared.diagnostics)
        for diagnostic in self._diagnostics.of(one for one in outcome.diagnostics if one not in known):
            events.diagnosed(diagnostic, outcome.cluster)
        events.noted(outcome.cluster, self._notes.of(events.notes(outcome.plan)))
        self._unhealthy = events.health_seen(outcome.plan, self._unhealthy)
        self._log_cluster_suspension(outcome)
        self._log_suspensions(outcome)
        drifted = [one for one in outcome.plan.connectors if one.drifted and not one.applicable]
        for name, steps in self._drifted.of((one.name, events.step_words(one.steps)) for one in drifted):
            say(WARNING, "drift_detected", cluster=outcome.cluster, connector=name, message=f"not corrected: {steps}")
        events.drift_corrected(outcome)
        given_up = {one.name: one for one in outcome.plan.unhealthy if one.restarts and one.restarts.gave_up}
        for name in self._given_up.of(given_up):
            fields = {"message": problem_words(given_up[name]), "hint": remedy(given_up[name])}
            say(ERROR, "connector_given_up", cluster=outcome.cluster, connector=name, **fields)
        for name, message in self._unexpected_topics.of(outcome.plan.unexpected_topics.items()):
            say(WARNING, "unexpected_topics", cluster=outcome.cluster, connector=name, message=message)
        self._log_rollouts(outcome)
        now = self.clock.monotonic()
        if outcome.steps or is_new or not went_well(self.last) or now - self._logged_at >= HEARTBEAT:
            self._logged_at = now
            events.cycle_ended(outcome, seconds)

    def _log_rollouts(self, outcome: ReconciliationOutcome) -> None:
        stopped = stopped_rollouts(outcome.plan)
        for hold in self._stopped_rollouts.of(stopped):
            message = f"{hold.message}; {stopped[hold]} connectors wait"
            say(ERROR, "rollout_stopped", cluster=outcome.cluster, message=message, hint=hold.release)
        if self._has_stopped_rollout and not stopped:
            say(INFO, "rollout_continued", cluster=outcome.cluster)
        self._has_stopped_rollout = bool(stopped)

    def _log_cluster_suspension(self, outcome: ReconciliationOutcome) -> None:
        suspension, before = outcome.plan.suspension, self._cluster_is_suspended
        self._cluster_is_suspended = suspension is not None
        if suspension is not None and not before:
            say(WARNING, "cluster_suspended", cluster=outcome.cluster, message=f"suspended {suspension.origin}")
        elif suspension is None and before:
            say(INFO, "cluster_resumed", cluster=outcome.cluster)

    def _log_suspensions(self, outcome: ReconciliationOutcome) -> None:
        """A connector whose document has errors keeps its state: it is unknown whether the document suspends it."""
        connectors = outcome.plan.connectors
        suspended = {one.name: one for one in connectors if one.suspension and not one.suspension.whole_cluster}
        unknown = {one.connector for one in outcome.diagnostics.errors}
        before, self._suspended = self._suspended, frozenset({*suspended, *(self._suspended & unknown)})
        for name in sorted(self._suspended - before):
            message = "; ".join(hold_lines(suspended[name]))
            say(WARNING, "connector_suspended", cluster=outcome.cluster, connector=name, message=message)
        for name in sorted(before - self._suspended):
            say(INFO, "connector_resumed", cluster=outcome.cluster, connector=name)

    def _record_cluster(self, ended: Ended, declared: Declared) -> bool:
        """Record the conditions of the cluster itself. Another process that has the lease records them instead.

        Returns whether the ledger could be written.
        """
        if isinstance(ended, LedgerBusy | Interrupted):
            return False
        now, error = self.clock.now(), _error_of(ended)
        found = [self._ready(ended, declared)]
        if isinstance(error, Stalled) and error.full_disk is None:
            why = type(error).__name__
            found.append(
                Condition(ConditionType.STALLED, ConditionStatus.TRUE, why, str(error), now, declared.revision)
            )
        keyed: dict[ConditionKey, Condition] = {(CLUSTER, one.type, ""): one for one in found}
        of_cluster = {key: one.follows(self._conditions.get(key)) for key, one in keyed.items()}

        def after() -> Conditions:
            return {**{key: one for key, one in self._conditions.items() if _is_of_connectors(key)}, **of_cluster}

        try:
            if isinstance(ended, ReconciliationOutcome) and ended.steps:  # its warnings are recorded at its end
                self._conditions = self.ledger.status.conditions.of(self.cluster)
            self._record(after())
            applied = self.ledger.revisions(self.cluster).applied
            self._publish(applied=None if applied is None else applied.revision)
        except Exception as problem:  # the ledger is the problem, or a bug: the daemon goes on
            self._publish(conditions=after())
            self._break_off(declared, problem, None)
            self._is_broken, self.full_disk = True, full_disk(problem)
            return False
        return True

    def _ready(self, ended: Ended, declared: Declared) -> Condition:
        now, revision = self.clock.now(), declared.revision
        if (error := _error_of(ended)) is not None or isinstance(ended, Exception):
            return cluster_failed(type(error).__name__, str(error), now, revision)
        if ended.failed:
            first = ended.failed[0]
            message = f"{len(ended.failed)} of {len(ended.steps)} steps failed; {first.step.connector}: {first.message}"
            return cluster_failed("StepsFailed", message, now, revision)
        return cluster_ready(self._statuses, len(ended.diagnostics.errors), now, revision)

    def _record(self, after: Conditions) -> None:
        changed, gone = changes(self._conditions, after)
        self.ledger.status.conditions.record(self.cluster, changed, gone)
        self._conditions = after
        self._publish(conditions=after)

    def _publish(self, **changes: object) -> None:
        self.state.update_cluster(self.cluster, **changes)


def _is_of_connectors(key: ConditionKey) -> bool:
    """Whether a plan determines the condition: one of a connector, or a warning that names no known connector."""
    return key[0] != CLUSTER or key[1] is ConditionType.WARNING


def _trace(outcome: StepOutcome) -> None:
    if outcome.result is Result.SKIPPED:
        return
    step, error = outcome.step, "" if outcome.result.is_in_place else "StepFailed"
    attributes: dict[str, str | int] = {"gitops_connect.connector": step.connector}
    if step.offset_change is not None:
        attributes["gitops_connect.offset_change"] = step.offset_change.name
    if outcome.id is not None:
        attributes["gitops_connect.step"] = outcome.id
    ended_span(f"step {step.action.value}", outcome.seconds, attributes, error)


def full_disk(ended: Ended | None) -> FreeSpace | None:
    """The disk without enough space that is the cause of an error."""
    return ended.full_disk if isinstance(ended, GitopsConnectError) else None


def _error_of(ended: Ended) -> Exception | None:
    """Why the reconciliation ended early, or did not apply the commit; None for steps that failed."""
    return ended if isinstance(ended, Exception) else unsafe(ended.plan)


def went_well(ended: Ended | None) -> bool:
    """Whether every step took effect; an interruption is no failure."""
    return isinstance(ended, ReconciliationOutcome) and (ended.succeeded or ended.interrupted)
