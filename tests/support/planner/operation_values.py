"""One change of offsets, as tests of the ledger begin, settle and rewrite it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gitops_connect.ledger.operation_store import Operations
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.operations import (
    Acknowledgement,
    Operation,
    OperationKind,
    OperationRecord,
    OperationState,
)

LOCAL = ClusterName("local")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
STATES = (None, *OperationState)
FREE = {None, OperationState.INTENDED, OperationState.FAILED, OperationState.RELEASED}
"""States in which the operation certainly has no effect."""


def offsets(*positions: int) -> Offsets:
    return {partition_text({"filename": f"/{n}"}): offset_text({"position": at}) for n, at in enumerate(positions)}


STOOD = offsets(7, 8)
DECLARED: OffsetPatch = {**offsets(1), partition_text({"filename": "/1"}): None}
SKIP = Operation(
    OperationName("skip"),
    ConnectorName("orders"),
    OperationKind.ALTER,
    Digest("d" * 64),
    Revision("a" * 40),
    DECLARED,
    frozenset({Acknowledgement.REWIND, Acknowledgement.TOMBSTONE}),
)
REWRITTEN = replace(SKIP, digest=Digest("e" * 64), revision=Revision("b" * 40), offsets=offsets(2))


def bring_to(operations: Operations, state: OperationState | None) -> OperationRecord | None:
    """Bring the operation to that state by the calls that lead to it."""
    match state:
        case OperationState.INTENDED:
            operations.intend(LOCAL, SKIP, NOON)
        case OperationState.OPEN:
            operations.begin(LOCAL, SKIP, STOOD, NOON)
        case OperationState.SETTLED:
            operations.begin(LOCAL, SKIP, STOOD, NOON)
            operations.settle(LOCAL, SKIP.name, offsets(1), "externally managed", NOON)
        case OperationState.FAILED:
            operations.fail(LOCAL, SKIP, "no", final=False, at=NOON)
        case OperationState.RELEASED:
            bring_to(operations, OperationState.SETTLED)
            operations.release(LOCAL, SKIP.name)
        case OperationState.UNKNOWN:
            operations.mark(LOCAL, replace(record_of(SKIP), state=OperationState.UNKNOWN))
    return operations.records(LOCAL).get(SKIP.name)


def record_of(operation: Operation) -> OperationRecord:
    return OperationRecord(
        operation.name,
        operation.connector,
        operation.kind,
        OperationState.OPEN,
        operation.digest,
        operation.revision,
        NOON,
    )
