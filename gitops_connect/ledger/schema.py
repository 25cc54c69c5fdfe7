"""What is checked when a ledger is opened: the version of its schema, which is upgraded, and the values of its rows.

The database protects its own file. It does not detect a value that someone edited, or that another program wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, Table, func, inspect, select

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.column_types import BlobColumn, type_of
from gitops_connect.ledger.tables import METADATA, PROPERTIES, get_property, set_property

SCHEMA_VERSION = 7
"""The version of the tables in `tables.METADATA`: the number of the newest migration."""
_VERSION = "schema_version"
_UPGRADE_LOCK = 0x6C656467
"""The advisory lock of PostgreSQL that an upgrade holds: the word "ledg" in ASCII."""


def find_version(connection: Connection) -> int:
    """The version of the schema; 0 for an empty database.

    Raises LedgerUnusable if the database belongs to another program, or is newer than this gitops-connect.
    """
    tables = inspect(connection).get_table_names()
    if PROPERTIES.name not in tables:
        if tables:
            raise LedgerUnusable(
                f"the database {_place(connection)} contains other tables ({', '.join(sorted(tables)[:3])}) but no"
                " ledger; give the ledger a database of its own with [state] url"
            )
        return 0
    written = get_property(connection, _VERSION) or ""
    if not (written.isascii() and written.isdigit() and 0 < len(written) < 6 and int(written) > 0):
        raise LedgerUnusable(
            f"the ledger {_place(connection)} is damaged: table {PROPERTIES.name}, row {_VERSION}, column value:"
            " expected a whole number above 0; restore a backup"
        )
    version = int(written)
    if version > SCHEMA_VERSION:
        raise LedgerUnusable(
            f"the ledger {_place(connection)} has schema version {version}, but this gitops-connect supports"
            f" {SCHEMA_VERSION} at most; run the newer gitops-connect that upgraded it, or restore the backup from"
            " before the upgrade"
        )
    return version


def is_current(connection: Connection) -> bool:
    """True if there is nothing to upgrade."""
    return find_version(connection) == SCHEMA_VERSION


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest version, in the transaction of `connection`: completely or not at all.

    A new database gets the newest tables at once.
    """
    if connection.dialect.name == "postgresql":  # SQLite's transaction holds the lock of the whole database already
        connection.execute(select(func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
    version = find_version(connection)
    if version == 0:
        METADATA.create_all(connection)
    elif version < SCHEMA_VERSION:
        from gitops_connect.ledger.migrations import migrate  # noqa: PLC0415 - takes 0.1 s, and is rarely used

        migrate(connection, version)
    set_property(connection, _VERSION, str(SCHEMA_VERSION))


def check_rows(connection: Connection, place: str) -> None:
    """Raise LedgerUnusable, which names table, row and column, for the first value that cannot be read."""
    for table in METADATA.tables.values():
        for found in _damaged(connection, table) if table is not PROPERTIES else ():
            raise LedgerUnusable(f"the ledger {place} is damaged: {found}; nothing was changed; restore a backup")


def _damaged(connection: Connection, table: Table) -> Iterator[str]:
    checks = [(type_of(column).is_sound, column.nullable) for column in table.c]
    # A query as text: its rows are not converted, and SQLAlchemy would compile each query for 2 ms when it starts.
    columns = ", ".join(_raw(column, connection) for column in table.c)
    for row in connection.exec_driver_sql(f"SELECT {columns} FROM {table.name}"):  # noqa: S608 - our own names
        for number, ((is_sound, nullable), value) in enumerate(zip(checks, row, strict=True)):
            if not (value is None and nullable) and not is_sound(value):
                column = table.c[number]
                key = ", ".join(str(value) for one, value in zip(table.c, row, strict=True) if one.primary_key)
                where = f"table {table.name}, row {_shown(key)}, column {column.name}"
                yield f"{where}: found {_shown(value)}, expected {type_of(column).expected}"


def _raw(column: Column[Any], connection: Connection) -> str:
    """The stored value; for a blob, which may be large, only its type in SQLite and its length elsewhere."""
    if not isinstance(column.type, BlobColumn):
        return column.name
    return f"{'typeof' if connection.dialect.name == 'sqlite' else 'length'}({column.name})"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _place(connection: Connection) -> str:
    return connection.engine.url.render_as_string(hide_password=True)
