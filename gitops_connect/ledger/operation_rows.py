"""Rows of the table of operations: from the values of `model.operations` to columns, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from sqlalchemy import ColumnElement, Connection, Row, select

from gitops_connect.errors import OperationSettled
from gitops_connect.ledger.pieces import OffsetsPart
from gitops_connect.ledger.tables import OPERATIONS, upsert
from gitops_connect.model.names import ClusterName, OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets, offsets_digest, pack
from gitops_connect.model.operations import (
    NOTHING_SENT,
    Acknowledgement,
    Operation,
    OperationKind,
    OperationRecord,
    OperationState,
)

_BLOBS = {"declared", "snapshot"}
_MAY_HAVE_HAPPENED = {OperationState.OPEN, OperationState.SETTLED, OperationState.UNKNOWN}
RECORD = [column for column in OPERATIONS.c if column.name not in _BLOBS]
"""The columns that `read` needs: offsets are large and rarely needed."""


def operation(row: Row[Any], offsets: OffsetPatch) -> Operation:
    """The operation of a row, with the given unpacked offsets; the offsets of a large operation are in pieces."""
    return Operation(
        row.name,
        row.connector,
        OperationKind(row.kind),
        row.digest,
        row.revision,
        offsets,
        frozenset(Acknowledgement(word) for word in json.loads(row.acknowledged)),
        is_large(row),
    )


def is_large(row: Row[Any]) -> bool:
    """Whether the operation's offsets are in pieces."""
    return row.entries is not None


def state(row: Row[Any]) -> OperationState:
    """The state of the operation."""
    return OperationState(row.state)


def is_open_with(row: Row[Any], operation: Operation) -> bool:
    """Whether exactly this operation was begun already."""
    return state(row) is OperationState.OPEN and row.digest == operation.digest


def failures(row: Row[Any] | None, operation: Operation) -> int:
    """The number of consecutive failures of the operation with its current digest."""
    return int(row.failures) if row is not None and row.digest == operation.digest else 0


def new_attempt(row: Row[Any] | None, operation: Operation) -> dict[str, Any]:
    """A new attempt clears the last message and warning, and keeps the number of failures."""
    return {"failures": failures(row, operation), "final": False, "message": "", "warning": ""}


def entered(operation: Operation, state: OperationState, at: datetime) -> dict[str, Any]:
    """The columns of an operation that enters a state: its declaration, and no earlier offsets."""
    return {
        **nothing_stood(),
        "state": state.value,
        "since": at,
        "connector": operation.connector,
        "kind": operation.kind.value,
        "digest": operation.digest,
        "revision": operation.revision,
        "acknowledged": json.dumps(sorted(one.value for one in operation.acknowledged)),
        "declared": None if operation.is_large else pack(operation.offsets),
        "entries": None,
        "sent": None,
    }


def recorded(operation: Operation, seen: Offsets | None, at: datetime) -> dict[str, Any]:
    """An operation that is recorded as applied without a request: each partition was at the declared offset.

    `seen` are the connector's offsets, kept for an undo; None if they are too many for memory.
    """
    values = {**entered(operation, OperationState.SETTLED, at), "failures": 0, "final": False}
    values["message"] = "" if operation.kind is OperationKind.LIST else NOTHING_SENT
    if seen is None:
        return values
    found = offsets_digest(seen)
    return {**values, "digest_before": found, "digest_after": found, "snapshot": pack(seen)}


def has_pieces(row: Row[Any], part: OffsetsPart) -> bool:
    """Whether that part of its offsets was saved in pieces, even if there are no pieces."""
    return is_large(row) if part is OffsetsPart.DECLARED else row.digest_before is not None and row.snapshot is None


def nothing_large() -> dict[str, Any]:
    """The columns of a large operation whose pieces are removed."""
    return {**nothing_stood(), "declared": None, "entries": None, "sent": None}


def parts_lost(blobs: dict[str, Any]) -> tuple[OffsetsPart, ...]:
    """The parts whose offsets are removed according to `blobs_kept`."""
    parts = {"declared": OffsetsPart.DECLARED, "snapshot": OffsetsPart.BEFORE}
    return tuple(part for column, part in parts.items() if column in blobs)


def nothing_stood() -> dict[str, Any]:
    """The columns of an operation without earlier offsets: without an effect there is no undo, and no warning."""
    return {"digest_before": None, "digest_after": None, "snapshot": None, "warning": ""}


def columns(record: OperationRecord) -> dict[str, Any]:
    """The columns of a whole record, except its key."""
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
    """The columns to clear: a snapshot is the undo, and is kept only if the new record is of the same operation."""
    if row is None or row.digest is None or row.digest != record.digest:
        blobs: dict[str, Any] = {"declared": None, "acknowledged": "[]", "entries": None, "sent": None}
    else:
        blobs = {}
    if row is None or row.digest_before != record.before:
        blobs["snapshot"] = None
    return blobs


def read(row: Row[Any]) -> OperationRecord:
    """The record of a row, for the rest of the program."""
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
        row.entries,
        row.sent,
    )


def storable(text: str) -> str:
    """The text without characters that no database accepts: half of a surrogate pair, a NUL. Workers may send them."""
    return text.encode(errors="replace").decode().replace("\0", "?")


def this(cluster: ClusterName, name: OperationName) -> ColumnElement[bool]:
    """The condition for the row of the operation."""
    return (OPERATIONS.c.cluster == cluster) & (OPERATIONS.c.name == name)


def find(connection: Connection, cluster: ClusterName, name: OperationName, *, locked: bool = False) -> Row[Any] | None:
    """The current row of the operation; `locked`: nobody else writes it before the transaction ends."""
    query = select(OPERATIONS).where(this(cluster, name))
    return connection.execute(query.with_for_update() if locked else query).one_or_none()


def put(connection: Connection, cluster: ClusterName, name: OperationName, values: Mapping[str, Any]) -> None:
    """Write these columns, and leave the others unchanged."""
    upsert(connection, OPERATIONS, {"cluster": cluster, "name": name}, values)


def require_free(cluster: ClusterName, row: Row[Any] | None) -> None:
    """Raise OperationSettled unless the recorded operation certainly had no effect."""
    if row is not None and state(row) in _MAY_HAVE_HAPPENED:
        _refuse(cluster, row)


def _refuse(cluster: ClusterName, row: Row[Any]) -> NoReturn:
    name, since = row.name, f"{row.since:%Y-%m-%d %H:%M:%S} UTC"
    if state(row) is OperationState.SETTLED:
        raise OperationSettled(
            f"{name} was applied to {cluster} on {since} and is not applied again; give a new change its own name"
        )
    if state(row) is OperationState.OPEN:
        raise OperationSettled(
            f"{name} was started on {cluster} on {since} with other offsets, and may have taken effect; it is finished"
            " with the offsets that it began with; give a new change its own name"
        )
    raise OperationSettled(
        f"it is unknown whether {name} was applied to {cluster}; run `gitops-connect ledger resolve {name}` with"
        " --applied or --not-applied"
    )
