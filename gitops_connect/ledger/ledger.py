"""The interface of the ledger: open, read and write; every call is one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, select

from gitops_connect.ledger.archive import Archive
from gitops_connect.ledger.config_histories import ConfigHistories
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.key import prepare
from gitops_connect.ledger.leases import LEADER, LEASE_SECONDS, Lease, LeaseOptions, held, require_idle
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.ledger.review_store import ReviewStore
from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.ledger.tables import (
    CONFIG_HISTORIES,
    OWNERSHIP,
    RESTART_REQUESTS,
    RESTARTS,
    REVISIONS,
    STOPPED,
    SUSPENSIONS,
    upsert,
)
from gitops_connect.ledger.transfer import Restored, put_in, take_out
from gitops_connect.model.canonical import canonical
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.restarts import RestartKind, RestartRecord, RestartRequest
from gitops_connect.model.revisions import RevisionMark, Revisions
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions

_ATTEMPTED = "attempted"
_APPLIED = "applied"
_WHOLE_CLUSTER = ConnectorName("")
_ORIGINS = {one.value: one for one in Origin}
_ON_DELETE = {one.value: one for one in OnDelete}


class Ledger:
    """The managed connectors and the applied changes. Safe for several threads and processes; use `Ledger.open`.

    Every method raises LedgerBusy if another process holds the database's lock for too long, and LedgerUnusable if the
    database cannot be read or written.
    """

    def __init__(self, database: Database, key: bytes, lease: Lease | None = None) -> None:
        """For `open`, which prepares the schema and the key, and for `under`."""
        self._database = database
        self._lease = lease
        self.key = key
        self.operations = Operations(database, lease)
        self.status = StatusStore(database)
        self.reviews = ReviewStore(database)
        self.configs = ConfigHistories(database, self._write)

    @property
    def place(self) -> str:
        """The file or the URL of the ledger, without credentials."""
        return self._database.place

    @property
    def allows_replicas(self) -> bool:
        """Whether several machines can use the ledger. An SQLite file belongs to one machine."""
        return self._database.file is None

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    @staticmethod
    def open(url: str, directory: Path, key: bytes | None) -> Ledger:
        """Open the ledger, or create it. A relative path in an SQLite URL starts from the given directory.

        `key` is the key of all keyed digests. Without it, a key is created once and stored in `<database>.key` next to
        an SQLite database. Raises UsageError for a URL or a key that cannot be used, else LedgerUnusable or LedgerBusy.
        """
        database = Database(url, directory)
        return Ledger(database, prepare(database, key))

    def under(self, lease: Lease) -> Ledger:
        """This ledger under a lease: a write raises LedgerBusy, and changes nothing, once the lease is lost."""
        return Ledger(self._database, self.key, lease)

    def ownership(self, cluster: ClusterName) -> Mapping[ConnectorName, Ownership]:
        """All managed connectors of the cluster, in the order of their names."""
        query = select(OWNERSHIP).where(OWNERSHIP.c.cluster == cluster).order_by(OWNERSHIP.c.connector)
        with self._database.read() as connection:
            return {one.connector: one for one in map(_ownership, connection.execute(query))}

    def record(self, *ownerships: Ownership) -> None:
        """Record that connectors are managed, or what was last applied to them: all of these, or none.

        The first origin and time of each connector are kept.
        """
        with self._write() as connection:
            for ownership in ownerships:
                upsert(
                    connection,
                    OWNERSHIP,
                    {"cluster": ownership.cluster, "connector": ownership.connector},
                    {
                        "revision": ownership.revision,
                        "desired": ownership.desired,
                        "applied": canonical(dict(ownership.applied)).decode(),
                        "on_delete": ownership.on_delete.value,
                        "secret_references": canonical(dict(ownership.references)).decode(),
                    },
                    {"origin": ownership.origin.value, "since": ownership.since},
                )

    def forget(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """Record that the connector is no longer managed, or was deleted. Does nothing if it was never managed."""
        with self._write() as connection:
            for table in (OWNERSHIP, RESTART_REQUESTS, CONFIG_HISTORIES, SUSPENSIONS, STOPPED):
                ours = (table.c.cluster == cluster) & (table.c.connector == connector)
                connection.execute(delete(table).where(ours))

    def restarts(self, cluster: ClusterName) -> Mapping[ConnectorName, RestartRecord]:
        """The automatic restarts of connectors that have failed."""
        query = select(RESTARTS).where(RESTARTS.c.cluster == cluster)
        with self._database.read() as connection:
            return {row.connector: RestartRecord(row.number, row.last) for row in connection.execute(query)}

    def record_restart(self, cluster: ClusterName, connector: ConnectorName, record: RestartRecord) -> None:
        """Record that the connector is about to be restarted; `record` includes that restart."""
        values = {"number": record.count, "last": record.last}
        with self._write() as connection:
            upsert(connection, RESTARTS, {"cluster": cluster, "connector": connector}, values)

    def forget_restarts(self, cluster: ClusterName, connectors: Collection[ConnectorName]) -> None:
        """Record that the connectors work again, or no longer exist."""
        these = (RESTARTS.c.cluster == cluster) & RESTARTS.c.connector.in_(connectors)
        with self._write() as connection:
            connection.execute(delete(RESTARTS).where(these))

    def restart_requests(self, cluster: ClusterName) -> Mapping[tuple[ConnectorName, RestartKind], str]:
        """The id of the last requested restart that was carried out."""
        query = select(RESTART_REQUESTS).where(RESTART_REQUESTS.c.cluster == cluster)
        with self._database.read() as connection:
            return {(row.connector, RestartKind(row.kind)): row.id for row in connection.execute(query)}

    def record_restart_request(self, cluster: ClusterName, connector: ConnectorName, request: RestartRequest) -> None:
        """Record that the requested restart was carried out."""
        key = {"cluster": cluster, "connector": connector, "kind": request.kind.value}
        with self._write() as connection:
            upsert(connection, RESTART_REQUESTS, key, {"id": request.id})

    def suspensions(self, cluster: ClusterName) -> Suspensions:
        """What commands have suspended: the cluster, and single connectors."""
        query = select(SUSPENSIONS).where(SUSPENSIONS.c.cluster == cluster)
        with self._database.read() as connection:
            found = {ConnectorName(row.connector): _suspension(row) for row in connection.execute(query)}
        whole = found.pop(_WHOLE_CLUSTER, None)
        return Suspensions(whole, found)

    def suspend(self, cluster: ClusterName, connector: ConnectorName | None, suspension: Suspension) -> None:
        """Record that a command suspends the connector, or with None the whole cluster, instead of an earlier record.

        This needs no lease: it takes effect when the next plan is made.
        """
        key = {"cluster": cluster, "connector": connector or _WHOLE_CLUSTER}
        values = {"who": suspension.who, "since": suspension.since, "reason": suspension.reason}
        with self._database.write() as connection:
            upsert(connection, SUSPENSIONS, key, values)

    def resume(self, cluster: ClusterName, connector: ConnectorName | None) -> bool:
        """End what `suspend` recorded. Returns False if there was no record."""
        this = (SUSPENSIONS.c.cluster == cluster) & (SUSPENSIONS.c.connector == (connector or _WHOLE_CLUSTER))
        with self._database.write() as connection:
            return connection.execute(delete(SUSPENSIONS).where(this)).rowcount > 0

    def stopped(self, cluster: ClusterName) -> Mapping[ConnectorName, TargetState]:
        """The connectors that are stopped for an offset change, with the state to which each returns."""
        query = select(STOPPED).where(STOPPED.c.cluster == cluster)
        with self._database.read() as connection:
            return {row.connector: TargetState(row.returns_to) for row in connection.execute(query)}

    def record_stopped(self, cluster: ClusterName, connector: ConnectorName, returns_to: TargetState) -> None:
        """Record that the connector is about to be stopped for an offset change."""
        key = {"cluster": cluster, "connector": connector}
        with self._write() as connection:
            upsert(connection, STOPPED, key, {"returns_to": returns_to.value})

    def forget_stopped(self, cluster: ClusterName, connectors: Collection[ConnectorName]) -> None:
        """Record that the connectors are no longer stopped for an offset change."""
        these = (STOPPED.c.cluster == cluster) & STOPPED.c.connector.in_(connectors)
        with self._write() as connection:
            connection.execute(delete(STOPPED).where(these))

    def revisions(self, cluster: ClusterName) -> Revisions:
        """The revision last attempted on the cluster, and the revision last applied."""
        query = select(REVISIONS).where(REVISIONS.c.cluster == cluster)
        with self._database.read() as connection:
            marks = {row.kind: RevisionMark(row.revision, row.at, row.result) for row in connection.execute(query)}
        return Revisions(marks.get(_ATTEMPTED), marks.get(_APPLIED))

    def record_attempt(self, cluster: ClusterName, revision: Revision, at: datetime, result: str = "") -> None:
        """Record that this revision is being applied to the cluster; again with a `result` if that has failed."""
        self._mark(cluster, _ATTEMPTED, RevisionMark(revision, at, result))

    def record_applied(self, cluster: ClusterName, revision: Revision, at: datetime, result: str = "") -> None:
        """Record that the cluster is in sync with this revision."""
        self._mark(cluster, _APPLIED, RevisionMark(revision, at, result))

    def lease(
        self, cluster: ClusterName, clock: Clock, ttl: float = LEASE_SECONDS, leader: Lease | None = None
    ) -> AbstractContextManager[Lease]:
        """The right to change the cluster, for the length of a `with` block; see `leases.held`.

        `ttl` (seconds) is how long the lease outlasts its holder if the holder's end cannot be seen. A daemon passes
        its lease as the `leader`: it may change the cluster only as long as it is the leader.
        """
        return held(self._database, LeaseOptions(cluster, clock, ttl, leader))

    def leadership(self, clock: Clock) -> Lease:
        """The lease that makes a daemon the leader, not yet acquired."""
        return Lease(self._database, LeaseOptions(LEADER, clock))

    def export(self) -> Archive:
        """The whole content of the ledger, except its leases and its key."""
        with self._database.read() as connection:
            return take_out(connection)

    def restore(self, archive: Archive, now: datetime, *, replace: bool = False) -> Restored:
        """Replace the content of the ledger with the archive: completely or not at all.

        Raises UsageError if the ledger has other content and `replace` is False, LedgerBusy if a process works on a
        cluster.
        """
        with self._database.write() as connection:
            require_idle(connection, now)
            return put_in(connection, archive, replace=replace)

    def close(self) -> None:
        """Release the database. Nothing is held between two calls, so a ledger that is not closed does no harm."""
        self._database.close()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._database.write() as connection:
            if self._lease is not None:
                self._lease.require(connection)
            yield connection

    def _mark(self, cluster: ClusterName, kind: str, mark: RevisionMark) -> None:
        values = {"revision": mark.revision, "at": mark.at, "result": mark.result}
        with self._write() as connection:
            upsert(connection, REVISIONS, {"cluster": cluster, "kind": kind}, values)


def _suspension(row: Row[Any]) -> Suspension:
    return Suspension(SuspendedBy.COMMAND, row.connector == _WHOLE_CLUSTER, row.who, row.since, row.reason)


def _ownership(row: Row[Any]) -> Ownership:
    cluster, connector, origin, revision, since, desired, applied, on_delete, references = tuple[Any, ...](row)
    known, read = ({} if text == "{}" else json.loads(text) for text in (applied, references))
    return Ownership(cluster, connector, _ORIGINS[origin], revision, since, desired, known, _ON_DELETE[on_delete], read)
