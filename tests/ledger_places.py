"""Where the tests of the ledger store one: in an SQLite file, or in a database of a real PostgreSQL server."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from live.databases import Server

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger


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

    def run(self, script: str) -> None:
        """Run statements as a person with an SQL shell does."""
        if self.is_postgresql:
            script = script.replace("BLOB", "BYTEA").replace("DOUBLE NOT", "DOUBLE PRECISION NOT")
        with closing(self.database()) as database, database.write() as connection:
            for statement in filter(str.strip, script.split(";\n")):
                connection.exec_driver_sql(statement)


_number = count()


def postgres_place(server: Server, directory: Path) -> LedgerPlace:
    """A new database of the server."""
    name = f"ledger_{next(_number)}"
    server.sql(f"CREATE DATABASE {name}")
    return LedgerPlace(f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{name}", directory, b"k" * 32)
