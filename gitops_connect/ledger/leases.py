"""Leases: at most one process at a time changes a cluster, and a process notices when it has lost its lease."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update

from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.holder import Process
from gitops_connect.ledger.tables import LEASES
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ClusterName


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """The cluster of a lease, and how long the lease lasts without a renewal (`ttl` in seconds)."""

    cluster: ClusterName
    clock: Clock
    ttl: float


class Lease:
    """The right to change one cluster. Safe for several threads."""

    def __init__(self, database: Database, options: LeaseOptions) -> None:
        """Create a lease that is not yet acquired; `held` acquires it."""
        self._database = database
        self._options = options
        self._token = secrets.token_hex(16)
        self._renewed = float("-inf")
        self._renewing = Lock()

    def check(self) -> None:
        """Raise LedgerBusy unless this process still holds the lease; renew it when a third of its time is over.

        Call this before each effect, and more often than the lease lasts while waiting.
        """
        with self._renewing:  # a second thread finds the lease renewed
            if self._is_due():
                self.renew()
                return
        with self._database.read() as connection:
            self._require_ours(connection)

    def require(self, connection: Connection) -> None:
        """Raise LedgerBusy unless this process holds the lease until the transaction of `connection` has ended.

        The exception rolls the transaction back. This takes no lock of this process: the thread that renews holds that
        lock while it waits for the lock of the database.
        """
        self._require_ours(connection, locked=True)

    def renew(self) -> None:
        """Extend the lease by its whole time. Raises LedgerBusy if another process took it after it had expired."""
        with self._database.write() as connection:
            self._require_ours(connection)
            connection.execute(update(LEASES).where(self._ours()).values(expires=self._expiry()))
        self._renewed = self._options.clock.monotonic()

    def acquire(self) -> None:
        """Acquire the lease if it is free. Raises LedgerBusy, which names the holder."""
        cluster = self._options.cluster
        process = Process.current()
        now = self._options.clock.now()
        with self._database.write() as connection:
            row = connection.execute(select(LEASES).where(LEASES.c.cluster == cluster).with_for_update()).one_or_none()
            if row is not None and not _is_free(row, now):
                raise LedgerBusy(f"cluster {cluster} is in use by {_holder(row)}; wait until it ends, or stop it")
            connection.execute(delete(LEASES).where(LEASES.c.cluster == cluster))
            connection.execute(
                insert(LEASES).values(
                    cluster=cluster,
                    token=self._token,
                    host=process.host,
                    place=process.place,
                    pid=process.pid,
                    process_started=process.started,
                    since=now,
                    expires=self._expiry(),
                )
            )
        self._renewed = self._options.clock.monotonic()

    def release(self) -> None:
        """Give the lease back. Does nothing if this process no longer holds it."""
        with self._database.write() as connection:
            connection.execute(delete(LEASES).where(self._ours()))

    def _ours(self) -> ColumnElement[bool]:
        return (LEASES.c.cluster == self._options.cluster) & (LEASES.c.token == self._token)

    def _expiry(self) -> datetime:
        return self._options.clock.now() + timedelta(seconds=self._options.ttl)

    def _is_due(self) -> bool:
        return self._options.clock.monotonic() - self._renewed >= self._options.ttl / 3

    def _require_ours(self, connection: Connection, *, locked: bool = False) -> None:
        query = select(LEASES).where(LEASES.c.cluster == self._options.cluster)
        # SQLite has one lock for all writers, and no other. In other databases nobody takes a row with this lock.
        row = connection.execute(query.with_for_update(read=True) if locked else query).one_or_none()
        if row is None or row.token != self._token:
            taken = f"taken over by {_holder(row)}" if row else "removed from the ledger"
            raise LedgerBusy(
                f"the lease of cluster {self._options.cluster} was lost: it expired and was {taken};"
                " this process makes no more changes"
            )


@contextmanager
def held(database: Database, options: LeaseOptions) -> Iterator[Lease]:
    """Hold the lease of a cluster while the block runs. Raises LedgerBusy if another process holds it."""
    lease = Lease(database, options)
    lease.acquire()
    try:
        yield lease
    except BaseException:
        # The error that ended the block matters more than a lease that was not given back: the lease expires by itself.
        with suppress(GitopsConnectError):
            lease.release()
        raise
    lease.release()


def require_idle(connection: Connection, now: datetime) -> None:
    """Raise LedgerBusy if a process works on any cluster: for operations on the whole ledger."""
    for row in connection.execute(select(LEASES).order_by(LEASES.c.cluster)):
        if not _is_free(row, now):
            raise LedgerBusy(f"cluster {row.cluster} is in use by {_holder(row)}; wait until it ends, or stop it")


def _is_free(row: Row[tuple[object, ...]], now: datetime) -> bool:
    """Whether the lease has expired, or its process on this machine ended without giving it back."""
    expires: datetime = row.expires
    return expires <= now or Process(row.host, row.place, row.pid, row.process_started).has_ended()


def _holder(row: Row[tuple[object, ...]]) -> str:
    process = Process(row.host, row.place, row.pid, row.process_started)
    return f"{process} since {row.since:%Y-%m-%d %H:%M:%S} UTC"
