"""The interface of the ledger: open, read and write; every call is one transaction, or a part of `Ledger.together`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path

from sqlalchemy import Connection, bindparam, delete, select

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.archive import Archive, Restored, put_in, take_out
from gitops_connect.ledger.column_types import attributes
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.leases import LEADER, LEASE_SECONDS, Lease, held, require_idle, writes_under
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.ledger.schema import find_version, is_current, prepare
from gitops_connect.ledger.status_store import ReviewStore, StatusStore
from gitops_connect.ledger.tables import (
    CONFIG_HISTORIES,
    OWNERSHIP,
    RESTART_REQUESTS,
    RESTARTS,
    REVISIONS,
    ROLLOUTS,
    STOPPED,
    SUSPENSIONS,
    RecordedValues,
    upsert,
)
from gitops_connect.model.clock import Clock
from gitops_connect.model.config_histories import ConfigHistory
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.offset_changes import OffsetChangeHistory
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.revisions import RevisionMark, Revisions
from gitops_connect.model.rollout_decisions import RolloutDecision
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions

_ATTEMPTED = "attempted"
_APPLIED = "applied"
_WHOLE_CLUSTER = ConnectorName("")
_OWNERSHIP = select(OWNERSHIP).where(OWNERSHIP.c.cluster == bindparam("of")).order_by(OWNERSHIP.c.connector)


class Ledger:
    """The managed connectors and the applied changes. Safe for several threads and processes; use `Ledger.open`.

    Every method raises LedgerBusy if another process holds the database's lock for too long, and LedgerUnusable if the
    database cannot be read or written.
    """

    def __init__(self, database: Database, key: bytes, lease: Lease | None = None) -> None:
        """For `open`, which prepares the schema and the key, and for `under`."""
        self._database = database
        self._write = writes_under(database, lease)
        self.key = key
        self.offset_changes = OffsetChangeStore(database, lease)
        self.status = StatusStore(database)
        self.reviews = ReviewStore(database)
        self.configs = RecordedValues[ConnectorName, ConfigHistory](database, self._write, CONFIG_HISTORIES)
        """The configs on trial and those that were rolled back."""
        self.restarts = RecordedValues[ConnectorName, RestartRecord](
            database, self._write, RESTARTS, RestartRecord, attrgetter("count", "last")
        )
        """The automatic restarts of connectors that have failed. A restart is recorded before it is requested."""
        self.restart_requests = RecordedValues[tuple[ConnectorName, RequestKind], str](
            database, self._write, RESTART_REQUESTS, lambda _, request_id: request_id
        )
        """The id of the last requested restart of each kind that was carried out."""
        self.stopped = RecordedValues[ConnectorName, TargetState](database, self._write, STOPPED)
        """The connectors that are stopped for an offset change or a deletion, with the state to which each returns."""
        self.rollouts = RecordedValues[tuple[Revision, ConnectorName], RolloutDecision](
            database,
            database.write,
            ROLLOUTS,
            lambda _, *columns: RolloutDecision(*columns),
            attrgetter("choice", "who", "since", "reason"),
        )
        """What commands have decided about rollouts: it needs no lease, and takes effect when the next plan is made."""
        self._suspensions = RecordedValues[ConnectorName, Suspension](
            database,
            database.write,
            SUSPENSIONS,
            partial(Suspension, SuspendedBy.COMMAND, False),  # noqa: FBT003 - a column has no name here
            attrgetter("who", "since", "reason"),
        )
        self._marks = RecordedValues[str, RevisionMark](
            database, self._write, REVISIONS, RevisionMark, attrgetter("revision", "at", "result")
        )

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

    def together(self) -> AbstractContextManager[None]:
        """Make all writes of this thread in the block one transaction; see `Database.together`."""
        return self._database.together()

    def ownership(self, cluster: ClusterName) -> Mapping[ConnectorName, Ownership]:
        with self._database.read() as connection:
            return {row.connector: Ownership(*row) for row in connection.execute(_OWNERSHIP, {"of": cluster})}

    def record(self, *ownerships: Ownership) -> None:
        """Record all of these connectors, or none. The first origin and time of each connector are kept."""
        columns = ("cluster", "connector", "origin", "since", "revision", "desired", "applied", "on_delete")
        rows = [{**attributes(one, *columns), "secret_references": one.references} for one in ownerships]
        if rows:
            with self._write() as connection:
                upsert(connection, OWNERSHIP, rows, kept=("origin", "since"))

    def forget(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """Record that the connector is no longer managed, or was deleted. Does nothing if it was never managed."""
        with self._write() as connection:
            for table in (OWNERSHIP, RESTART_REQUESTS, CONFIG_HISTORIES, SUSPENSIONS, STOPPED, ROLLOUTS):
                connection.execute(delete(table).filter_by(cluster=cluster, connector=connector))

    def disown(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """Remove the record that the connector is managed. Everything else about it is kept."""
        with self._write() as connection:
            connection.execute(delete(OWNERSHIP).filter_by(cluster=cluster, connector=connector))

    def suspensions(self, cluster: ClusterName) -> Suspensions:
        found = dict(self._suspensions.of(cluster))
        whole = found.pop(_WHOLE_CLUSTER, None)
        return Suspensions(whole and replace(whole, whole_cluster=True), found)

    def suspend(self, cluster: ClusterName, connector: ConnectorName | None, suspension: Suspension) -> None:
        """Record that a command suspends the connector, or with None the whole cluster, instead of an earlier record.

        This needs no lease: it takes effect when the next plan is made.
        """
        self._suspensions.record(cluster, {connector or _WHOLE_CLUSTER: suspension})

    def resume(self, cluster: ClusterName, connector: ConnectorName | None) -> bool:
        """End what `suspend` recorded. Returns False if there was no record."""
        this = delete(SUSPENSIONS).filter_by(cluster=cluster, connector=connector or _WHOLE_CLUSTER)
        with self._database.write() as connection:
            return connection.execute(this).rowcount > 0

    def revisions(self, cluster: ClusterName) -> Revisions:
        """The revision last attempted on the cluster, and the revision last applied."""
        marks = self._marks.of(cluster)
        return Revisions(marks.get(_ATTEMPTED), marks.get(_APPLIED))

    def record_attempt(self, cluster: ClusterName, revision: Revision, at: datetime, result: str = "") -> None:
        """Record that this revision is being applied to the cluster; again with a `result` if that has failed."""
        self._marks.record(cluster, {_ATTEMPTED: RevisionMark(revision, at, result)})

    def record_applied(self, cluster: ClusterName, revision: Revision, at: datetime, result: str = "") -> None:
        """Record that the cluster is in sync with this revision."""
        self._marks.record(cluster, {_APPLIED: RevisionMark(revision, at, result)})

    def lease(
        self, cluster: ClusterName, clock: Clock, ttl: float = LEASE_SECONDS, leader: Lease | None = None
    ) -> AbstractContextManager[Lease]:
        """The right to change the cluster, for the length of a `with` block; see `leases.held`.

        `ttl` (seconds) is how long the lease outlasts its holder if the holder's end cannot be seen. A daemon passes
        its lease as the `leader`: it may change the cluster only as long as it is the leader.
        """
        return held(Lease(self._database, cluster, clock, ttl, leader))

    def leadership(self, clock: Clock) -> Lease:
        """The lease that makes a daemon the leader, not yet acquired."""
        return Lease(self._database, LEADER, clock)

    def compact(self) -> bool:
        """Give free space back to the disk if it is worth it; see `Database.compact`."""
        return self._database.compact()

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


def read_history(
    url: str, directory: Path, clusters: Iterable[ClusterName]
) -> Mapping[ClusterName, OffsetChangeHistory]:
    """The offset changes of each cluster, from a ledger that may not exist: nothing is created, upgraded or locked.

    A relative path in an SQLite URL starts from the given directory. The key of the ledger is not needed. Raises
    UsageError for a URL that cannot be used, LedgerUnusable if there is no ledger or it cannot be read, LedgerBusy if
    it is locked.
    """
    with closing(Database(url, directory)) as database:
        if database.file is not None and not database.file.exists():
            raise LedgerUnusable(f"the ledger {database.file} does not exist")
        with database.read() as connection:
            _require_current(connection, database)
        return {cluster: _history(database, cluster) for cluster in clusters}


def _require_current(connection: Connection, database: Database) -> None:
    if find_version(connection) == 0:
        raise LedgerUnusable(f"the database {database.place} contains no ledger yet")
    if not is_current(connection):
        raise LedgerUnusable(
            f"the ledger {database.place} was written by an older version; the next plan or apply upgrades it"
        )


def _history(database: Database, cluster: ClusterName) -> OffsetChangeHistory:
    """The history of a cluster. It is incomplete if the ledger has never worked on the cluster."""
    with database.read() as connection:
        has_worked = connection.execute(select(REVISIONS).filter_by(cluster=cluster)).first() is not None
    return OffsetChangeHistory(OffsetChangeStore(database).records(cluster), is_complete=has_worked)
