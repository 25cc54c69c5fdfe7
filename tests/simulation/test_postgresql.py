"""The simulated PostgreSQL and a real one: the same steps of several transactions have the same results.

Each transaction is a generator. At each `yield`, other transactions can run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from live.databases import Server
from sqlalchemy import select, text
from support.ledger.ledger_places import postgres_place

from gitops_connect.errors import GitopsConnectError, LedgerUnusable
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import PROPERTIES, get_property, set_property
from simulation.faults import Faults, Point, Rates
from simulation.postgresql import PostgresDatabase, PostgresServer, _Transaction
from simulation.timeline import Life, SimulatedClock
from simulation.world import LedgerTemplate, Replica, World

pytestmark = pytest.mark.slow

Work = Generator[None, None, Any]
NAME = "count"
_ROW = select(PROPERTIES.c.value).where(PROPERTIES.c.name == NAME)
_PATIENCE = text("SET LOCAL idle_in_transaction_session_timeout = '1s'")
_LONGER = 2.0
"""Seconds."""


class Process:
    """A process with one transaction."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.result: Any = None
        """What the transaction returned, or its error."""

    def go_on(self) -> None:
        try:
            next(self.work)
        except StopIteration as end:
            self.result = end.value
        except GitopsConnectError as error:
            self.result = error


class Processes(ABC):
    """Several processes, and the server that they share."""

    @abstractmethod
    def begin(self, transaction: Callable[[Database], Work]) -> Any:
        """A process with this transaction."""

    @abstractmethod
    def go_on(self, process: Any, frozen: float = 0.0) -> bool:
        """Run its transaction until the next `yield`, after a pause of `frozen` seconds. False: it waits for a lock."""

    @abstractmethod
    def kill(self, process: Any) -> None:
        """End the process, whose transaction is at a `yield`."""

    def done(self, transaction: Callable[[Database], Work]) -> Any:
        """The result of a transaction that waits for nothing."""
        process = self.begin(transaction)
        while process.result is None:
            assert self.go_on(process)
        return process.result


class _Planned(Faults):
    """The next statement has this fault."""

    fault = ""

    def next(self, point: Point) -> str:
        fault, self.fault = self.fault, ""
        assert not fault or point is Point.STATEMENT
        return fault


class _WithoutDaemon(Replica):
    def __init__(self, world: World, number: int) -> None:
        self.world, self.life = world, Life(f"replica {number}")
        self.clock, self._touches = SimulatedClock(world.timeline, self.life), {}


class _SimulatedProcess(Process):
    def __init__(self, server: PostgresServer, replica: Replica, work: Work) -> None:
        super().__init__(work)
        self._server, self.replica = server, replica
        self.is_waiting = self.has_given_way = False

    def go_on(self) -> None:
        """Others see its transaction as it is while its process does something else."""
        for one in self._transactions():
            one._go_on()
        super().go_on()
        for one in self._transactions():
            one._give_way()
        self.has_given_way = True

    def _transactions(self) -> list[_Transaction]:
        return [one for one in self._server.open if one._replica is self.replica]


class Simulated(Processes):
    def __init__(self, directory: Path) -> None:
        self.faults = _Planned(Rates(), Random(0))
        self.world = World(self.faults, LedgerTemplate.empty(directory).copy(), directory, {}, is_postgres=True)
        self._processes: list[_SimulatedProcess] = []

    def begin(self, transaction: Callable[[Database], Work]) -> _SimulatedProcess:
        server = self.world.server
        assert server is not None
        replica = _WithoutDaemon(self.world, len(self._processes))
        process = _SimulatedProcess(server, replica, transaction(PostgresDatabase(server, replica)))
        self._processes.append(process)
        return process

    def go_on(self, process: _SimulatedProcess, frozen: float = 0.0) -> bool:
        self.faults.fault = f"freezes for {frozen}" if frozen else ""
        if not process.is_waiting:
            process.has_given_way = False
            self.world.timeline.at(0, process.replica.life, process.go_on)
        self.world.timeline.run(frozen + 1)
        assert not self.world.timeline.errors, self.world.timeline.errors
        process.is_waiting = not process.has_given_way
        return process.has_given_way

    def kill(self, process: _SimulatedProcess) -> None:
        process.replica.life.is_dead = True

    def close(self) -> None:
        for one in self._processes:
            one.work.close()
        self.world.close()


class _RealProcess(Process):
    def __init__(self, name: str, work: Work) -> None:
        super().__init__(work)
        self.name = name
        self.running: Future[None] | None = None


class Real(Processes):
    def __init__(self, server: Server, directory: Path) -> None:
        self._server, self._place = server, postgres_place(server, directory)
        self._place.open().close()
        self._pool = ThreadPoolExecutor(4)
        self._processes: list[_RealProcess] = []

    def begin(self, transaction: Callable[[Database], Work]) -> _RealProcess:
        name = f"process-{len(self._processes)}"
        database = Database(f"{self._place.url}?application_name={name}", self._place.directory)
        self._processes.append(process := _RealProcess(name, transaction(database)))
        return process

    def go_on(self, process: _RealProcess, frozen: float = 0.0) -> bool:
        time.sleep(frozen)  # this is what its server sees of a frozen process
        process.running = process.running or self._pool.submit(process.go_on)
        waiting = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted"
        while not process.running.done():
            if self._server.sql(f"{waiting} AND {self._is(process)}") == "1":
                return False
        process.running = process.running.result()
        return True

    def kill(self, process: _RealProcess) -> None:
        """A server notices the end of a process by its closed connection."""
        end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE"
        self._server.sql(f"{end} {self._is(process)}")

    def _is(self, process: _RealProcess) -> str:
        return f"application_name = '{process.name}' AND datname = '{self._place.url.rpartition('/')[2]}'"

    def close(self) -> None:
        for one in self._processes:
            with suppress(GitopsConnectError):  # its connection is closed
                one.work.close()
        self._pool.shutdown()


@pytest.fixture(params=["simulated", "real"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Processes]:
    is_real = request.param == "real"
    these = Real(request.getfixturevalue("postgres"), tmp_path) if is_real else Simulated(tmp_path)
    these.done(partial(_put, value="0"))
    yield these
    these.close()


# Transactions.


def _put(database: Database, value: str) -> Work:
    with database.write() as connection:
        set_property(connection, NAME, value)
        yield
    return "written"


def _get(database: Database) -> Work:
    with database.read() as connection:
        yield
        return get_property(connection, NAME)


def _count(database: Database, *, is_impatient: bool = False) -> Work:
    with database.write() as connection:
        if is_impatient:
            connection.execute(_PATIENCE)
        value = int(connection.execute(_ROW.with_for_update()).scalar_one())
        yield
        set_property(connection, NAME, str(value + 1))
    return value


def _share(database: Database) -> Work:
    with database.write() as connection:
        value = connection.execute(_ROW.with_for_update(read=True)).scalar_one()
        yield
    return value


def _fail(database: Database) -> Work:
    with database.write() as connection:
        set_property(connection, NAME, "7")
        yield
        raise LedgerUnusable("no")


# What both do.


def test_who_locks_a_row_makes_others_wait_and_they_see_what_it_has_written(processes: Processes) -> None:
    first, second = processes.begin(_count), processes.begin(_count)
    assert (processes.go_on(first), processes.go_on(second)) == (True, False)
    assert (processes.go_on(first), processes.go_on(second), processes.go_on(second)) == (True, True, True)
    assert (first.result, second.result, processes.done(_get)) == (0, 1, "2")


def test_a_written_row_is_locked_and_who_has_waited_replaces_it(processes: Processes) -> None:
    first, second = processes.begin(partial(_put, value="1")), processes.begin(partial(_put, value="2"))
    assert (processes.go_on(first), processes.go_on(second)) == (True, False)
    assert (processes.go_on(first), processes.go_on(second), processes.go_on(second)) == (True, True, True)
    assert (first.result, second.result, processes.done(_get)) == ("written", "written", "2")


def test_several_share_a_lock_and_who_writes_waits_for_all(processes: Processes) -> None:
    first, second, writer = processes.begin(_share), processes.begin(_share), processes.begin(_count)
    assert (processes.go_on(first), processes.go_on(second), processes.go_on(writer)) == (True, True, False)
    assert (processes.go_on(first), processes.go_on(writer)) == (True, False)
    assert (processes.go_on(second), processes.go_on(writer)) == (True, True)


def test_who_reads_waits_for_nobody_and_sees_what_is_committed(processes: Processes) -> None:
    writer = processes.begin(partial(_put, value="1"))
    assert processes.go_on(writer)
    assert processes.done(_get) == "0"
    assert processes.go_on(writer)
    assert processes.done(_get) == "1"


def test_a_transaction_that_fails_has_written_nothing(processes: Processes) -> None:
    assert isinstance(processes.done(_fail), LedgerUnusable)
    assert processes.done(_get) == "0"


def test_who_is_killed_has_written_nothing_and_nobody_waits_for_it(processes: Processes) -> None:
    victim, other = processes.begin(partial(_put, value="1")), processes.begin(_count)
    assert (processes.go_on(victim), processes.go_on(other)) == (True, False)
    processes.kill(victim)
    assert (processes.go_on(other), processes.go_on(other)) == (True, True)
    assert (other.result, processes.done(_get)) == (0, "1")


def test_who_is_frozen_for_too_long_loses_its_transaction(processes: Processes) -> None:
    frozen, other = processes.begin(partial(_count, is_impatient=True)), processes.begin(_count)
    assert (processes.go_on(frozen), processes.go_on(other)) == (True, False)
    assert processes.go_on(frozen, _LONGER)
    assert (processes.go_on(other), processes.go_on(other)) == (True, True)
    assert isinstance(frozen.result, LedgerUnusable)
    assert (other.result, processes.done(_get)) == (0, "1")
