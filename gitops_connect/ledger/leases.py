"""Leases: at most one process at a time changes a cluster, and a process notices when it has lost its lease.

Each lease has a fencing number, which rises with each acquisition. A process may act only while the ledger contains the
number that it acquired. Number and expiry are compared in the ledger, never with what this process remembers: a process
that was suspended remembers that it holds the lease.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Lock, Thread

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, text, update

from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.holder import Process
from gitops_connect.ledger.tables import LEASES
from gitops_connect.model.clock import Clock

LEASE_SECONDS = 10.0
"""Another process takes over a lease that was not renewed for so long."""
_LONGEST_LOCK = 5
"""Seconds that a process may hold the lock of a lease without a statement."""
LEADER = "(leader)"
"""The lease of the daemon that reconciles. No cluster can have this name."""


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """A lease by its name (a cluster, or LEADER), and how long it lasts without a renewal (`ttl` in seconds).

    `leader`: the lease is held only as long as this lease is held too.
    """

    name: str
    clock: Clock
    ttl: float = LEASE_SECONDS
    leader: Lease | None = None


class Lease:
    """The right to change one cluster, or to be the leader. Safe for several threads."""

    def __init__(self, database: Database, options: LeaseOptions) -> None:
        """Create a lease that is not yet acquired; `held` acquires it."""
        self._database = database
        self._options = options
        self._token = secrets.token_hex(16)
        self._renewing = Lock()
        self.number = 0
        """The fencing number; 0 before the lease is acquired."""

    def check(self) -> float:
        """Raise LedgerBusy unless this process still holds the lease; renew it when half of its time is over.

        Returns for how many seconds from the call nobody else can have the lease. Call this before each effect. An
        expired lease that nobody has taken is renewed before it is relied on.
        """
        together = [self] if self._options.leader is None else [self, self._options.leader]
        with self._renewing:  # a second thread finds the lease renewed
            with self._database.read() as connection:
                left = {lease: lease.seconds_left(connection) for lease in together}
            for lease in together:
                if left[lease] < lease.ttl / 2:
                    lease.renew()
                    left[lease] = lease.ttl
        return min(left.values())

    def require(self, connection: Connection) -> None:
        """Raise LedgerBusy unless this process holds the lease until the transaction of `connection` has ended.

        The exception rolls the transaction back. This takes no lock of this process: the thread that renews holds that
        lock while it waits for the lock of the database.
        """
        _lock_briefly(connection)
        self._require_ours(connection, locked=True)
        if self._options.leader is not None:
            self._options.leader.require(connection)

    def renew(self) -> None:
        """Extend the lease by its whole time. Raises LedgerBusy if another process took it after it had expired."""
        with self._database.write() as connection:
            _lock_briefly(connection)
            renewal = update(LEASES).where(self._ours()).values(expires=self._expiry(connection))
            if connection.execute(renewal).rowcount == 0:
                self._require_ours(connection)

    def acquire(self) -> None:
        """Acquire the lease if it is free. Raises LedgerBusy, which names the holder."""
        name = self._options.name
        process = Process.current()
        with self._database.write() as connection:
            _lock_briefly(connection)
            if self._options.leader is not None:
                self._options.leader.require(connection)
            row = connection.execute(select(LEASES).where(LEASES.c.name == name).with_for_update()).one_or_none()
            now = _time(connection, self._options.clock.now())
            if row is not None and not _is_free(row, now):
                raise LedgerBusy(_in_use(row))
            number = 1 if row is None else row.number + 1
            values = {
                "number": number,
                "token": self._token,
                "host": process.host,
                "place": process.place,
                "pid": process.pid,
                "process_started": process.started,
                "since": now,
                "expires": self._expiry(connection),
            }
            # If another process has inserted the row meanwhile, the insertion fails: this lease is not free any more.
            taken = insert(LEASES).values(name=name) if row is None else update(LEASES).where(LEASES.c.name == name)
            connection.execute(taken.values(**values))
        self.number = number

    def release(self) -> None:
        """Give the lease back. Does nothing if this process no longer holds it. The ledger keeps its number."""
        with self._database.write() as connection:
            free = {"token": "", "expires": _time(connection, self._options.clock.now())}
            connection.execute(update(LEASES).where(self._ours()).values(**free))

    def holder(self) -> Process | None:
        """The process that holds the lease; None if it is free."""
        with self._database.read() as connection:
            row = connection.execute(select(LEASES).where(LEASES.c.name == self._options.name)).one_or_none()
            if row is None or _is_free(row, _time(connection, self._options.clock.now())):
                return None
            return _process(row)

    @property
    def ttl(self) -> float:
        """How long the lease lasts without a renewal, in seconds."""
        return self._options.ttl

    def seconds_left(self, connection: Connection) -> float:
        """The time until the lease expires. Raises LedgerBusy if another process has it."""
        expires: datetime = self._require_ours(connection).expires
        return (expires - _time(connection, self._options.clock.now())).total_seconds()

    def _ours(self) -> ColumnElement[bool]:
        """The token is compared too: a restored backup may have a number again."""
        ours = (LEASES.c.number == self.number) & (LEASES.c.token == self._token)
        return (LEASES.c.name == self._options.name) & ours

    def _expiry(self, connection: Connection) -> datetime:
        return _time(connection, self._options.clock.now()) + timedelta(seconds=self.ttl)

    def _require_ours(self, connection: Connection, *, locked: bool = False) -> Row[tuple[object, ...]]:
        query = select(LEASES).where(LEASES.c.name == self._options.name)
        # SQLite has one lock for all writers, and no other. In other databases nobody takes a row with this lock.
        row = connection.execute(query.with_for_update(read=True) if locked else query).one_or_none()
        if row is None or (row.number, row.token) != (self.number, self._token):
            taken = f"it expired and was taken over by {_holder(row)}" if row else "it was removed from the ledger"
            if row is not None and not row.token:
                taken = "it was given back"
            raise LedgerBusy(
                f"the lease of {_subject(self._options.name)} was lost: {taken}; this process makes no more changes"
            )
        return row


@contextmanager
def held(database: Database, options: LeaseOptions) -> Iterator[Lease]:
    """Hold a lease while the block runs, which may take any time. Raises LedgerBusy if another process holds it."""
    lease = Lease(database, options)
    lease.acquire()
    try:
        with _renewed(lease):
            yield lease
    except BaseException:
        # The error that ended the block matters more than a lease that was not given back: the lease expires by itself.
        with suppress(GitopsConnectError):
            lease.release()
        raise
    lease.release()


@contextmanager
def _renewed(lease: Lease) -> Iterator[None]:
    """Renew the lease in another thread while the block runs: a request to Connect takes longer than the lease lasts.

    If that fails, the next check before an effect says why.
    """
    over = Event()

    def renew() -> None:
        while not over.wait(lease.ttl / 3):
            with suppress(GitopsConnectError):
                lease.renew()

    thread = Thread(target=renew, name="renew lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def require_idle(connection: Connection, now: datetime) -> None:
    """Raise LedgerBusy if a process works on any cluster: for operations on the whole ledger."""
    for row in connection.execute(select(LEASES).order_by(LEASES.c.name)):
        if not _is_free(row, _time(connection, now)):
            raise LedgerBusy(_in_use(row))


def _lock_briefly(connection: Connection) -> None:
    """Let PostgreSQL end the transaction of a suspended process: with its locks, nobody could take over the lease."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST_LOCK}s'"))


def _time(connection: Connection, now: datetime) -> datetime:
    """The time by which leases expire: of the PostgreSQL server, as the clocks of several machines may differ.

    Only one machine uses an SQLite file, so that its clock, `now`, will do.
    """
    if connection.dialect.name != "postgresql":
        return now
    time: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return time


def _is_free(row: Row[tuple[object, ...]], now: datetime) -> bool:
    """Whether the lease has expired, or its process on this machine ended without giving it back."""
    expires: datetime = row.expires
    return expires <= now or _process(row).has_ended()


def _in_use(row: Row[tuple[object, ...]]) -> str:
    if row.name == LEADER:
        return f"the leader is {_holder(row)}"
    return f"{_subject(row.name)} is in use by {_holder(row)}; wait until it ends, or stop it"


def _subject(name: str) -> str:
    return "the leader" if name == LEADER else f"cluster {name}"


def _process(row: Row[tuple[object, ...]]) -> Process:
    return Process(row.host, row.place, row.pid, row.process_started)


def _holder(row: Row[tuple[object, ...]]) -> str:
    return f"{_process(row)} since {row.since:%Y-%m-%d %H:%M:%S} UTC"
