"""What is checked when a ledger is opened: the version of its schema, which is upgraded, its rows, and its key.

The database protects its own file. It does not detect a value that someone edited, or that another program wrote.

Digests made with another key differ: every secret would seem changed, and be sent again. So a ledger stores a
fingerprint of its key, and rejects another key.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Table, func, inspect, select

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.column_types import BlobColumn, type_of
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import METADATA, PROPERTIES, STEPS, get_property, set_property
from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.findings import shorten
from gitops_connect.safe_files import make_private, read_text

SCHEMA_VERSION = 12
"""The version of the tables in `tables.METADATA`: the number of the newest migration."""
_VERSION = "schema_version"
_UPGRADE_LOCK = 0x6C656467
"""The advisory lock of PostgreSQL that an upgrade holds: the word "ledg" in ASCII."""
_LENGTH = 32
_SHORTEST = 16
_CHECKED_STEPS = 1000
"""The newest steps of the history that are checked: there are very many, and no plan depends on them."""
FINGERPRINT = "key_fingerprint"
"""The property that stores the fingerprint."""


def prepare(database: Database, given: bytes | None) -> bytes:
    """Bring the schema up to date and return the key: the given key, or the key in the file, created if missing.

    A ledger that is up to date is only read. Raises UsageError, LedgerUnusable or LedgerBusy.
    """
    if given is None and database.file is None:
        raise UsageError(
            f"the ledger {database.place} is not a file, so its key cannot be stored next to it;"
            ' set [state] key = {env = "NAME"} or {file = "PATH"}'
        )
    if given is not None and len(given) < _SHORTEST:
        raise UsageError(f"[state] key: expected at least {_SHORTEST} bytes that cannot be guessed, found {len(given)}")
    with database.read() as connection:
        if is_current(connection) and get_property(connection, FINGERPRINT) is not None:
            return _checked_key(connection, database, given)
    # The database's write lock also prevents two processes from creating two keys.
    with database.write() as connection:
        upgrade(connection)
        return _checked_key(connection, database, given)


def _checked_key(connection: Connection, database: Database, given: bytes | None) -> bytes:
    check_rows(connection, database.place)
    known, file = get_property(connection, FINGERPRINT), Path(f"{database.place}.key")
    if given is None and known is None and not file.exists():
        _create_key(file)
    key = given or load_key(file)
    fingerprint = keyed_digest(key, "gitops-connect ledger")
    if known is None:
        set_property(connection, FINGERPRINT, fingerprint)
    elif fingerprint != known:
        raise LedgerUnusable(
            f"the ledger {database.place} was written with a different key: restore the earlier [state] key,"
            f" or the file {database.place}.key, or start with a new key as docs/reference/ledger.md describes"
        )
    return key


def load_key(file: Path) -> bytes:
    """Read a key file. Raises LedgerUnusable if it is missing, damaged, or accessible to every user of the machine."""
    try:
        # The group may read the file: volumes of a Kubernetes pod with `fsGroup` add that permission on every start.
        if file.stat().st_mode & stat.S_IRWXO:
            raise LedgerUnusable(f"the key {file} can be read by every user of this machine; run chmod 600 on it")
        make_private(file)
        key = bytes.fromhex(read_text(file).strip())
    except FileNotFoundError as error:
        raise LedgerUnusable(
            f"the key {file} is missing, and the ledger was written with it; restore it from the backup,"
            " or start with a new key as docs/reference/ledger.md describes"
        ) from error
    except OSError as error:
        raise LedgerUnusable(f"cannot read the key {file}: {error.strerror}; give this user access to it") from error
    except ValueError as error:
        raise LedgerUnusable(_damaged_key(file)) from error
    if len(key) != _LENGTH:
        raise LedgerUnusable(_damaged_key(file))
    return key


def _damaged_key(file: Path) -> str:
    return f"the key {file} is damaged: expected {2 * _LENGTH} hex digits; restore it from the backup"


def _create_key(file: Path) -> None:
    """Create a key file atomically, readable by its owner only."""
    aside = Path(f"{file}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as writer:
            writer.write(secrets.token_hex(_LENGTH) + "\n")
            writer.flush()
            os.fsync(writer.fileno())
        aside.replace(file)
        _synchronise(file.parent)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise LedgerUnusable(
            f"cannot write the key {file}: {error.strerror}; check the directory and its disk"
        ) from error


def _synchronise(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def find_version(connection: Connection) -> int:
    """The version; 0 for an empty database. Raises LedgerUnusable if it is another program's, or a newer version."""
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
    return find_version(connection) == SCHEMA_VERSION


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest version, in the transaction of `connection`. A new database gets it at once."""
    if connection.dialect.name == "postgresql":  # SQLite's transaction holds the lock of the whole database already
        connection.execute(select(func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
    version = find_version(connection)
    if version == 0:
        METADATA.create_all(connection)
    elif version < SCHEMA_VERSION:
        from gitops_connect.ledger.migrations.migrate import migrate  # noqa: PLC0415 - takes 0.1 s, and is rarely used

        migrate(connection, version)
    set_property(connection, _VERSION, str(SCHEMA_VERSION))


def check_rows(connection: Connection, place: str) -> None:
    """Raise LedgerUnusable, which names table, row and column, for the first value that cannot be read."""
    for table in METADATA.tables.values():
        for found in _damaged(connection, table):
            raise LedgerUnusable(f"the ledger {place} is damaged: {found}; nothing was changed; restore a backup")


def _damaged(connection: Connection, table: Table) -> Iterator[str]:
    checks = [(type_of(column).is_sound, column.nullable) for column in table.c]
    # A query as text: its rows are not converted, and SQLAlchemy would compile each query for 2 ms when it starts.
    columns = ", ".join(_raw(column, connection) for column in table.c)
    last = f" ORDER BY id DESC LIMIT {_CHECKED_STEPS}" if table is STEPS else ""
    for row in connection.exec_driver_sql(f"SELECT {columns} FROM {table.name}{last}"):  # noqa: S608 - our own names
        for number, ((is_sound, nullable), value) in enumerate(zip(checks, row, strict=True)):
            if not (value is None and nullable) and not is_sound(value):
                column = table.c[number]
                key = ", ".join(str(value) for one, value in zip(table.c, row, strict=True) if one.primary_key)
                where = f"table {table.name}, row {shorten(repr(key))}, column {column.name}"
                yield f"{where}: found {shorten(repr(value))}, expected {type_of(column).expected}"


def _raw(column: Column[Any], connection: Connection) -> str:
    """The stored value; for a blob, which may be large, only its type in SQLite and its length elsewhere."""
    if not isinstance(column.type, BlobColumn):
        return column.name
    return f"{'typeof' if connection.dialect.name == 'sqlite' else 'length'}({column.name})"


def _place(connection: Connection) -> str:
    return connection.engine.url.render_as_string(hide_password=True)
