"""How a cycle writes down what becomes of its offset changes: the journal of `apply`, kept in the ledger."""

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
    """The journal of `apply`, kept in the ledger. `operations` are to be under the lease of the cluster."""

    def __init__(self, operations: Operations, situation: Situation, clock: Clock, large: LargeChanges) -> None:
        self._operations = operations
        self._situation = situation
        self._clock = clock
        self._large = large
        self._cluster = situation.desired.cluster

    def intend(self, operation: Operation) -> None:
        """Written before the connector is created."""
        self._operations.intend(self._cluster, operation, self._clock.now())

    def is_begun(self, operation: Operation) -> bool:
        """As the ledger had it when this was planned."""
        return operation.name in self._situation.offsets.unfinished

    def begin(self, operation: Operation, before: Offsets) -> None:
        """Written before the offsets are changed, together with those that stand."""
        self._operations.begin(self._cluster, operation, before, self._clock.now())

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        """Written before the connector may run."""
        self._operations.settle(self._cluster, operation.name, after, warning, self._clock.now())

    def record(self, operation: Operation) -> None:
        """One transaction, so that a process that is killed has recorded all of it or nothing."""
        seen = None if operation.is_large else self._situation.offsets.live[operation.connector]
        self._operations.record(self._cluster, operation, seen, self._clock.now())

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        """Nothing was changed."""
        self._operations.fail(self._cluster, operation, message, final=final, at=self._clock.now())

    def note(self, operation: Operation, message: str) -> None:
        """Something may have been changed."""
        self._operations.note(self._cluster, operation.name, message)

    def review(self, operation: Operation, live: Offsets) -> Review:
        """As for the plan, on what stands now."""
        shape = self._shape(operation.connector)
        unfinished = self._situation.offsets.unfinished.get(operation.name)
        if unfinished is not None and operation.kind is not OperationKind.CLEAR:
            return review_unfinished(operation, unfinished.before, live, shape)
        return review(operation, live, shape, self._situation.policy.max_skip)

    def are_too_many(self, operation: Operation) -> bool:
        """Asks for them; see `large_changes`."""
        return self._large.are_too_many(operation)

    def large(self, operation: Operation) -> AbstractContextManager[LargeChange]:
        """The same for a large one; see `large_changes`."""
        return self._large.open(operation)

    def _shape(self, connector: ConnectorName) -> Shape | None:
        return self._situation.offsets.shapes.get(connector)
