"""Records a reconciliation in the ledger: each offset change, and each connector as soon as it is in sync.

Each connector is written separately, so that the next process knows what a killed process had done. A connector is
recorded as managed before it is created.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from gitops_connect.errors import GitopsConnectError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector, Mode, TargetState
from gitops_connect.model.differences import Difference
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offset_changes import (
    Failure,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
    clear_name,
    seed_name,
)
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.outcomes import ActorKind, JournalEntry, Result, StepOutcome
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange, Step
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.reviewed_plans import ReviewedPlan
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.annotation_warnings import annotation_conditions
from gitops_connect.plan.conditions import changes
from gitops_connect.plan.connector_steps import steady
from gitops_connect.plan.offset_change_status import is_cleared, withdrawn_seeds
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.restarts import seen_before_managed, uncounted
from gitops_connect.plan.reviewed import review_of
from gitops_connect.plan.rollbacks import begin_trial, next_histories, queued
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.step_actors import actor_of
from gitops_connect.plan.topics import resets_seen_before_managed
from gitops_connect.report.offset_lines import largest_moves

_STARTED_STATES = frozenset({WorkerState.RUNNING, WorkerState.PAUSED, WorkerState.FAILED})
_STARTS = {Action.RESUME: TargetState.RUNNING, Action.PAUSE: TargetState.PAUSED}
"""The steps that end a stop for a change or a reset of offsets, and the state after them."""


class LedgerRecords:
    """Records one plan while it is carried out; the `Journal` of `apply`."""

    def __init__(self, ledger: Ledger, situation: Situation, plan: Plan, clock: Clock, by: str = "") -> None:
        """`ledger` is under the lease of the cluster. `by` is the person who applies the plan by a command."""
        self._ledger = ledger
        self._offset_changes = ledger.offset_changes
        self._situation = situation
        self._plan = plan
        self._clock, self._by = clock, by
        self._planned = {one.name: one for one in plan.connectors}
        self._authors = {situation.revision: situation.author}
        self._cluster, self._revision = situation.desired.cluster, situation.revision
        self._desired = {connector.name: connector for connector in situation.desired.connectors}
        self._creating: set[ConnectorName] = set()
        self._clearing: set[ConnectorName] = set()
        self._adoptions: dict[ConnectorName, int] = {}
        self._stopped = set(situation.stopped)
        self._left = {connector.name: len(connector.steps) for connector in plan.connectors if connector.applicable}
        waiting = {
            one.name for one in plan.connectors if any(hold.kind is HoldKind.OFFSET_CHANGE for hold in one.holds)
        }
        self._partial = {one.name for one in plan.connectors if one.is_partial} | situation.invalid | waiting
        topics = (step for step in plan.steps if step.topics is not None and step.topics.is_of_deletion)
        self._deleted = {step.connector for step in topics}
        """Managed until their last step has ended: the topics that an interrupted deletion leaves are still reset."""
        self._returns_to = {  # the last step decides
            step.connector: _STARTS.get(step.action) or _state_before(situation, step.connector)
            for step in plan.steps
            if step.action in _STARTS or self._may_return(step)
        }

    def _may_return(self, step: Step) -> bool:
        """Whether the connector may be started after this stop or deletion, although the plan does not say so.

        Its document may be restored before the deletion, and an offset change that waits may be withdrawn.
        """
        desired = self._desired.get(step.connector)
        is_to_stop = desired is not None and desired.state is TargetState.STOPPED
        was_there = step.connector in self._situation.observed.connectors
        return step.action is Action.DELETE or (step.action is Action.STOP and was_there and not is_to_stop)

    def adopt(self, connectors: Collection[ConnectorName]) -> None:
        """A connector without other steps is in sync. The others are recorded as such after their last step."""
        self._ledger.record(*(self._adopted(self._desired[name]) for name in connectors))
        these = set(connectors)
        steps = (step for step in self._plan.steps if step.action is Action.ADOPT and step.connector in these)
        entries = [self._entry(StepOutcome(step, Result.APPLIED)) for step in steps]
        with suppress(GitopsConnectError):  # as in `after`
            numbers = self._ledger.status.record_steps(self._cluster, entries)
            self._adoptions = {one.connector: number for one, number in zip(entries, numbers, strict=True)}

    def _adopted(self, connector: DesiredConnector) -> Ownership:
        record = remember(self._situation, connector, Origin.ADOPTED, self._clock.now())
        is_in_sync = self._left[connector.name] == 1 and connector.name not in self._partial
        return record if is_in_sync else replace(record, desired=None, applied={})

    def begin(self, offset_change: OffsetChange, before: Offsets, difference: Difference) -> None:
        now = self._clock.now()
        approvals = self._ledger.reviews.effect_approvals(self._situation.reviews, self._cluster, offset_change)
        effect = AppliedEffect(now, largest_moves(difference), approvals)
        self._offset_changes.begin(self._cluster, offset_change, before, now, effect)

    def settle(self, offset_change: OffsetChange, after: Offsets, warning: str) -> None:
        self._offset_changes.settle(self._cluster, offset_change.name, after, warning, self._clock.now())

    def record(self, offset_change: OffsetChange) -> None:
        """Record in one transaction, so that a killed process has recorded all of it or nothing."""
        is_unread = offset_change.is_large or offset_change.kind is OffsetChangeKind.LIST
        current = None if is_unread else self._situation.offsets.current[offset_change.connector]
        self._offset_changes.record(self._cluster, offset_change, current, self._clock.now())

    def fail(self, offset_change: OffsetChange, failure: Failure) -> None:
        self._offset_changes.fail(self._cluster, offset_change, failure, self._clock.now())

    def note(self, offset_change: OffsetChange, message: str) -> None:
        self._offset_changes.note(self._cluster, offset_change.name, message)

    def creating(self, steps: Collection[Step]) -> None:
        new = [step for step in steps if step.connector not in self._creating]
        unmanaged = [step.connector for step in new if step.connector not in self._situation.ownership]
        with self._ledger.together():
            for step in new:
                if step.offset_change is not None:
                    self._offset_changes.intend(self._cluster, step.offset_change, self._clock.now())
            self._ledger.record(*map(self._to_be_created, unmanaged))
        self._creating.update(step.connector for step in new)

    def _to_be_created(self, name: ConnectorName) -> Ownership:
        on_delete, now = self._desired[name].on_delete, self._clock.now()
        return Ownership(self._cluster, name, Origin.CREATED, self._revision, now, on_delete=on_delete)

    def stopping(self, connector: ConnectorName) -> None:
        if (state := self._returns_to.get(connector)) is not None:
            self._ledger.stopped.record(self._cluster, {connector: state})
            self._stopped.add(connector)

    def configuring(self, connector: ConnectorName) -> None:
        trial = begin_trial(self._situation, self._plan, self._desired[connector], self._clock.now())
        if trial != self._situation.config_histories.get(connector):
            self._ledger.configs.record(self._cluster, {connector: trial})

    def rejected(self, connector: ConnectorName) -> None:
        waiting = queued(self._situation, self._desired[connector])
        self._ledger.configs.record(self._cluster, {connector: waiting})

    def count_restart(self, connector: ConnectorName) -> None:
        earlier = self._situation.restarts.get(connector)
        count = 1 if earlier is None else earlier.count + 1
        self._ledger.restarts.record(self._cluster, {connector: RestartRecord(count, self._clock.now())})

    def before(self) -> None:
        """Record changes without a step: documents that match their connector, and deleted connectors."""
        with self._ledger.together():
            self._record_without_steps()

    def _record_without_steps(self) -> None:
        self._record_offset_changes()
        attempted = self._ledger.revisions(self._cluster).attempted
        if attempted is None or attempted.revision != self._revision:
            self._ledger.record_attempt(self._cluster, self._revision, self._clock.now())
        for name in self._plan.forgotten:
            self._ledger.forget(self._cluster, name)
        self._ledger.stopped.record(self._cluster, {}, tuple(_returned(self._situation)))
        seen = {(name, request.kind): request.id for name, request in seen_before_managed(self._situation)}
        self._ledger.restart_requests.record(self._cluster, {**seen, **resets_seen_before_managed(self._situation)})
        self._ledger.restarts.record(self._cluster, {}, tuple(uncounted(self._situation)))
        self._record_positions()
        self._ledger.configs.record(self._cluster, next_histories(self._situation, self._plan))
        differing = {one.name for one in self._plan.connectors if one.steps}
        untouchable = differing | self._partial | self._situation.observed.unknown
        there = self._situation.ownership.keys() & self._situation.observed.connectors.keys()
        in_sync = (self._desired[name] for name in self._desired.keys() & there if name not in untouchable)
        present = (one for one in in_sync if one.state is not TargetState.ABSENT)
        self._record(remember(self._situation, one, Origin.ADOPTED, self._clock.now()) for one in present)

    def _record_positions(self) -> None:
        before, now = self._ledger.status.offset_positions.of(self._cluster), self._situation.positions
        changed = {name: one for name, one in now.items() if before.get(name) != one}
        self._ledger.status.offset_positions.record(self._cluster, changed, before.keys() - now.keys())

    def _record_offset_changes(self) -> None:
        """Record offset changes without a step, before the revision: a ledger with a revision is no longer new."""
        records = self._situation.offsets.records
        known = {name for name, one in records.items() if one.state is OffsetChangeState.UNKNOWN}
        found = [one for one in self._plan.offset_changes if one.status is OffsetChangeStatus.UNKNOWN]
        if unknown := [one for one in found if one.name not in known]:
            self._offset_changes.mark(self._cluster, *map(self._unknown, unknown))
        for name in withdrawn_seeds(self._situation):
            self._offset_changes.drop(self._cluster, name)
        for name, record in self._situation.offsets.records.items():
            if is_cleared(self._situation, record.connector) and name == clear_name(record.connector):
                self._record_cleared(record.connector)
            elif record.kind is OffsetChangeKind.CLEAR and record.state is OffsetChangeState.SETTLED:
                self._offset_changes.release(self._cluster, name)

    def _unknown(self, one: PlannedOffsetChange) -> OffsetChangeRecord:
        """The record of an offset change in state UNKNOWN. If it was begun, the fields of its earlier record are
        kept."""
        state, now = OffsetChangeState.UNKNOWN, self._clock.now()
        begun = self._situation.offsets.records.get(one.name)
        if begun is not None:
            return replace(begun, state=state, since=now, message=one.message)
        return OffsetChangeRecord(one.name, one.connector, one.kind, state, one.digest, self._revision, now)

    def _record_cleared(self, connector: ConnectorName) -> None:
        """Record that the connector was deleted with its offsets: a new connector of that name is seeded again.

        The deletion itself is released last: if it is not released, the next reconciliation does the rest.
        """
        seed = self._situation.offsets.records.get(seed_name(connector))
        if seed is not None and seed.state is OffsetChangeState.SETTLED:
            self._offset_changes.release(self._cluster, seed_name(connector))
        self._offset_changes.settle(self._cluster, clear_name(connector), {}, "", self._clock.now())
        self._offset_changes.release(self._cluster, clear_name(connector))

    def after(self, outcomes: Sequence[StepOutcome], listen: Callable[[StepOutcome], object]) -> None:
        """Record the steps and their effects in one transaction. `listen` receives each with the id of the step.

        If that fails, all are recorded separately, and the first error is raised at the end. The steps are also
        recorded without the lease, and the next step, which may resume the connector, must not depend on the history:
        the log has the step, too. If the answer to a commit was lost, the history may contain steps twice.
        """
        for outcome in outcomes:
            self._count(outcome)
        try:
            with self._ledger.together():
                self._record_outcomes(outcomes)
                recorded = self._record_steps(outcomes)
        except Exception:  # after any error of one step, the others are recorded
            self._after_each(outcomes, listen)
        else:
            for outcome in recorded:
                listen(outcome)

    def _after_each(self, outcomes: Sequence[StepOutcome], listen: Callable[[StepOutcome], object]) -> None:
        recorded, errors = outcomes, list[Exception]()
        with suppress(GitopsConnectError):
            recorded = self._record_steps(outcomes)
        for outcome in recorded:
            try:
                with self._ledger.together():
                    self._record_outcomes([outcome])
            except Exception as error:  # one step must not keep the others from being recorded; it is raised below
                errors.append(error)
                if outcome.created_nothing:  # the lease was lost before the request: the record of `creating` stays
                    listen(outcome)
            else:
                listen(outcome)
        if errors:
            raise errors[0]

    def _count(self, outcome: StepOutcome) -> None:
        """Note how far the steps of the connector are."""
        step, offset_change = outcome.step, outcome.step.offset_change
        if _is_in_effect(outcome):
            self._left[step.connector] -= 1
            if step.action is Action.RESET and offset_change and offset_change.kind is OffsetChangeKind.CLEAR:
                self._clearing.add(step.connector)

    def _record_outcomes(self, outcomes: Iterable[StepOutcome]) -> None:
        """At most one outcome of each connector. The records of all connectors are written with one statement."""
        records = list[Ownership]()
        for outcome in outcomes:
            step = outcome.step
            if _is_in_effect(outcome) and (record := self._record_effect(step)) is not None:
                records.append(record)
            if outcome.created_nothing:
                self._withdraw_creation(step)
            if step.connector in self._deleted and step.topics and outcome.result is not Result.SKIPPED:
                self._ledger.forget(self._cluster, step.connector)
        self._record(records)

    def _withdraw_creation(self, step: Step) -> None:
        """Undo `creating`: a connector that someone else creates is not deleted, and gets no initial offsets.

        What an earlier process has recorded is kept: its request may have created the connector.
        """
        if step.connector not in self._situation.ownership:
            self._ledger.disown(self._cluster, step.connector)
        seed = step.offset_change
        if seed is not None and (earlier := self._situation.offsets.records.get(seed.name)) is not None:
            self._offset_changes.mark(self._cluster, replace(earlier, before=None, after=None))  # `intend` removed them
        elif seed is not None:
            self._offset_changes.drop(self._cluster, seed.name)

    def _record_effect(self, step: Step) -> Ownership | None:
        """Record what the step means, and return the new record of its connector, if there is one.

        There is one when the last step took effect, whether or not the connector works then. If the server masks a
        changed value, a config that is not recorded would be sent again in every reconciliation. Steps that do not
        bring a connector in sync with its document (`_partial`) are those of a suspended connector, those without a
        review unless they undo drift or roll back, the stop of one whose config has errors, and those of one that is
        not started because of its offset changes.
        """
        name, action = step.connector, step.action
        self._record_facts(step)
        if action is Action.DELETE:
            if name in self._clearing:
                self._record_cleared(name)
            if name not in self._deleted:
                self._ledger.forget(self._cluster, name)
        elif self._is_managed(name) and action is not Action.ADOPT:
            # A created connector is managed from then on; it is recorded as in sync only after its last step.
            connector = self._desired[name]
            origin = Origin.ADOPTED if name in self._situation.observed.connectors else Origin.CREATED
            record = remember(self._situation, connector, origin, self._clock.now())
            if not self._left[name] and name not in self._partial:
                return record
            if action is Action.CREATE:
                return replace(record, desired=None)
        return None

    def _is_managed(self, name: ConnectorName) -> bool:
        """Whether a step makes the connector managed: not the reset of topics that a deleted connector has left."""
        return name in self._desired and self._desired[name].state is not TargetState.ABSENT

    def _record_facts(self, step: Step) -> None:
        """Record what the step means, whatever comes after it: requested restarts, the end of a stop, a new config."""
        if step.action.changes_config and step.connector in self._situation.restarts:  # it may work
            self._ledger.restarts.record(self._cluster, {}, [step.connector])
        if step.restart is not None and step.restart.request is not None:
            requests = (step.restart.request, *step.restart.also)
            self._ledger.restart_requests.record(
                self._cluster, {(step.connector, one.kind): one.id for one in requests}
            )
        if step.topics is not None and step.topics.id:
            done = {(step.connector, RequestKind.TOPICS): step.topics.id}
            self._ledger.restart_requests.record(self._cluster, done)
        if step.action in _STARTS and step.connector in self._stopped:
            self._ledger.stopped.record(self._cluster, {}, [step.connector])

    def _record_steps(self, outcomes: Sequence[StepOutcome]) -> Sequence[StepOutcome]:
        adopted = [
            self._adoptions.get(one.step.connector) if one.step.action is Action.ADOPT else None for one in outcomes
        ]
        new = [self._entry(one) for one, number in zip(outcomes, adopted, strict=True) if number is None]
        numbers = iter(self._ledger.status.record_steps(self._cluster, new) if new else ())
        return [
            replace(one, id=next(numbers) if number is None else number)
            for one, number in zip(outcomes, adopted, strict=True)
        ]

    def _entry(self, outcome: StepOutcome) -> JournalEntry:
        step, planned = outcome.step, self._planned[outcome.step.connector]
        actor = actor_of(self._situation, planned, step, self._by)
        review = None
        if actor.kind is ActorKind.PERSON:
            review = review_of(self._situation.reviews, self._cluster, planned, step)
        return JournalEntry(
            cluster=self._cluster,
            at=self._clock.now(),
            revision=self._revision,
            author=self._situation.author,
            connector=step.connector,
            action=step.action,
            offset_change=step.offset_change.name if step.offset_change is not None else "",
            result=outcome.shown_result,
            reason=step.reason,
            message=outcome.message,
            seconds=outcome.seconds,
            actor=actor.kind,
            who=actor.who or (self._author(actor.commit) if actor.kind is ActorKind.PERSON else ""),
            commit=actor.commit,
            pull_request=review.pull_request if review is not None else None,
            approved_digest=review.digest if review is not None else "",
            approved_by=self._approvers(review) if review is not None else "",
            request=outcome.request,
            answer=outcome.answer,
        )

    def _author(self, commit: Revision) -> str:
        if commit not in self._authors:
            self._authors[commit] = self._ledger.status.author_of(self._cluster, commit)
        return self._authors[commit]

    def _approvers(self, review: ReviewedPlan) -> str:
        approvals = self._ledger.reviews.approvals(review.pull_request)
        return ", ".join(sorted(one.who for one in approvals if one.digest == review.digest))

    def end(self, outcomes: Sequence[StepOutcome]) -> None:
        """Record how the attempt ended.

        The revision is applied if no step failed, the plan was complete, and no step was left out by a command, a
        setting, or a missing review.
        """
        warned = {key: one for key, one in self._situation.conditions.items() if key[1] is ConditionType.WARNING}
        after = annotation_conditions(warned, self._plan, outcomes, self._situation.now)
        self._ledger.status.conditions.record(self._cluster, *changes(warned, after))
        now = self._clock.now()
        undone = [one for one in outcomes if not one.result.is_in_place]
        if undone:
            first = undone[0].step.connector
            result = f"{len(undone)} of {len(outcomes)} steps were not applied; the first is of {first}"
            self._ledger.record_attempt(self._cluster, self._revision, now, result)
        elif self._plan.complete:
            recorded = self._ledger.revisions(self._cluster)
            if recorded.attempted is not None and recorded.attempted.result:
                self._ledger.record_attempt(self._cluster, self._revision, now)
            is_applied = not any(map(self._is_left_out, self._plan.connectors))
            if is_applied and (recorded.applied is None or recorded.applied.revision != self._revision):
                self._ledger.record_applied(self._cluster, self._revision, now)

    def _is_left_out(self, planned: ConnectorPlan) -> bool:
        """Whether the connector has steps that are not applied, although its document does not say so."""
        desired = self._desired.get(planned.name)
        if desired is not None and (desired.suspend or desired.mode is Mode.OBSERVE):
            return False
        if planned.unreviewed is not None:
            return True
        return bool(planned.held or (planned.steps and not planned.applicable))

    def _record(self, records: Iterable[Ownership]) -> None:
        """Write only differences: a reconciliation in which nothing changed writes nothing."""
        recorded = self._situation.ownership
        if changed := [one for one in records if one is not recorded.get(one.connector)]:
            self._ledger.record(*changed)


def _is_in_effect(outcome: StepOutcome) -> bool:
    return outcome.result.is_in_place or outcome.took_effect


def _state_before(situation: Situation, connector: ConnectorName) -> TargetState:
    return steady(situation.observed.connectors[connector].state) or TargetState.RUNNING


def _returned(situation: Situation) -> Iterator[ConnectorName]:
    """Connectors that were stopped for a change or a reset of their offsets, and that have been started since.

    A stopped connector that moves to another worker is UNASSIGNED for a moment.
    """
    for name in situation.stopped:
        connector = situation.observed.connectors.get(name)
        is_gone = connector is None and name not in situation.observed.unknown
        if is_gone or (connector is not None and connector.state in _STARTED_STATES):
            yield name
