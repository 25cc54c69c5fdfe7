"""Offset changes in the ledger: which offset changes were begun, the offsets before each, and which are applied.

Every method is one transaction, durable when it returns, except methods that write or read the pieces of a large
offset change. The ledger decides whether offsets are ever sent again. So a transition between states that
`model.offset_changes` does not allow is rejected and changes nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from gitops_connect.errors import LedgerUnusable, OperationSettled
from gitops_connect.ledger import pieces
from gitops_connect.ledger.column_types import attributes
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import Lease, writes_under
from gitops_connect.ledger.pieces import Damaged, PartKey
from gitops_connect.ledger.tables import OPERATIONS, OffsetsPart
from gitops_connect.model.applied_effects import AppliedEffect, pack_effect, unpack_effect
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import (
    NOTHING_SENT,
    Failure,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
    resolve_command,
    resolve_commands,
)
from gitops_connect.model.offsets import OffsetPatch, Offsets, offsets_digest, pack, unpack

_OF = OPERATIONS.c
_COLUMNS = [one for one in _OF if one.name not in {"cluster", "acknowledged", "declared", "snapshot", "effect"}]
"""The columns of an `OffsetChangeRecord`, in the order of its fields: offsets are large and rarely needed."""
_RECORDS = select(*_COLUMNS).where(_OF.cluster == bindparam("of"))
_UNDONE = [one for one in OffsetChangeState if one is not OffsetChangeState.SETTLED]
_OF_PLAN = (
    _RECORDS.where(_OF.state.in_(_UNDONE)),
    _RECORDS.where(_OF.kind.in_([OffsetChangeKind.SEED, OffsetChangeKind.CLEAR])),
)
"""What a plan depends on besides the offset changes that are declared."""
_ONE = select(OPERATIONS).where(_OF.cluster == bindparam("of"), _OF.name == bindparam("name"))
_VALUES: BindParameter[Any] = bindparam("values", expanding=True)
_NAMED, _OF_CONNECTORS = _RECORDS.where(_OF.name.in_(_VALUES)), _RECORDS.where(_OF.connector.in_(_VALUES))
_EFFECTS = _NAMED.with_only_columns(_OF.cluster, _OF.name, _OF.effect).where(_OF.effect.is_not(None))
_AT_ONCE = 500
"""Values in one statement."""
_REMOVED_AT_ONCE = 20
"""Offset changes of which the offsets are removed in one transaction: those of a large one are many."""
_WITH_OFFSETS = (
    select(_OF.name)
    .where(_OF.cluster == bindparam("of"), _OF.state == OffsetChangeState.SETTLED, _OF.since < bindparam("end"))
    .where(or_(_OF.digest_before.is_not(None), _OF.declared.is_not(None)))
    .limit(_REMOVED_AT_ONCE)
)
_NOTHING_BEFORE = {"digest_before": None, "digest_after": None, "snapshot": None, "effect": None, "warning": ""}
"""The columns of an offset change without earlier offsets: without an effect there is no undo, and no warning."""


class OffsetChangeStore:
    """Offset changes of the ledger. Safe for several threads and processes.

    Every method also raises LedgerBusy or LedgerUnusable as the methods of the ledger do.
    """

    def __init__(self, database: Database, lease: Lease | None = None) -> None:
        """For `Ledger.offset_changes`. Under a lease, a write raises LedgerBusy once the lease is lost."""
        self._database = database
        self._write = writes_under(database, lease)

    def records(self, cluster: ClusterName) -> Mapping[OffsetChangeName, OffsetChangeRecord]:
        """All offset changes of the cluster, in the order of their names."""
        with self._database.read() as connection:
            found = connection.execute(_RECORDS, {"of": cluster}).all()
        return _by_name(found)

    def of_plan(
        self, cluster: ClusterName, names: Iterable[OffsetChangeName]
    ) -> Mapping[OffsetChangeName, OffsetChangeRecord]:
        """The changes with these names, those that are not applied, and those of initial offsets and deletions.

        The ledger keeps each change that was ever applied: there may be many more.
        """
        with self._database.read() as connection:
            found = [row for each in _OF_PLAN for row in connection.execute(each, {"of": cluster})]
            return _by_name([*found, *_with_values(connection, _NAMED, cluster, names)])

    def of_connectors(
        self, cluster: ClusterName, connectors: Iterable[ConnectorName]
    ) -> Mapping[OffsetChangeName, OffsetChangeRecord]:
        """All changes of these connectors."""
        with self._database.read() as connection:
            return _by_name(_with_values(connection, _OF_CONNECTORS, cluster, connectors))

    def find(self, cluster: ClusterName, name: OffsetChangeName) -> OffsetChangeRecord | None:
        with self._database.read() as connection:
            row = connection.execute(_NAMED, {"of": cluster, "values": [name]}).one_or_none()
        return None if row is None else OffsetChangeRecord(*row)

    def latest(
        self,
        cluster: ClusterName,
        connector: ConnectorName | None = None,
        states: Collection[OffsetChangeState] = (),
        *,
        after: datetime | None = None,
        limit: int | None,
    ) -> list[OffsetChangeRecord]:
        """The changes that entered their state last, the last one first, and at most `limit`.

        With `states`, only those in one of them; with `after`, only those that entered their state later.
        """
        return self._last(_chosen(cluster, connector, states, after), limit)

    def page(
        self,
        cluster: ClusterName,
        connector: ConnectorName | None,
        states: Collection[OffsetChangeState],
        beyond: tuple[datetime, str | None],
        limit: int,
    ) -> list[OffsetChangeRecord]:
        """What `latest` returns after a change that entered its state at this time.

        Of the changes with the same time, those with later names are returned; without a name, none of them.
        """
        since, name = beyond
        rest = (
            (_OF.since <= since, or_(_OF.since < since, _OF.name > name)) if name is not None else (_OF.since < since,)
        )
        return self._last((*_chosen(cluster, connector, states, None), *rest), limit)

    def _last(self, chosen: Iterable[ColumnElement[bool]], limit: int | None) -> list[OffsetChangeRecord]:
        query = select(*_COLUMNS).where(*chosen).order_by(_OF.since.desc(), _OF.name).limit(limit)
        with self._database.read() as connection:
            return [OffsetChangeRecord(*row) for row in connection.execute(query)]

    def count(
        self,
        cluster: ClusterName,
        connector: ConnectorName | None = None,
        states: Collection[OffsetChangeState] = (),
        after: datetime | None = None,
    ) -> int:
        """How many there are of those that `latest` returns without a limit."""
        query = select(func.count()).select_from(OPERATIONS).where(*_chosen(cluster, connector, states, after))
        with self._database.read() as connection:
            return int(connection.scalar(query) or 0)

    def saved(self, cluster: ClusterName, name: OffsetChangeName) -> OffsetChange:
        """The offset change as `begin` or `intend` saved it, to finish it. The offsets of a large one are in `pieces`.

        Raises LedgerUnusable if nothing is saved: the offset change is not known, failed, or was never begun here.
        """
        row = self._find(cluster, name)
        if row is None or row.digest is None or (row.declared is None and not _is_large(row)):
            raise self._nothing_saved(cluster, name)
        large = _is_large(row)
        offsets = {} if large else self._unpack(row, row.declared)
        return OffsetChange(name, row.connector, row.kind, row.digest, row.revision, offsets, row.acknowledged, large)

    def declared(self, cluster: ClusterName, name: OffsetChangeName) -> OffsetPatch | None:
        """The offsets that the offset change was begun with; None if none are saved, or if they are in pieces."""
        row = self._find(cluster, name)
        return None if row is None or row.declared is None else self._unpack(row, row.declared)

    def snapshot(self, cluster: ClusterName, name: OffsetChangeName) -> Offsets | None:
        """The offsets before the offset change; None if none were saved, or if they are in pieces."""
        row = self._find(cluster, name)
        if row is None or row.snapshot is None:
            return None
        earlier = self._unpack(row, row.snapshot)
        if offsets_digest(earlier) != row.digest_before:
            raise self._damaged(row)
        return {partition: offset for partition, offset in earlier.items() if offset is not None}

    def effects(
        self, cluster: ClusterName, names: Iterable[OffsetChangeName]
    ) -> Mapping[OffsetChangeName, AppliedEffect]:
        """What these offset changes did when they were sent, as far as that was recorded."""
        found = dict[OffsetChangeName, AppliedEffect]()
        with self._database.read() as connection:
            for row in _with_values(connection, _EFFECTS, cluster, names):
                with self._readable(row):
                    found[row.name] = unpack_effect(row.effect)
        return found

    def pieces(self, cluster: ClusterName, name: OffsetChangeName, part: OffsetsPart) -> Iterator[bytes]:
        """The offsets of a large offset change as whole lines, one entry each: a few MiB at a time.

        Raises LedgerUnusable if there are none, or (at the latest after the last piece) if they are damaged.
        """
        key = PartKey(cluster, name, part)
        with self._database.read() as connection:
            row, (count, entries) = _find(connection, cluster, name), pieces.count(connection, key)
        is_removed = row is not None and row.digest_before is None and not count
        if row is None or not _has_pieces(row, part) or is_removed:
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

    def intend(self, cluster: ClusterName, offset_change: OffsetChange, at: datetime) -> None:
        """Save a seed before its connector is created.

        Raises OperationSettled if it took effect, or may have.
        """
        with self._changing(cluster, offset_change.name) as entry:
            entry.replace(
                {**_entered(offset_change, OffsetChangeState.INTENDED, at), **entry.new_attempt(offset_change)}
            )

    def begin(
        self,
        cluster: ClusterName,
        offset_change: OffsetChange,
        before: Offsets,
        at: datetime,
        effect: AppliedEffect | None = None,
    ) -> None:
        """Save the offset change and the offsets before it, directly before it is sent: then it may have happened.

        Changes nothing if the same offset change is in progress already: the offsets may have changed since it was
        begun. Raises OperationSettled if it took effect, or may have.
        """
        opened = _entered(offset_change, OffsetChangeState.OPEN, at)
        saved = {"digest_before": offsets_digest(before), "snapshot": pack(before)}
        values = {**opened, **saved, "effect": effect and pack_effect(effect)}
        with self._changing(cluster, offset_change.name) as entry:
            if not entry.is_open_with(offset_change):
                entry.replace({**values, **entry.new_attempt(offset_change)})

    def begin_large(
        self,
        cluster: ClusterName,
        offset_change: OffsetChange,
        before: Iterable[bytes],
        declared: Iterable[bytes],
        effect: AppliedEffect,
    ) -> None:
        """Save a large offset change as `begin` does, from blocks of any size with one entry a line.

        Each piece is written separately, and the offset change is in progress only after all of them. If this is
        interrupted, nothing was begun.
        """
        if not self._make_room(cluster, offset_change):
            return
        found, sent = pieces.BlockCounts(), pieces.BlockCounts()
        for part, counts, blocks in ((OffsetsPart.BEFORE, found, before), (OffsetsPart.DECLARED, sent, declared)):
            key = PartKey(cluster, offset_change.name, part)
            for number, piece in enumerate(counts.cut(blocks)):
                with self._write() as connection:
                    pieces.put(connection, key, number, piece)
        opened = _entered(offset_change, OffsetChangeState.OPEN, effect.begun)
        saved = {"digest_before": found.digest, "effect": pack_effect(effect)}
        values = {**opened, **saved, "entries": sent.entries, "sent": 0}
        with self._changing(cluster, offset_change.name) as entry:
            entry.require_free()
            entry.put({**values, **entry.new_attempt(offset_change)})

    def _make_room(self, cluster: ClusterName, offset_change: OffsetChange) -> bool:
        """Remove the remains of an interrupted attempt. False if the offset change is in progress already."""
        with self._changing(cluster, offset_change.name) as entry:
            if entry.is_open_with(offset_change):
                return False
            entry.require_free()
            if entry.row is not None and _is_large(entry.row):
                entry.put({**_NOTHING_BEFORE, "declared": None, "entries": None, "sent": None})
            entry.remove_pieces()
        return True

    def sent(self, cluster: ClusterName, name: OffsetChangeName, entries: int) -> None:
        """Record that the first `entries` entries were accepted; a smaller number changes nothing.

        Raises LedgerUnusable if the offset change is not in progress, or has fewer entries.
        """
        with self._changing(cluster, name) as entry:
            row = entry.row
            if row is None or row.state is not OffsetChangeState.OPEN or not 0 <= entries <= (row.entries or 0):
                raise LedgerUnusable(
                    f"{cluster} accepted {entries:,} entries of {name}, but the ledger {self._database.place}"
                    f" has no change of that size in progress; was it replaced? Run {command_line('ledger show', name)}"
                )
            entry.put({"sent": max(entries, row.sent)})

    def settle(
        self, cluster: ClusterName, name: OffsetChangeName, after: Offsets | Digest, warning: str, at: datetime
    ) -> None:
        """Record that the offset change took effect, the offsets (or their digest) after it, and Connect's `warning`.

        Changes nothing if it is recorded as applied already. Raises LedgerUnusable if it was not begun.
        """
        values = {
            "state": OffsetChangeState.SETTLED,
            "since": at,
            "failures": 0,
            "final": False,
            "message": "",
            "warning": _storable(warning),
            "digest_after": after if isinstance(after, str) else offsets_digest(after),
        }
        with self._changing(cluster, name) as entry:
            state = None if entry.row is None else entry.row.state
            if state is OffsetChangeState.SETTLED:
                return
            if state not in {OffsetChangeState.OPEN, OffsetChangeState.INTENDED}:
                known = "the ledger has no record of it" if state is None else f"its state there is {state.value}"
                raise LedgerUnusable(
                    f"{name} took effect on {cluster}, but it is not in progress in the ledger {self._database.place}"
                    f" ({known}); was it replaced? Run {resolve_command(cluster, name, 'applied')}"
                )
            entry.put(values)

    def record(self, cluster: ClusterName, offset_change: OffsetChange, seen: Offsets | None, at: datetime) -> None:
        """Record it as applied without a request: each partition was at the declared offset.

        `seen` are the connector's offsets, kept for an undo; None if they are too many for memory. Raises
        OperationSettled as `intend` does.
        """
        values = {**_entered(offset_change, OffsetChangeState.SETTLED, at), "failures": 0, "final": False}
        values["message"] = "" if offset_change.kind is OffsetChangeKind.LIST else NOTHING_SENT
        if seen is not None:
            found = offsets_digest(seen)
            values |= {"digest_before": found, "digest_after": found, "snapshot": pack(seen)}
        with self._changing(cluster, offset_change.name) as entry:
            entry.replace(values)

    def fail(self, cluster: ClusterName, offset_change: OffsetChange, failure: Failure, at: datetime) -> None:
        """Record that the offset change certainly had no effect.

        Raises OperationSettled if the offset change took effect, or if another one of that name may have.
        """
        values = {
            **_entered(offset_change, OffsetChangeState.FAILED, at),
            "declared": None,
            "message": _storable(failure.message),
            **attributes(failure, "final", "lacks"),
        }
        with self._changing(cluster, offset_change.name) as entry:
            if not entry.is_open_with(offset_change):
                entry.require_free()
            entry.put({**values, "failures": entry.failures(offset_change) + 1})
            entry.remove_pieces()

    def note(self, cluster: ClusterName, name: OffsetChangeName, message: str) -> None:
        """Record why the offset change keeps its state. Does nothing if it is not known."""
        with self._changing(cluster, name) as entry:
            if entry.row is not None:
                entry.put({"message": _storable(message)})

    def mark(self, cluster: ClusterName, *records: OffsetChangeRecord) -> None:
        """Replace these records in any state: all, or none. Saved offsets of the same record are kept."""
        with self._write() as connection:
            for record in records:
                _Entry(connection, cluster, record.name).overwrite(record)

    def release(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        """Record a seed as never applied, if it was applied, after its connector was deleted with its offsets."""
        with self._changing(cluster, name) as entry:
            if entry.row is not None and entry.row.state is OffsetChangeState.SETTLED:
                entry.put({"state": OffsetChangeState.RELEASED})

    def drop(self, cluster: ClusterName, name: OffsetChangeName) -> None:
        """Delete the record of the offset change. Does nothing if it is not known."""
        with self._write() as connection:
            connection.execute(delete(OPERATIONS).filter_by(cluster=cluster, name=name))
            pieces.remove(connection, cluster, name, *OffsetsPart)

    def remove_offsets(self, cluster: ClusterName, end: datetime) -> int:
        """Remove the offsets of changes that were applied before `end`, and return the number of these changes.

        They cannot be undone any more, and remain recorded as applied. This needs no lease: an applied change stays
        applied.
        """
        removed, some = 0, _REMOVED_AT_ONCE
        while some == _REMOVED_AT_ONCE:
            with self._database.write() as connection:
                names = connection.scalars(_WITH_OFFSETS, {"of": cluster, "end": end}).all()
                for name in names:
                    _Entry(connection, cluster, name).remove_offsets()
            some = len(names)
            removed += some
        return removed

    @contextmanager
    def _changing(self, cluster: ClusterName, name: OffsetChangeName) -> Iterator[_Entry]:
        with self._write() as connection:
            yield _Entry(connection, cluster, name)

    def _find(self, cluster: ClusterName, name: OffsetChangeName) -> Row[Any] | None:
        with self._database.read() as connection:
            return _find(connection, cluster, name)

    def _unpack(self, row: Row[Any], packed: bytes) -> OffsetPatch:
        with self._readable(row):
            return unpack(packed)

    @contextmanager
    def _readable(self, row: Row[Any]) -> Iterator[None]:
        try:
            yield
        except (ValueError, ArithmeticError, TypeError, KeyError, AttributeError, RecursionError, zlib.error) as error:
            raise self._damaged(row) from error

    def _damaged(self, row: Row[Any]) -> LedgerUnusable:
        return LedgerUnusable(
            f"the ledger {self._database.place} is damaged: the offsets of {row.name} on {row.cluster} cannot be"
            " read; restore a backup"
        )

    def _nothing_saved(self, cluster: ClusterName, name: OffsetChangeName) -> LedgerUnusable:
        return LedgerUnusable(
            f"the ledger {self._database.place} contains no offsets of {name} on {cluster};"
            f" run {command_line('ledger show', name)}"
        )


class _Entry:
    """One offset change, in a transaction in which nobody else writes it. `row` is its current row."""

    def __init__(self, connection: Connection, cluster: ClusterName, name: OffsetChangeName) -> None:
        self.row = _find(connection, cluster, name, locked=True)
        self._connection = connection
        self._cluster = cluster
        self._name = name

    def put(self, values: Mapping[str, Any]) -> None:
        """Write these columns, and leave the others unchanged."""
        key = {"cluster": self._cluster, "name": self._name}
        if self.row is None:
            self._connection.execute(insert(OPERATIONS), {**key, **values})
        else:
            self._connection.execute(update(OPERATIONS).filter_by(**key).values(values))

    def replace(self, values: Mapping[str, Any]) -> None:
        """Write these columns, and remove pieces of an earlier attempt. Raises OperationSettled as `require_free`."""
        self.require_free()
        self.put(values)
        self.remove_pieces()

    def remove_offsets(self) -> None:
        """Remove what was sent and what was before it. The number of entries and the digest afterwards are kept.

        The row is deleted and inserted again: SQLite does not give the space of a shorter row to others.
        """
        if self.row is not None and self.row.state is OffsetChangeState.SETTLED:  # nobody has marked it meanwhile
            left = {**self.row._asdict(), "declared": None, "snapshot": None, "digest_before": None}
            self._connection.execute(delete(OPERATIONS).filter_by(cluster=self._cluster, name=self._name))
            self._connection.execute(insert(OPERATIONS), left)
            self.remove_pieces()

    def remove_pieces(self) -> None:
        pieces.remove(self._connection, self._cluster, self._name, *OffsetsPart)

    def overwrite(self, record: OffsetChangeRecord) -> None:
        """Write the record. A snapshot is the undo, and is kept only if the record is of the same offset change."""
        row = self.row
        values: dict[str, Any] = {
            **attributes(
                record, "connector", "kind", "state", "digest", "revision", "since", "failures", "final", "lacks"
            ),
            "message": _storable(record.message),
            "warning": _storable(record.warning),
            "digest_before": record.before,
            "digest_after": record.after,
        }
        lost = []
        if row is None or row.digest is None or row.digest != record.digest:
            values |= {"declared": None, "acknowledged": frozenset(), "entries": None, "sent": None}
            lost.append(OffsetsPart.DECLARED)
        if row is None or row.digest_before != record.before:
            values |= {"snapshot": None, "effect": None}
            lost.append(OffsetsPart.BEFORE)
        self.put(values)
        pieces.remove(self._connection, self._cluster, self._name, *lost)

    def is_open_with(self, offset_change: OffsetChange) -> bool:
        """Whether exactly this offset change was begun already."""
        row = self.row
        return row is not None and row.state is OffsetChangeState.OPEN and row.digest == offset_change.digest

    def failures(self, offset_change: OffsetChange) -> int:
        """The number of consecutive failures of the offset change with its current digest."""
        row = self.row
        return int(row.failures) if row is not None and row.digest == offset_change.digest else 0

    def new_attempt(self, offset_change: OffsetChange) -> dict[str, Any]:
        """A new attempt clears the last message and warning, and keeps the number of failures."""
        return {"failures": self.failures(offset_change), "final": False, "message": "", "warning": ""}

    def require_free(self) -> None:
        """Raise OperationSettled unless the recorded offset change certainly had no effect."""
        row, cluster, name = self.row, self._cluster, self._name
        if row is None:
            return
        since = f"{row.since:%Y-%m-%d %H:%M:%S} UTC"
        taken = {
            OffsetChangeState.SETTLED: f"{name} was applied to {cluster} on {since} and is not applied again; give a"
            " new change its own name",
            OffsetChangeState.OPEN: f"{name} was started on {cluster} on {since} with other offsets, and may have taken"
            " effect; it is finished with the offsets that it began with; give a new change its own name",
            OffsetChangeState.UNKNOWN: f"it is unknown whether {name} was applied to {cluster}; run"
            f" {resolve_commands(cluster, name)}",
        }
        if row.state in taken:
            raise OperationSettled(taken[row.state])


def _by_name(rows: Iterable[Row[Any]]) -> dict[OffsetChangeName, OffsetChangeRecord]:
    ordered = sorted(rows, key=lambda row: str(row.name))
    return {row.name: OffsetChangeRecord(*tuple[Any, ...](row)) for row in ordered}


def _with_values(
    connection: Connection, query: Select[Any], cluster: ClusterName, values: Iterable[str]
) -> Iterator[Row[Any]]:
    chosen = sorted(set(values))
    for first in range(0, len(chosen), _AT_ONCE):
        yield from connection.execute(query, {"of": cluster, "values": chosen[first : first + _AT_ONCE]})


def _chosen(
    cluster: ClusterName,
    connector: ConnectorName | None,
    states: Collection[OffsetChangeState],
    after: datetime | None,
) -> Iterator[ColumnElement[bool]]:
    yield _OF.cluster == cluster
    if connector is not None:
        yield _OF.connector == connector
    if states:
        yield _OF.state.in_(states)
    if after is not None:
        yield _OF.since > after


def _entered(offset_change: OffsetChange, state: OffsetChangeState, at: datetime) -> dict[str, Any]:
    """The columns of an offset change that enters a state: its declaration, and no earlier offsets."""
    return {
        **_NOTHING_BEFORE,
        "state": state,
        "since": at,
        **attributes(offset_change, "connector", "kind", "digest", "revision", "acknowledged"),
        "declared": None if offset_change.is_large else pack(offset_change.offsets),
        "entries": None,
        "sent": None,
        "lacks": frozenset(),
    }


def _is_large(row: Row[Any]) -> bool:
    """Whether the offset change's offsets are in pieces."""
    return row.entries is not None


def _has_pieces(row: Row[Any], part: OffsetsPart) -> bool:
    """Whether that part of its offsets was saved in pieces, even if there are no pieces."""
    return _is_large(row) if part is OffsetsPart.DECLARED else row.digest_before is not None and row.snapshot is None


def _storable(text: str) -> str:
    """The text without characters that no database accepts: half of a surrogate pair, a NUL. Workers may send them."""
    return text.encode(errors="replace").decode().replace("\0", "?")


def _find(
    connection: Connection, cluster: ClusterName, name: OffsetChangeName, *, locked: bool = False
) -> Row[Any] | None:
    """The current row of the offset change; `locked`: nobody else writes it before the transaction ends."""
    return connection.execute(_ONE.with_for_update() if locked else _ONE, {"of": cluster, "name": name}).one_or_none()
