"""Operations in the ledger: which changes of offsets were begun, what stood before each, and which of them are done.

Every method is one transaction, durable when it returns. What stands here decides whether offsets are ever sent again,
so a step from one state to another that is not one of `model.operations` is refused and changes nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update

from gitops_connect.errors import LedgerUnusable, OperationSettled
from gitops_connect.ledger import operation_rows as rows
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.schema import OPERATIONS, upsert
from gitops_connect.model.names import ClusterName, OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets, offsets_digest, pack, unpack
from gitops_connect.model.operations import Operation, OperationRecord, OperationState

_MAY_HAVE_HAPPENED = {OperationState.OPEN, OperationState.SETTLED, OperationState.UNKNOWN}


class Operations:
    """What was done once. Safe for several threads and processes.

    Besides what is said below, every method raises LedgerBusy or LedgerUnusable as the ledger's do.
    """

    def __init__(self, database: Database, lease: Lease | None = None) -> None:
        """For `Ledger.operations`, and for `under`."""
        self._database = database
        self._lease = lease

    def under(self, lease: Lease) -> Operations:
        """The same operations; but a write raises LedgerBusy, and changes nothing, once the lease is lost."""
        return Operations(self._database, lease)

    def records(self, cluster: ClusterName) -> Mapping[OperationName, OperationRecord]:
        """All operations of that cluster, in the order of their names."""
        with self._database.read() as connection:
            found = connection.execute(select(*rows.RECORD).where(OPERATIONS.c.cluster == cluster)).all()
        return {row.name: rows.read(row) for row in sorted(found, key=lambda row: str(row.name))}

    def saved(self, cluster: ClusterName, name: OperationName) -> Operation:
        """The operation as it was when `begin` or `intend` saved it: for finishing it.

        Raises LedgerUnusable where nothing is saved: it is not known, failed, or was never begun here.
        """
        with self._database.read() as connection:
            row = _find(connection, cluster, name)
        if row is None or row.declared is None or row.digest is None:
            raise LedgerUnusable(
                f"the ledger {self._database.place} holds no offsets of {name} on {cluster}:"
                f" gitops-connect ledger show {name} says what it knows"
            )
        return rows.operation(row, self._unpack(row, row.declared))

    def declared(self, cluster: ClusterName, name: OperationName) -> OffsetPatch | None:
        """The offsets that it was begun with; None where none are saved."""
        with self._database.read() as connection:
            row = _find(connection, cluster, name)
        return None if row is None or row.declared is None else self._unpack(row, row.declared)

    def snapshot(self, cluster: ClusterName, name: OperationName) -> Offsets | None:
        """The offsets that stood before it; None where none were saved."""
        with self._database.read() as connection:
            row = _find(connection, cluster, name)
        if row is None or row.snapshot is None:
            return None
        stood = self._unpack(row, row.snapshot)
        return {partition: offset for partition, offset in stood.items() if offset is not None}

    def intend(self, cluster: ClusterName, operation: Operation, at: datetime) -> None:
        """Save a seed before its connector is created.

        Raises OperationSettled where it took effect, or may have.
        """
        values = {
            **rows.declaration(operation),
            **rows.nothing_stood(),
            "state": OperationState.INTENDED.value,
            "since": at,
        }
        with self._writing(cluster, operation.name) as (connection, row):
            if row is not None and rows.state(row) in _MAY_HAVE_HAPPENED:
                _refuse(cluster, row)
            _put(connection, cluster, operation.name, {**values, **rows.new_attempt(row, operation)})

    def begin(self, cluster: ClusterName, operation: Operation, before: Offsets, at: datetime) -> None:
        """Save what is about to be done, and the offsets that stand before it: after this it may have happened.

        Nothing changes where the same operation is open already: what stands now is not what stood before it then.
        Raises OperationSettled where it took effect, or may have.
        """
        values = {
            **rows.declaration(operation),
            "state": OperationState.OPEN.value,
            "since": at,
            "digest_before": offsets_digest(before),
            "digest_after": None,
            "snapshot": pack(before),
        }
        with self._writing(cluster, operation.name) as (connection, row):
            if row is not None and rows.is_open_with(row, operation):
                return
            if row is not None and rows.state(row) in _MAY_HAVE_HAPPENED:
                _refuse(cluster, row)
            _put(connection, cluster, operation.name, {**values, **rows.new_attempt(row, operation)})

    def settle(self, cluster: ClusterName, name: OperationName, after: Offsets, warning: str, at: datetime) -> None:
        """It took effect, and these offsets were seen to stand. `warning` is what Connect said along with it.

        Nothing changes where it was settled before. Raises LedgerUnusable where it was not begun.
        """
        values = {
            "state": OperationState.SETTLED.value,
            "since": at,
            "failures": 0,
            "final": False,
            "message": "",
            "warning": rows.storable(warning),
            "digest_after": offsets_digest(after),
        }
        with self._writing(cluster, name) as (connection, row):
            if row is not None and rows.state(row) is OperationState.SETTLED:
                return
            if row is None or rows.state(row) not in {OperationState.OPEN, OperationState.INTENDED}:
                known = f"it is {row.state} there" if row is not None else "it does not know it"
                raise LedgerUnusable(
                    f"{name} took effect on {cluster}, but the ledger {self._database.place} has not begun it"
                    f" ({known}): was it exchanged meanwhile? Run gitops-connect ledger adopt {name}"
                )
            _put(connection, cluster, name, values)

    def fail(self, cluster: ClusterName, operation: Operation, message: str, *, final: bool, at: datetime) -> None:
        """It certainly had no effect. `final` is True where trying again is of no use.

        Raises OperationSettled where it took effect, or where another one of that name may have.
        """
        values = {
            **rows.declaration(operation),
            **rows.nothing_stood(),
            "state": OperationState.FAILED.value,
            "since": at,
            "declared": None,
            "message": rows.storable(message),
            "final": final,
        }
        with self._writing(cluster, operation.name) as (connection, row):
            if row is not None and rows.state(row) in _MAY_HAVE_HAPPENED and not rows.is_open_with(row, operation):
                _refuse(cluster, row)
            _put(connection, cluster, operation.name, {**values, "failures": rows.failures(row, operation) + 1})

    def note(self, cluster: ClusterName, name: OperationName, message: str) -> None:
        """Say why it stays as it is; nothing happens where it is not known."""
        with self._writing(cluster, name) as (connection, row):
            if row is not None:
                _put(connection, cluster, name, {"message": rows.storable(message)})

    def mark(self, cluster: ClusterName, *records: OperationRecord) -> None:
        """Write these records over what is there, whatever it is: all of them, or none.

        Offsets that are saved stay as long as they are those of the record.
        """
        with self._database.write() as connection:
            self._require_lease(connection)
            for record in records:
                row = _find(connection, cluster, record.name)
                _put(connection, cluster, record.name, {**rows.columns(record), **rows.blobs_kept(row, record)})

    def release(self, cluster: ClusterName, name: OperationName) -> None:
        """A settled seed counts as never done: its connector was deleted with its offsets.

        It keeps the time at which it was settled. Nothing happens where it is in another state.
        """
        this = _this(cluster, name) & (OPERATIONS.c.state == OperationState.SETTLED.value)
        with self._database.write() as connection:
            self._require_lease(connection)
            connection.execute(update(OPERATIONS).where(this).values(state=OperationState.RELEASED.value))

    def drop(self, cluster: ClusterName, name: OperationName) -> None:
        """Forget it; nothing happens where it is not known."""
        with self._database.write() as connection:
            self._require_lease(connection)
            connection.execute(delete(OPERATIONS).where(_this(cluster, name)))

    @contextmanager
    def _writing(self, cluster: ClusterName, name: OperationName) -> Iterator[tuple[Connection, Row[Any] | None]]:
        """A transaction in which nobody else writes this operation, and what stands there now."""
        with self._database.write() as connection:
            self._require_lease(connection)
            yield connection, _find(connection, cluster, name, locked=True)

    def _require_lease(self, connection: Connection) -> None:
        if self._lease is not None:
            self._lease.require(connection)

    def _unpack(self, row: Row[Any], packed: bytes) -> OffsetPatch:
        try:
            return unpack(packed)
        except (ValueError, zlib.error) as error:
            raise LedgerUnusable(
                f"the ledger {self._database.place} is damaged: the offsets of {row.name} on {row.cluster} cannot be"
                " read; put back a backup"
            ) from error


def _this(cluster: ClusterName, name: OperationName) -> ColumnElement[bool]:
    return (OPERATIONS.c.cluster == cluster) & (OPERATIONS.c.name == name)


def _find(
    connection: Connection, cluster: ClusterName, name: OperationName, *, locked: bool = False
) -> Row[Any] | None:
    query = select(OPERATIONS).where(_this(cluster, name))
    return connection.execute(query.with_for_update() if locked else query).one_or_none()


def _put(connection: Connection, cluster: ClusterName, name: OperationName, values: Mapping[str, Any]) -> None:
    upsert(connection, OPERATIONS, {"cluster": cluster, "name": name}, values)


def _refuse(cluster: ClusterName, row: Row[Any]) -> NoReturn:
    name, since = row.name, f"{row.since:%Y-%m-%d %H:%M:%S} UTC"
    if rows.state(row) is OperationState.SETTLED:
        raise OperationSettled(
            f"{name} was applied to {cluster} on {since} and is never begun again: give another change its own name"
        )
    if rows.state(row) is OperationState.OPEN:
        raise OperationSettled(
            f"{name} was begun on {cluster} on {since} with other offsets, and may have taken effect: it is finished"
            " as it was begun; give another change its own name"
        )
    raise OperationSettled(
        f"whether {name} was ever applied to {cluster} is not known: say it with gitops-connect ledger adopt {name}"
    )
