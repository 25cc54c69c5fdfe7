"""Operations in the ledger: which offset changes were begun, the offsets before each, and which are applied.

Every method is one transaction, durable when it returns, except methods that write or read the pieces of a large
operation. The ledger decides whether offsets are ever sent again. So a transition between states that
`model.operations` does not allow is rejected and changes nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger import operation_rows as rows
from gitops_connect.ledger import pieces
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.pieces import Damaged, OffsetsPart, PartKey, StoredBlock
from gitops_connect.ledger.tables import OPERATIONS
from gitops_connect.model.names import ClusterName, Digest, OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets, offsets_digest, pack, unpack
from gitops_connect.model.operations import Operation, OperationRecord, OperationState


class Operations:
    """Operations of the ledger. Safe for several threads and processes.

    Every method also raises LedgerBusy or LedgerUnusable as the methods of the ledger do.
    """

    def __init__(self, database: Database, lease: Lease | None = None) -> None:
        """For `Ledger.operations`. Under a lease, a write raises LedgerBusy once the lease is lost."""
        self._database = database
        self._lease = lease

    def records(self, cluster: ClusterName) -> Mapping[OperationName, OperationRecord]:
        """All operations of the cluster, in the order of their names."""
        with self._database.read() as connection:
            found = connection.execute(select(*rows.RECORD).where(OPERATIONS.c.cluster == cluster)).all()
        return {row.name: rows.read(row) for row in sorted(found, key=lambda row: str(row.name))}

    def saved(self, cluster: ClusterName, name: OperationName) -> Operation:
        """The operation as `begin` or `intend` saved it, to finish it. The offsets of a large one are in `pieces`.

        Raises LedgerUnusable if nothing is saved: the operation is not known, failed, or was never begun here.
        """
        with self._database.read() as connection:
            row = rows.find(connection, cluster, name)
        if row is not None and row.digest is not None and rows.is_large(row):
            return rows.operation(row, {})
        if row is None or row.declared is None or row.digest is None:
            raise self._nothing_saved(cluster, name)
        return rows.operation(row, self._unpack(row, row.declared))

    def declared(self, cluster: ClusterName, name: OperationName) -> OffsetPatch | None:
        """The offsets that the operation was begun with; None if none are saved, or if they are in pieces."""
        with self._database.read() as connection:
            row = rows.find(connection, cluster, name)
        return None if row is None or row.declared is None else self._unpack(row, row.declared)

    def snapshot(self, cluster: ClusterName, name: OperationName) -> Offsets | None:
        """The offsets before the operation; None if none were saved, or if they are in pieces."""
        with self._database.read() as connection:
            row = rows.find(connection, cluster, name)
        if row is None or row.snapshot is None:
            return None
        earlier = self._unpack(row, row.snapshot)
        if offsets_digest(earlier) != row.digest_before:
            raise self._damaged(row)
        return {partition: offset for partition, offset in earlier.items() if offset is not None}

    def pieces(self, cluster: ClusterName, name: OperationName, part: OffsetsPart) -> Iterator[bytes]:
        """The offsets of a large operation as whole lines, one entry each: a few MiB at a time, each read separately.

        Raises LedgerUnusable if there are none, or (at the latest after the last piece) if they are damaged.
        """
        key = PartKey(cluster, name, part)
        with self._database.read() as connection:
            row, (count, entries) = rows.find(connection, cluster, name), pieces.count(connection, key)
        if row is None or not rows.has_pieces(row, part):
            raise self._nothing_saved(cluster, name)
        if part is OffsetsPart.DECLARED and entries != row.entries:
            raise self._damaged(row)
        seen = pieces.BlockCounts()
        try:
            for number in range(count):
                with self._database.read() as connection:
                    piece = pieces.get(connection, key, number)
                yield seen.lines(piece)
        except Damaged as error:
            raise self._damaged(row) from error
        if part is OffsetsPart.BEFORE and seen.digest != row.digest_before:
            raise self._damaged(row)

    def intend(self, cluster: ClusterName, operation: Operation, at: datetime) -> None:
        """Save a seed before its connector is created.

        Raises OperationSettled if it took effect, or may have.
        """
        values = rows.entered(operation, OperationState.INTENDED, at)
        with self._writing(cluster, operation.name) as (connection, row):
            self._enter(connection, cluster, operation, row, {**values, **rows.new_attempt(row, operation)})

    def begin(self, cluster: ClusterName, operation: Operation, before: Offsets, at: datetime) -> None:
        """Save the operation and the offsets before it, directly before it is sent: after this it may have happened.

        Changes nothing if the same operation is in progress already: the offsets may have changed since it was begun.
        Raises OperationSettled if it took effect, or may have.
        """
        opened = rows.entered(operation, OperationState.OPEN, at)
        values = {**opened, "digest_before": offsets_digest(before), "snapshot": pack(before)}
        with self._writing(cluster, operation.name) as (connection, row):
            if row is not None and rows.is_open_with(row, operation):
                return
            self._enter(connection, cluster, operation, row, {**values, **rows.new_attempt(row, operation)})

    def begin_large(
        self,
        cluster: ClusterName,
        operation: Operation,
        before: Iterable[bytes],
        declared: Iterable[bytes],
        at: datetime,
    ) -> None:
        """Save a large operation as `begin` does. `before` and `declared` are blocks of any size, one entry per line.

        Each piece is written separately, and the operation is in progress only after all of them. If this is
        interrupted, nothing was begun.
        """
        if not self._make_room(cluster, operation):
            return
        found, sent = pieces.BlockCounts(), pieces.BlockCounts()
        for part, counts, blocks in ((OffsetsPart.BEFORE, found, before), (OffsetsPart.DECLARED, sent, declared)):
            self._write_pieces(PartKey(cluster, operation.name, part), counts.cut(blocks))
        opened = rows.entered(operation, OperationState.OPEN, at)
        values = {**opened, "digest_before": found.digest, "entries": sent.entries, "sent": 0}
        with self._writing(cluster, operation.name) as (connection, row):
            rows.require_free(cluster, row)
            rows.put(connection, cluster, operation.name, {**values, **rows.new_attempt(row, operation)})

    def _enter(
        self, connection: Connection, cluster: ClusterName, operation: Operation, row: Row[Any] | None, values: Any
    ) -> None:
        rows.require_free(cluster, row)
        rows.put(connection, cluster, operation.name, values)
        pieces.remove_all(connection, cluster, operation.name)

    def _write_pieces(self, key: PartKey, cut: Iterable[StoredBlock]) -> None:
        for number, piece in enumerate(cut):
            with self._database.write() as connection:
                self._require_lease(connection)
                pieces.put(connection, key, number, piece)

    def _make_room(self, cluster: ClusterName, operation: Operation) -> bool:
        """Remove the remains of an interrupted attempt. False if the operation is in progress already."""
        with self._writing(cluster, operation.name) as (connection, row):
            if row is not None and rows.is_open_with(row, operation):
                return False
            rows.require_free(cluster, row)
            if row is not None and rows.is_large(row):
                rows.put(connection, cluster, operation.name, rows.nothing_large())
            pieces.remove_all(connection, cluster, operation.name)
        return True

    def sent(self, cluster: ClusterName, name: OperationName, entries: int) -> None:
        """Record that the first `entries` entries of a large operation were accepted; a smaller number changes nothing.

        Raises LedgerUnusable if the operation is not in progress, or has fewer entries.
        """
        with self._writing(cluster, name) as (connection, row):
            if row is None or rows.state(row) is not OperationState.OPEN or not 0 <= entries <= (row.entries or 0):
                raise LedgerUnusable(
                    f"{cluster} accepted {entries:,} entries of {name}, but the ledger {self._database.place}"
                    f" has no change of that size in progress; was it replaced? Run gitops-connect ledger show {name}"
                )
            rows.put(connection, cluster, name, {"sent": max(entries, row.sent)})

    def settle(
        self, cluster: ClusterName, name: OperationName, after: Offsets | Digest, warning: str, at: datetime
    ) -> None:
        """Record that the operation took effect, the offsets (or their digest) after it, and Connect's `warning`.

        Changes nothing if it is recorded as applied already. Raises LedgerUnusable if it was not begun.
        """
        values = {
            "state": OperationState.SETTLED.value,
            "since": at,
            "failures": 0,
            "final": False,
            "message": "",
            "warning": rows.storable(warning),
            "digest_after": after if isinstance(after, str) else offsets_digest(after),
        }
        with self._writing(cluster, name) as (connection, row):
            if row is not None and rows.state(row) is OperationState.SETTLED:
                return
            if row is None or rows.state(row) not in {OperationState.OPEN, OperationState.INTENDED}:
                known = f"its state there is {row.state}" if row is not None else "the ledger has no record of it"
                raise LedgerUnusable(
                    f"{name} took effect on {cluster}, but it is not in progress in the ledger {self._database.place}"
                    f" ({known}); was it replaced? Run `gitops-connect ledger resolve {name} --applied`"
                )
            rows.put(connection, cluster, name, values)

    def record(self, cluster: ClusterName, operation: Operation, seen: Offsets | None, at: datetime) -> None:
        """Record it as applied without a begin (`rows.recorded`). Raises OperationSettled as `intend` does."""
        with self._writing(cluster, operation.name) as (connection, row):
            self._enter(connection, cluster, operation, row, rows.recorded(operation, seen, at))

    def fail(self, cluster: ClusterName, operation: Operation, message: str, *, final: bool, at: datetime) -> None:
        """Record that the operation certainly had no effect. `final` is True if a retry does not help.

        Raises OperationSettled if the operation took effect, or if another one of that name may have.
        """
        values = {
            **rows.entered(operation, OperationState.FAILED, at),
            "declared": None,
            "message": rows.storable(message),
            "final": final,
        }
        with self._writing(cluster, operation.name) as (connection, row):
            if row is None or not rows.is_open_with(row, operation):
                rows.require_free(cluster, row)
            rows.put(connection, cluster, operation.name, {**values, "failures": rows.failures(row, operation) + 1})
            pieces.remove_all(connection, cluster, operation.name)

    def note(self, cluster: ClusterName, name: OperationName, message: str) -> None:
        """Record why the operation keeps its state. Does nothing if it is not known."""
        with self._writing(cluster, name) as (connection, row):
            if row is not None:
                rows.put(connection, cluster, name, {"message": rows.storable(message)})

    def mark(self, cluster: ClusterName, *records: OperationRecord) -> None:
        """Overwrite existing records with these, in any state: all of them, or none.

        Saved offsets are kept if they are those of the record.
        """
        with self._database.write() as connection:
            self._require_lease(connection)
            for record in records:
                row = rows.find(connection, cluster, record.name)
                blobs = rows.blobs_kept(row, record)
                rows.put(connection, cluster, record.name, {**rows.columns(record), **blobs})
                for part in rows.parts_lost(blobs):
                    pieces.remove(connection, PartKey(cluster, record.name, part))

    def release(self, cluster: ClusterName, name: OperationName) -> None:
        """Record a seed as never applied: its connector was deleted with its offsets.

        It keeps the time at which it was applied. Does nothing if it has another state.
        """
        this = rows.this(cluster, name) & (OPERATIONS.c.state == OperationState.SETTLED.value)
        with self._database.write() as connection:
            self._require_lease(connection)
            connection.execute(update(OPERATIONS).where(this).values(state=OperationState.RELEASED.value))

    def drop(self, cluster: ClusterName, name: OperationName) -> None:
        """Delete the record of the operation. Does nothing if it is not known."""
        with self._database.write() as connection:
            self._require_lease(connection)
            connection.execute(delete(OPERATIONS).where(rows.this(cluster, name)))
            pieces.remove_all(connection, cluster, name)

    @contextmanager
    def _writing(self, cluster: ClusterName, name: OperationName) -> Iterator[tuple[Connection, Row[Any] | None]]:
        """A transaction in which nobody else writes this operation, and the current row."""
        with self._database.write() as connection:
            self._require_lease(connection)
            yield connection, rows.find(connection, cluster, name, locked=True)

    def _require_lease(self, connection: Connection) -> None:
        if self._lease is not None:
            self._lease.require(connection)

    def _unpack(self, row: Row[Any], packed: bytes) -> OffsetPatch:
        try:
            return unpack(packed)
        except (ValueError, TypeError, RecursionError, zlib.error) as error:
            raise self._damaged(row) from error

    def _damaged(self, row: Row[Any]) -> LedgerUnusable:
        return LedgerUnusable(
            f"the ledger {self._database.place} is damaged: the offsets of {row.name} on {row.cluster} cannot be"
            " read; restore a backup"
        )

    def _nothing_saved(self, cluster: ClusterName, name: OperationName) -> LedgerUnusable:
        return LedgerUnusable(
            f"the ledger {self._database.place} contains no offsets of {name} on {cluster};"
            f" run gitops-connect ledger show {name}"
        )
