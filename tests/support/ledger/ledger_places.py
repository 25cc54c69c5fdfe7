"""Where the tests of the ledger store one: in an SQLite file, or in a database of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from live.databases import Server
from sqlalchemy import Engine, event, select, update

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import LEASES


@dataclass(frozen=True)
class LedgerPlace:
    """The arguments of `Ledger.open`."""

    url: str
    directory: Path
    key: bytes | None = None

    @property
    def is_postgresql(self) -> bool:
        return self.url.startswith("postgresql")

    def open(self) -> Ledger:
        return Ledger.open(self.url, self.directory, self.key)

    def database(self) -> Database:
        return Database(self.url, self.directory)

    def change_leases(self, **values: object) -> None:
        """Change columns of every lease."""
        with closing(self.database()) as database, database.write() as connection:
            connection.execute(update(LEASES).values(**values))

    def move_leases(self) -> None:
        """Change every lease to one of a process on another machine, whose end cannot be seen from here."""
        self.change_leases(host="far-away", place="elsewhere")

    def age_leases(self, seconds: float) -> None:
        """Let every lease expire earlier, as if time had passed. PostgreSQL has a clock that no test can move."""
        with closing(self.database()) as database, database.write() as connection:
            for row in connection.execute(select(LEASES)).all():
                earlier = row.expires - timedelta(seconds=seconds)
                connection.execute(update(LEASES).where(LEASES.c.name == row.name).values(expires=earlier))

    def run(self, script: str) -> None:
        """Run statements as a person with an SQL shell does."""
        if self.is_postgresql:
            script = script.replace("BLOB", "BYTEA").replace("DOUBLE NOT", "DOUBLE PRECISION NOT")
            script = script.replace("    id INTEGER NOT", "    id SERIAL NOT")
        with closing(self.database()) as database, database.write() as connection:
            for statement in filter(str.strip, script.split(";\n")):
                connection.exec_driver_sql(statement)


@contextmanager
def writes() -> Iterator[list[str]]:
    """The writes of this process to any ledger meanwhile: `UPDATE leases`, `INSERT revisions`."""
    found: list[str] = []
    with _each_write(lambda _, write: found.append(write)):
        yield found


@contextmanager
def transactions() -> Iterator[list[list[str]]]:
    """The writes of each transaction that this process commits meanwhile, in the form of `writes`."""
    found: list[list[str]] = []
    begun: dict[object, list[str]] = {}

    def committed(connection: object) -> None:
        if connection in begun:
            found.append(begun.pop(connection))

    event.listen(Engine, "commit", committed)
    try:
        with _each_write(lambda connection, write: begun.setdefault(connection, []).append(write)):
            yield found
    finally:
        event.remove(Engine, "commit", committed)


@contextmanager
def _each_write(note: Callable[[object, str], None]) -> Iterator[None]:
    def executed(*arguments: Any) -> None:
        verb, *more = str(arguments[2]).split(maxsplit=3)
        if verb in ("INSERT", "UPDATE", "DELETE"):
            note(arguments[0], f"{verb} {more[verb != 'UPDATE']}")

    event.listen(Engine, "before_cursor_execute", executed)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", executed)


_number = count()


def postgres_place(server: Server, directory: Path) -> LedgerPlace:
    """A new database of the server."""
    name = f"ledger_{next(_number)}"
    server.sql(f"CREATE DATABASE {name}")
    return LedgerPlace(f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{name}", directory, b"k" * 32)
