"""A ledger in PostgreSQL, for several replicas: what happens to a transaction whose process dies, freezes or waits.

All transactions share one SQLite connection. A transaction that gives way is rolled back there, so that others see what
is committed, and what it has written is written again when it goes on. Its locks keep the result the same. They are
coarser than those of PostgreSQL, which locks rows: here, a transaction locks tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Select, TextClause, UpdateBase, select
from sqlalchemy.exc import OperationalError

from gitops_connect.ledger.database import STATEMENT_TIMEOUT, Database
from gitops_connect.ledger.tables import (
    CONFIG_HISTORIES,
    LEASES,
    OPERATIONS,
    OWNERSHIP,
    RESTART_REQUESTS,
    RESTARTS,
    REVISIONS,
    STOPPED,
)
from simulation.faults import UNSEEN, Point, UnseenCommit
from simulation.promises import LOCAL
from simulation.timeline import START

if TYPE_CHECKING:
    from simulation.world import Replica, World

_POLL = 0.5
"""Seconds between two looks at a lock."""
_UNDER_THE_LEASE = frozenset(
    one.name for one in (CONFIG_HISTORIES, OPERATIONS, OWNERSHIP, RESTART_REQUESTS, RESTARTS, REVISIONS, STOPPED)
)
"""The tables that only the holder of the lease of the cluster writes."""
_HOLDER = select(LEASES.c.host).where(LEASES.c.name == LOCAL, LEASES.c.token != "")


class PostgresServer:
    """The server, and the transactions that are open there. Its clock is right."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.connection = world.connection
        self.driver = cast(sqlite3.Connection, world.connection.connection.driver_connection)
        self.open: list[_Transaction] = []

    @property
    def is_away(self) -> bool:
        return self._world.ledger_is_down

    @property
    def now(self) -> float:
        return self._world.timeline.now

    @property
    def time(self) -> datetime:
        return START + timedelta(seconds=self.now)

    def restart(self) -> None:
        """End all connections."""
        for one in self.open:
            one.ends = -inf


class PostgresDatabase(Database):
    """The ledger as one replica uses it."""

    def __init__(self, server: PostgresServer, replica: Replica) -> None:
        self.file, self.place = None, "postgresql"
        self._server = server
        self._replica = replica

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._replica.touch("ledger")
        with self._translated():
            yield cast(Connection, _Transaction(self._server, self._replica))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self._replica.touch("ledger")
        with self._translated():
            transaction = _Transaction(self._server, self._replica)
            transaction.begin()
            try:
                yield cast(Connection, transaction)
                transaction.commit()
            finally:
                transaction.end()

    def close(self) -> None:
        """The connection is closed by the world."""


class _Transaction:
    """A transaction as the product sees it: a part of `Connection`."""

    dialect = SimpleNamespace(name="postgresql")

    def __init__(self, server: PostgresServer, replica: Replica) -> None:
        self._server, self._replica = server, replica
        self._written: list[tuple[UpdateBase, Any]] = []
        self._locks: dict[str, bool] = {}
        """The tables that are locked, and whether nobody else may lock them at the same time."""
        self._is_current = self._writes = False
        self._patience = inf
        """`idle_in_transaction_session_timeout`, in seconds."""
        self.ends = inf
        """When the server ends the transaction unless its process goes on."""
        self._require_server()

    def execute(self, statement: Any, parameters: Any = None) -> Any:
        if isinstance(statement, TextClause):
            assert statement.text.startswith("SET LOCAL idle_in_transaction_session_timeout = '")
            self._patience = float(statement.text.split("'")[1].rstrip("s"))
            return None
        self._meet(Point.STATEMENT)
        if isinstance(statement, UpdateBase):
            self._lock(cast(Any, statement).table.name, alone=True)
            self._written.append((statement, parameters))
        elif isinstance(statement, Select):
            if not (read := statement.columns_clause_froms):  # clock_timestamp()
                return SimpleNamespace(scalar_one=lambda: self._server.time)
            if (wanted := statement._for_update_arg) is not None:
                self._lock(cast(Any, read[0]).name, alone=not wanted.read)
        return self._server.connection.execute(statement, parameters)

    def scalar(self, statement: Any, parameters: Any = None) -> Any:
        return self.execute(statement, parameters).scalar()

    def scalars(self, statement: Any, parameters: Any = None) -> Any:
        return self.execute(statement, parameters).scalars()

    def begin(self) -> None:
        self._server.open.append(self)
        self._writes = True
        self._go_on()

    def commit(self) -> None:
        fault = self._meet(Point.SERVER_COMMIT)
        self._require_lease()
        self._server.driver.execute("COMMIT")
        self._is_current = False
        if fault:
            raise UnseenCommit("the ledger cannot be used: the connection was lost")

    def end(self) -> None:
        """Roll back what is not committed, and release the locks."""
        self._server.open.remove(self)
        self._give_way()

    def _meet(self, point: Point) -> str:
        """Let the process meet its next fault. Returns the fault of a commit that takes effect."""
        self._replica.life.require()
        fault = self._replica.world.faults.next(point)
        if fault.startswith("freezes"):
            self.ends = min(self.ends, self._server.now + self._patience)
            self._give_way()
            self._replica.freeze(fault, f"a statement, {len(self._written)} written")
            self._go_on()
            self.ends = inf
        elif fault == "dies":
            self._replica.die("a statement")
        elif fault == "loses its connection":
            self._replica.world.note(f"{self._replica.life.name} {fault}")
            raise _lost("server closed the connection unexpectedly")
        self._require_server()
        return fault if fault == UNSEEN else ""

    def _lock(self, table: str, *, alone: bool) -> None:
        if self._locks.get(table) in (True, alone):
            return
        until = self._server.now + STATEMENT_TIMEOUT
        while any(one.blocks(table, alone=alone) for one in self._server.open if one is not self):
            if self._server.now >= until:
                raise _lost("canceling statement due to statement timeout")
            self._give_way()
            self._replica.clock.sleep(_POLL)
            self._go_on()
        self._locks[table] = alone

    def blocks(self, table: str, *, alone: bool) -> bool:
        """Whether another transaction has to wait for this one. The server ends that of a process that is dead."""
        is_open = self._server.now < self.ends and not self._replica.life.is_dead
        return is_open and table in self._locks and (alone or self._locks[table])

    def _give_way(self) -> None:
        if self._is_current:
            self._server.driver.execute("ROLLBACK")
            self._is_current = False

    def _go_on(self) -> None:
        self._require_server()
        if self._writes:
            self._server.driver.execute("BEGIN")
            self._is_current = True
            for statement, parameters in self._written:
                self._server.connection.execute(statement, parameters)

    def _require_server(self) -> None:
        if self._server.is_away:
            raise _lost("connection refused")
        if self._server.now >= self.ends:
            raise _lost("terminating connection due to idle-in-transaction timeout")

    def _require_lease(self) -> None:
        """What only the holder of the lease writes is written by it."""
        if written := {cast(Any, one).table.name for one, _ in self._written} & _UNDER_THE_LEASE:
            holder, name = self._server.connection.scalar(_HOLDER), self._replica.life.name
            if holder != name:
                self._replica.world.fail(f"{name} writes {sorted(written)}, and the lease is held by {holder}")


def _lost(why: str) -> OperationalError:
    return OperationalError(None, None, Exception(why))
