"""Records a reconciliation in the ledger: each offset change, and each connector as soon as it is in sync.

Each connector is written separately, so that the next process knows what a killed process had done. If a create was
never recorded, the next reconciliation finds it as a declared connector that already exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.operations import Operations
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName, Revision
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import (
    Operation,
    OperationKind,
    OperationRecord,
    OperationState,
    clear_name,
    seed_name,
)
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Action, OperationStatus, Plan, PlannedOperation
from gitops_connect.plan.operation_status import is_cleared
from gitops_connect.plan.ownership import remember
from gitops_connect.plan.situation import Situation


class LedgerJournal:
    """The `Journal` of `apply`. `operations` must be under the lease of the cluster."""

    def __init__(self, operations: Operations, situation: Situation, clock: Clock) -> None:
        self._operations = operations
        self._cluster = situation.desired.cluster
        self._live = situation.offsets.live
        self._clock = clock

    def intend(self, operation: Operation) -> None:
        """Record the operation before the connector is created."""
        self._operations.intend(self._cluster, operation, self._clock.now())

    def begin(self, operation: Operation, before: Offsets) -> None:
        """Record the operation and the current offsets before they are changed."""
        self._operations.begin(self._cluster, operation, before, self._clock.now())

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """Record the operation as applied before the connector may run."""
        self._operations.settle(self._cluster, operation.name, after, warning, self._clock.now())

    def record(self, operation: Operation) -> None:
        """Record in one transaction, so that a killed process has recorded all of it or nothing."""
        current = None if operation.is_large else self._live[operation.connector]
        self._operations.record(self._cluster, operation, current, self._clock.now())

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """Record that the operation changed nothing."""
        self._operations.fail(self._cluster, operation, message, final=final, at=self._clock.now())

    def note(self, operation: Operation, message: str) -> None:
        """Record that the operation may have changed something."""
        self._operations.note(self._cluster, operation.name, message)


class LedgerRecords:
    """Records one plan while it is carried out."""

    def __init__(self, ledger: Ledger, operations: Operations, situation: Situation, plan: Plan) -> None:
        """`operations` are the ledger's, under the lease of the cluster."""
        self._ledger = ledger
        self._operations = operations
        self._situation = situation
        self._plan = plan
        self._desired = {connector.name: connector for connector in situation.desired.connectors}
        self._clearing: set[ConnectorName] = set()
        self._left = {connector.name: len(connector.steps) for connector in plan.connectors if connector.applicable}

    def before(self, now: datetime) -> None:
        """Record changes without a step: adoptions, documents that match their connector, and deleted connectors."""
        cluster, revision = self._situation.desired.cluster, self._situation.revision
        self._of_operations(now)
        attempted = self._ledger.revisions(cluster).attempted
        if attempted is None or attempted.revision != revision:
            self._ledger.record_attempt(cluster, revision, now)
        for name in self._plan.forgotten:
            self._ledger.forget(cluster, name)
        self._record(self._in_place(), Origin.ADOPTED, now)

    def _of_operations(self, now: datetime) -> None:
        """Record operations without a step, before the revision: a ledger with a revision is no longer new."""
        cluster, offsets = self._situation.desired.cluster, self._situation.offsets
        unknown = [one for one in self._plan.operations if one.status is OperationStatus.UNKNOWN]
        if unknown:
            self._operations.mark(cluster, *(self._unknown(one, now) for one in unknown))
        for name in _withdrawn_seeds(self._situation):
            self._operations.drop(cluster, name)
        for name, record in offsets.records.items():
            if is_cleared(self._situation, record.connector) and name == clear_name(record.connector):
                self._cleared(record.connector, now)
            elif record.kind is OperationKind.CLEAR and record.state is OperationState.SETTLED:
                self._operations.release(cluster, name)

    def _unknown(self, one: PlannedOperation, now: datetime) -> OperationRecord:
        """The record of an operation in state UNKNOWN. If it was begun, the fields of its earlier record are kept."""
        state, revision = OperationState.UNKNOWN, self._situation.revision
        begun = self._situation.offsets.records.get(one.name)
        if begun is not None:
            return replace(begun, state=state, since=now, message=one.message)
        return OperationRecord(one.name, one.connector, one.kind, state, one.digest, revision, now)

    def _cleared(self, connector: ConnectorName, now: datetime) -> None:
        """Record that the connector was deleted with its offsets: a new connector of that name is seeded again.

        The deletion itself is released last: if it is not released, the next reconciliation does the rest.
        """
        operations, cluster = self._operations, self._situation.desired.cluster
        seed = self._situation.offsets.records.get(seed_name(connector))
        if seed is not None and seed.state is OperationState.SETTLED:
            operations.release(cluster, seed_name(connector))
        operations.settle(cluster, clear_name(connector), {}, "", now)
        operations.release(cluster, clear_name(connector))

    def after(self, outcome: StepOutcome, now: datetime) -> None:
        """Record a connector when its last step took effect, whether or not the connector works with it.

        If the server masks a changed value, a config that is not recorded would be sent again in every reconciliation.
        """
        if outcome.result is not Result.APPLIED and not outcome.took_effect:
            return
        name = outcome.step.connector
        self._left[name] -= 1
        if outcome.step.action is Action.RESET and outcome.step.operation is not None:
            self._clearing |= {name} if outcome.step.operation.kind is OperationKind.CLEAR else set()
        if outcome.step.action is Action.DELETE:
            if name in self._clearing:
                self._cleared(name, now)
            self._ledger.forget(self._situation.desired.cluster, name)
        elif name in self._desired:
            self._made_progress(self._desired[name], outcome.step.action, now)

    def _made_progress(self, connector: DesiredConnector, action: Action, now: datetime) -> None:
        """A created connector is managed from then on; it is recorded as in sync only after its last step."""
        origin = Origin.ADOPTED if connector.name in self._situation.observed.connectors else Origin.CREATED
        if not self._left[connector.name]:
            self._record([connector], origin, now)
        elif action is Action.CREATE:
            self._ledger.record(replace(remember(self._situation, connector, origin, now), desired=None))

    def end(self, outcomes: Sequence[StepOutcome], now: datetime) -> None:
        """Record how the attempt ended; the revision is applied if no step failed and the plan was complete."""
        cluster, revision = self._situation.desired.cluster, self._situation.revision
        undone = [one for one in outcomes if one.result is not Result.APPLIED]
        if undone:
            first = undone[0]
            result = f"{len(undone)} of {len(outcomes)} steps were not applied; the first is of {first.step.connector}"
            self._ledger.record_attempt(cluster, revision, now, result)
        elif self._plan.complete:
            self._succeeded(cluster, revision, now)

    def _succeeded(self, cluster: ClusterName, revision: Revision, now: datetime) -> None:
        recorded = self._ledger.revisions(cluster)
        if recorded.attempted is not None and recorded.attempted.result:
            self._ledger.record_attempt(cluster, revision, now)
        if recorded.applied is None or recorded.applied.revision != revision:
            self._ledger.record_applied(cluster, revision, now)

    def _in_place(self) -> list[DesiredConnector]:
        planned: set[ConnectorName] = {connector.name for connector in self._plan.connectors if connector.steps}
        untouchable = self._situation.invalid | self._situation.observed.unknown
        return [
            self._desired[name]
            for name in self._desired.keys() & self._situation.observed.connectors.keys()
            if name not in planned | untouchable and self._may_own(self._desired[name])
        ]

    def _may_own(self, connector: DesiredConnector) -> bool:
        ours = connector.name in self._situation.ownership or connector.name in self._plan.adopted
        return ours and connector.state is not TargetState.ABSENT

    def _record(self, connectors: Sequence[DesiredConnector], origin: Origin, now: datetime) -> None:
        """Write only differences: a reconciliation in which nothing changed writes nothing."""
        records = (remember(self._situation, connector, origin, now) for connector in connectors)
        recorded = self._situation.ownership
        if changed := [one for one in records if _differs(one, recorded.get(one.connector))]:
            self._ledger.record(*changed)


def _differs(record: Ownership, recorded: Ownership | None) -> bool:
    return recorded is None or (recorded.desired, recorded.applied, recorded.on_delete) != (
        record.desired,
        record.applied,
        record.on_delete,
    )


def _withdrawn_seeds(situation: Situation) -> Iterator[OperationName]:
    """Seeds that were waiting for their connector, and that no document declares any more."""
    declared = {one.name for one in situation.desired.connectors if one.initial_offsets is not None}
    for name, record in situation.offsets.records.items():
        undone = record.state in (OperationState.INTENDED, OperationState.FAILED)
        if record.kind is OperationKind.SEED and undone and record.connector not in declared | situation.desired.held:
            yield name
