"""Records the offset changes of a reconciliation: the journal of `apply`, stored in the ledger."""

from __future__ import annotations

from contextlib import AbstractContextManager

from gitops_connect.apply.journal import LargeChange
from gitops_connect.ledger.operations import Operations
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Review
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.shapes import Shape
from gitops_connect.offset_changes.large.open_changes import LargeChanges
from gitops_connect.plan.offsets import review, review_unfinished
from gitops_connect.plan.situation import Situation


class LedgerJournal:
    """The journal of `apply`, stored in the ledger. `operations` must be under the lease of the cluster."""

    def __init__(self, operations: Operations, situation: Situation, clock: Clock, large: LargeChanges) -> None:
        self._operations = operations
        self._situation = situation
        self._clock = clock
        self._large = large
        self._cluster = situation.desired.cluster

    def intend(self, operation: Operation) -> None:
        """Record the operation before the connector is created."""
        self._operations.intend(self._cluster, operation, self._clock.now())

    def is_begun(self, operation: Operation) -> bool:
        """Whether the operation was in progress in the ledger when this plan was made."""
        return operation.name in self._situation.offsets.unfinished

    def begin(self, operation: Operation, before: Offsets) -> None:
        """Record the operation and the current offsets before they are changed."""
        self._operations.begin(self._cluster, operation, before, self._clock.now())

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """Record the operation as applied before the connector may run."""
        self._operations.settle(self._cluster, operation.name, after, warning, self._clock.now())

    def record(self, operation: Operation) -> None:
        """Record in one transaction, so that a killed process has recorded all of it or nothing."""
        seen = None if operation.is_large else self._situation.offsets.live[operation.connector]
        self._operations.record(self._cluster, operation, seen, self._clock.now())

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """Record that the operation changed nothing."""
        self._operations.fail(self._cluster, operation, message, final=final, at=self._clock.now())

    def note(self, operation: Operation, message: str) -> None:
        """Record that the operation may have changed something."""
        self._operations.note(self._cluster, operation.name, message)

    def review(self, operation: Operation, live: Offsets) -> Review:
        """Review the operation as the plan does, with the current offsets."""
        shape = self._shape(operation.connector)
        unfinished = self._situation.offsets.unfinished.get(operation.name)
        if unfinished is not None and operation.kind is not OperationKind.CLEAR:
            return review_unfinished(operation, unfinished.before, live, shape)
        return review(operation, live, shape, self._situation.policy.max_skip)

    def are_too_many(self, operation: Operation) -> bool:
        """Whether the current offsets exceed memory: reads them; see `open_changes`."""
        return self._large.are_too_many(operation)

    def large(self, operation: Operation) -> AbstractContextManager[LargeChange]:
        """Open the large change of this operation; see `open_changes`."""
        return self._large.open(operation)

    def _shape(self, connector: ConnectorName) -> Shape | None:
        return self._situation.offsets.shapes.get(connector)
