"""Leases: at most one process at a time changes a cluster, and a process notices when it has lost its lease.

Each lease has a fencing number, which rises with each acquisition. A process may act only while the ledger contains the
number that it acquired. Number and expiry are compared in the ledger, never with what this process remembers: a process
that was suspended remembers that it holds the lease.

The clock by which leases expire may be set. If it is set back, an expiry may be hours away. The lease is then limited
to its usual time from now on, and its holder renews it as usual.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
from sqlalchemy import Connection, Row, Select, bindparam, func, insert, select, text, update

from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.ledger.column_types import attributes
from gitops_connect.ledger.database import Database, Write
from gitops_connect.ledger.tables import LEASES
from gitops_connect.model.clock import Clock

LEASE_SECONDS = 10.0
"""Another process takes over a lease that was not renewed for so long."""
_LONGEST_LOCK = 5
"""Seconds that a process may hold the lock of a lease without a statement."""
LEADER = "(leader)"
"""The lease of the daemon that reconciles. No cluster can have this name."""
_LEASE = select(LEASES).where(LEASES.c.name == bindparam("lease"))
_TAKEN = _LEASE.with_for_update()
_TOGETHER = select(LEASES).where((LEASES.c.name == bindparam("lease")) | (LEASES.c.name == bindparam("leader")))
_LOCKED = _TOGETHER.with_for_update(read=True)
"""SQLite has one lock for all writers, and no other. In other databases nobody takes a row with this lock."""
_OURS = update(LEASES).where(
    *(LEASES.c[column] == bindparam(f"our {column}") for column in ("name", "number", "token"))
)
"""The token is compared too: a restored backup may have a number again."""
_FIRST, _NEXT = insert(LEASES), update(LEASES).where(LEASES.c.name == bindparam("lease"))
"""Statements are made once: that takes longer than to execute them."""
_RENEWAL = _OURS.values(expires=bindparam("until"))
_RELEASE = _OURS.values(expires=bindparam("until"), token="")
_SAME_START = 2.0
"""Seconds. Linux derives the time of boot, in whole seconds, from the time of day."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `place` identifies the process namespace; `started` is in seconds since the machine was booted.

    Two containers may share a host name and each have a process 7, so the name of the host is not enough. A missing
    process id means that the process has ended only if the place is also equal.
    """

    host: str
    place: str
    pid: int
    started: float

    @staticmethod
    def current() -> Process:
        return Process(socket.gethostname(), _place(), os.getpid(), _started(psutil.Process()))

    def is_here(self) -> bool:
        """Whether the process runs, or ran, where this process can see it."""
        return (self.host, self.place) == (socket.gethostname(), _place())

    def has_ended(self) -> bool:
        """True if the process has certainly ended; False if it runs, or cannot be seen from here."""
        if not self.is_here():
            return False
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            return abs(_started(process) - self.started) > _SAME_START
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(eq=False)
class Lease:
    """The right to change one cluster, or to be the leader (`name`). Safe for several threads.

    It is not yet acquired; `held` acquires it. `ttl` is how long it lasts without a renewal, in seconds. With a
    `leader`, it is held only as long as that lease is held too.
    """

    database: Database
    name: str
    clock: Clock
    ttl: float = LEASE_SECONDS
    leader: Lease | None = None
    number: int = field(default=0, init=False)
    """The fencing number; 0 before the lease is acquired."""
    token: str = field(default_factory=lambda: secrets.token_hex(16), init=False, repr=False)
    _renewing: Lock = field(default_factory=Lock, init=False, repr=False)

    def check(self) -> float:
        """Raise LedgerBusy unless this process still holds the lease; renew it when half of its time is over.

        It is also renewed if it has more than its whole time, because the clock was set back. Returns for how many
        seconds from the call nobody else can have the lease. Call this before each effect. An expired lease that nobody
        has taken is renewed before it is relied on.
        """
        with self._renewing:  # a second thread finds the lease renewed
            with self.database.read() as connection:
                left = self.seconds_left(connection)
            for lease, seconds in left.items():
                if not lease.ttl / 2 <= seconds <= lease.ttl:
                    lease.renew()
                    left[lease] = lease.ttl
        return min(left.values())

    def require(self, connection: Connection) -> None:
        """Raise LedgerBusy unless this process holds the lease until the transaction of `connection` has ended.

        The exception rolls the transaction back. This takes no lock of this process: the thread that renews holds that
        lock while it waits for the lock of the database.
        """
        _lock_briefly(connection)
        self._require_ours(connection, _LOCKED)

    def renew(self) -> None:
        """Extend the lease by its whole time. Raises LedgerBusy if another process took it after it had expired."""
        with self.database.write() as connection:
            _lock_briefly(connection)
            if connection.execute(_RENEWAL, self._ours(self._expiry(connection))).rowcount == 0:
                self._require_ours(connection)

    def prolong(self) -> float:
        """Renew the lease if that is possible: the next check reports a failure. Returns the seconds until the next."""
        with suppress(GitopsConnectError):
            self.renew()
        return self.ttl / 3

    def acquire(self) -> None:
        """Acquire the lease if it is free. Raises LedgerBusy, which names the holder.

        An expiry that is further away than `ttl` was written before the clock was set back. It is limited to `ttl`.
        While another process holds the lease, this only reads: each follower tries every second.
        """
        lasts = timedelta(seconds=self.ttl)
        with self.database.read() as connection:
            row = connection.execute(_LEASE, {"lease": self.name}).one_or_none()
            now = _time(connection, self.clock.now())
            if row is not None and row.expires <= now + lasts and not _is_free(row, now):
                raise LedgerBusy(_in_use(row))
        with self.database.write() as connection:
            _lock_briefly(connection)
            if self.leader is not None:
                self.leader.require(connection)
            row = connection.execute(_TAKEN, {"lease": self.name}).one_or_none()
            now = _time(connection, self.clock.now())
            expires, busy = now + lasts, ""
            number, process = 1 if row is None else row.number + 1, Process.current()
            values = {
                "number": number,
                "token": self.token,
                **attributes(process, "host", "place", "pid"),
                "process_started": process.started,
                "since": now,
                "expires": expires,
            }
            # If another process has inserted the row meanwhile, the insertion fails: this lease is not free any more.
            if row is None:
                connection.execute(_FIRST, {"name": self.name, **values})
            elif _is_free(row, now):
                connection.execute(_NEXT, {"lease": self.name, **values})
            else:
                busy = _in_use(row)
                if row.expires > expires:
                    connection.execute(_NEXT, {"lease": self.name, "expires": expires})
        if busy:
            raise LedgerBusy(busy)
        self.number = number

    def release(self) -> None:
        """Give the lease back. Does nothing if this process no longer holds it. The ledger keeps its number."""
        with self.database.write() as connection:
            connection.execute(_RELEASE, self._ours(_time(connection, self.clock.now())))

    def holder(self) -> Process | None:
        """The process that holds the lease; None if it is free."""
        with self.database.read() as connection:
            row = connection.execute(_LEASE, {"lease": self.name}).one_or_none()
            if row is None or _is_free(row, _time(connection, self.clock.now())):
                return None
            return _process(row)

    def seconds_left(self, connection: Connection) -> dict[Lease, float]:
        """The time until this lease and that of the leader expire. Raises LedgerBusy if another process has one."""
        rows = self._require_ours(connection)
        now = _time(connection, self.clock.now())
        return {lease: (row.expires - now).total_seconds() for lease, row in rows.items()}

    def _ours(self, until: datetime) -> dict[str, object]:
        return {"our name": self.name, "our number": self.number, "our token": self.token, "until": until}

    def _expiry(self, connection: Connection) -> datetime:
        return _time(connection, self.clock.now()) + timedelta(seconds=self.ttl)

    def _require_ours(self, connection: Connection, query: Select[Any] = _TOGETHER) -> dict[Lease, Row[Any]]:
        """The rows of this lease and of that of the leader. Raises LedgerBusy unless this process holds them."""
        together = [self] if self.leader is None else [self, self.leader]
        names = {"lease": together[0].name, "leader": together[-1].name}
        rows = {row.name: row for row in connection.execute(query, names)}
        for lease in together:
            row = rows.get(lease.name)
            if row is None or (row.number, row.token) != (lease.number, lease.token):
                raise LedgerBusy(_was_lost(lease.name, row))
        return {lease: rows[lease.name] for lease in together}


def writes_under(database: Database, lease: Lease | None) -> Write:
    """Transactions that write, under the lease if there is one: they raise LedgerBusy once it is lost."""

    @contextmanager
    def write() -> Iterator[Connection]:
        with database.write() as connection:
            if lease is not None:
                lease.require(connection)
            yield connection

    return write


@contextmanager
def held(lease: Lease) -> Iterator[Lease]:
    """Hold the lease while the block runs, which may take any time. Raises LedgerBusy if another process holds it."""
    lease.acquire()
    try:
        end = lease.clock.repeat(lease.prolong, lease.ttl / 3, "renew lease")  # a request may last longer than it
        try:
            yield lease
        finally:
            end()
    except BaseException:
        # The error that ended the block matters more than a lease that was not given back: the lease expires by itself.
        with suppress(GitopsConnectError):
            lease.release()
        raise
    lease.release()


def require_idle(connection: Connection, now: datetime) -> None:
    """Raise LedgerBusy if a process works on any cluster: for offset changes on the whole ledger."""
    for row in connection.execute(select(LEASES).order_by(LEASES.c.name)):
        if not _is_free(row, _time(connection, now)):
            raise LedgerBusy(_in_use(row))


def _lock_briefly(connection: Connection) -> None:
    """Let PostgreSQL end the transaction of a suspended process: with its locks, nobody could take over the lease."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST_LOCK}s'"))


def _time(connection: Connection, now: datetime) -> datetime:
    """The time by which leases expire: that of the PostgreSQL server; for an SQLite file on this machine, `now`."""
    if connection.dialect.name != "postgresql":
        return now
    time: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return time


def _is_free(row: Row[tuple[object, ...]], now: datetime) -> bool:
    """Whether the lease was given back, has expired, or its process on this machine ended without giving it back."""
    expires: datetime = row.expires
    return not row.token or expires <= now or _process(row).has_ended()


def _was_lost(name: str, row: Row[Any] | None) -> str:
    if row is None:
        how = "it was removed from the ledger"
    else:
        how = f"it expired and was taken over by {_holder(row)}" if row.token else "it was given back"
    return f"the lease of {_subject(name)} was lost: {how}; this process makes no more changes"


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


def _started(process: psutil.Process) -> float:
    """In seconds since the machine was booted: the time of day of a start changes if the clock is set."""
    booted = psutil.boot_time()
    return process.create_time() - booted


@cache
def _place() -> str:
    """The boot id and the namespace of the process ids; empty if the system (not Linux) has neither."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
