"""Rows of the table of operations: from the values of `model.operations` to columns, and back."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Row

from gitops_connect.ledger.schema import OPERATIONS
from gitops_connect.model.offsets import OffsetPatch, pack
from gitops_connect.model.operations import (
    Acknowledgement,
    Operation,
    OperationKind,
    OperationRecord,
    OperationState,
)

_BLOBS = {"declared", "snapshot"}
RECORD = [column for column in OPERATIONS.c if column.name not in _BLOBS]
"""What `read` needs: offsets are large, and seldom asked for."""


def operation(row: Row[Any], offsets: OffsetPatch) -> Operation:
    """What carrying it out needs, with the offsets that the row has packed."""
    return Operation(
        row.name,
        row.connector,
        OperationKind(row.kind),
        row.digest,
        row.revision,
        offsets,
        frozenset(Acknowledgement(word) for word in json.loads(row.acknowledged)),
    )


def state(row: Row[Any]) -> OperationState:
    """How far it is."""
    return OperationState(row.state)


def is_open_with(row: Row[Any], operation: Operation) -> bool:
    """Whether this very operation was begun already."""
    return state(row) is OperationState.OPEN and row.digest == operation.digest


def failures(row: Row[Any] | None, operation: Operation) -> int:
    """In a row, with what the operation says now."""
    return int(row.failures) if row is not None and row.digest == operation.digest else 0


def new_attempt(row: Row[Any] | None, operation: Operation) -> dict[str, Any]:
    """A new attempt forgets what the last one said, and not how many there were."""
    return {"failures": failures(row, operation), "final": False, "message": "", "warning": ""}


def declaration(operation: Operation) -> dict[str, Any]:
    """What the repository says."""
    return {
        "connector": operation.connector,
        "kind": operation.kind.value,
        "digest": operation.digest,
        "revision": operation.revision,
        "acknowledged": json.dumps(sorted(one.value for one in operation.acknowledged)),
        "declared": pack(operation.offsets),
    }


def nothing_stood() -> dict[str, Any]:
    """Without any effect there is nothing to undo, and no warning."""
    return {"digest_before": None, "digest_after": None, "snapshot": None, "warning": ""}


def columns(record: OperationRecord) -> dict[str, Any]:
    """A whole record; its key is left to whoever writes it."""
    return {
        "connector": record.connector,
        "kind": record.kind.value,
        "state": record.state.value,
        "digest": record.digest,
        "revision": record.revision,
        "since": record.since,
        "failures": record.failures,
        "final": record.final,
        "message": storable(record.message),
        "warning": storable(record.warning),
        "digest_before": record.before,
        "digest_after": record.after,
    }


def blobs_kept(row: Row[Any] | None, record: OperationRecord) -> dict[str, Any]:
    """A snapshot is the undo, and is kept with a record that only says more; never under a record of something else."""
    if row is None or row.digest is None or row.digest != record.digest:
        blobs: dict[str, Any] = {"declared": None, "acknowledged": "[]"}
    else:
        blobs = {}
    if row is None or row.digest_before != record.before:
        blobs["snapshot"] = None
    return blobs


def read(row: Row[Any]) -> OperationRecord:
    """The row as the rest of the program sees it."""
    return OperationRecord(
        row.name,
        row.connector,
        OperationKind(row.kind),
        OperationState(row.state),
        row.digest,
        row.revision,
        row.since,
        row.failures,
        row.final,
        row.message,
        row.warning,
        row.digest_before,
        row.digest_after,
    )


def storable(text: str) -> str:
    """What a worker says may hold what no database takes: half of a surrogate pair, a NUL."""
    return text.encode(errors="replace").decode().replace("\0", "?")
