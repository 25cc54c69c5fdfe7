"""The tables of the ledger, their version, and the upgrades from older versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    delete,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import Dialect

from gitops_connect.errors import LedgerUnusable


class UtcTime(TypeDecorator[datetime]):
    """A time with its offset, stored as `2026-11-21T10:00:00.000000Z`: a sortable string for every database.

    SQLite has no type for times, and drivers treat the offset differently.
    """

    impl = String(27)
    cache_ok = True
    _FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Raise ValueError for a time without an offset: it would mean another moment on another machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC).strftime(self._FORMAT)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """The stored time in UTC, to the microsecond."""
        return None if value is None else datetime.fromisoformat(value)


METADATA = MetaData()

PROPERTIES = Table(
    "ledger_properties", METADATA, Column("name", String, primary_key=True), Column("value", Text, nullable=False)
)
"""`schema_version`, and `key_fingerprint`: a keyed digest that shows whether a key is the one used so far."""

OWNERSHIP = Table(
    "ownership",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("origin", String, nullable=False),
    Column("revision", String, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("desired", String),
    Column("applied", Text, nullable=False),
    Column("on_delete", String, nullable=False, server_default="keep"),
)
"""`applied` is a JSON object: config key -> keyed digest. `on_delete` exists since version 2."""

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("connector", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("digest", String),
    Column("revision", String, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("final", Boolean, nullable=False),
    Column("message", Text, nullable=False),
    Column("warning", Text, nullable=False),
    Column("digest_before", String),
    Column("digest_after", String),
    Column("acknowledged", Text, nullable=False),
    Column("declared", LargeBinary),
    Column("snapshot", LargeBinary),
    Column("entries", Integer),
    Column("sent", Integer),
)
"""Since version 2. `acknowledged` is a JSON list; `declared` and `snapshot` are what `model.offsets.pack` returns.

`entries` and `sent` exist since version 3, for large operations: their offsets are in pieces and not in the row.
"""

PIECES = Table(
    "operation_pieces",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("part", String, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("entries", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""Since version 3. `part` is `declared` or `before`; `number` counts from 0; `content` is lines compressed by zlib.

Pieces without a row in `operations` are left over from an attempt that was killed.
"""

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("revision", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("result", Text, nullable=False),
)
"""At most two rows per cluster: `kind` is `attempted` or `applied`."""

RESTARTS = Table(
    "restarts",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("last", UtcTime, nullable=False),
)
"""Since version 4. A row for each connector with automatic restarts since it last worked for some time."""

RESTART_REQUESTS = Table(
    "restart_requests",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("id", String, nullable=False),
)
"""Since version 4. `id` is the last id of `spec.restart` or `spec.restartTasks` (`kind`) that was carried out."""

SUSPENSIONS = Table(
    "suspensions",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("who", String, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("reason", Text, nullable=False),
)
"""Since version 5. What commands have suspended. `connector` is empty if it is the whole cluster."""

STOPPED = Table(
    "stopped_connectors",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("returns_to", String, nullable=False),
)
"""Since version 5. The connectors that are stopped for an offset change, and the state to which each returns."""

LEASES = Table(
    "leases",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("token", String, nullable=False),
    Column("host", String, nullable=False),
    Column("place", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Double, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)
"""At most one row per cluster, while a process works on it."""

Upgrade = Callable[[Connection], None]
_SINCE_3 = {"entries", "sent"}


def _add_operations(connection: Connection) -> None:
    """Upgrade to version 2.

    A later version that changes this table must keep its old form here for the steps that follow.
    """
    connection.exec_driver_sql("ALTER TABLE ownership ADD COLUMN on_delete VARCHAR DEFAULT 'keep' NOT NULL")
    then = [column for column in OPERATIONS.c if column.name not in _SINCE_3]
    columns = (Column(one.name, one.type, primary_key=one.primary_key, nullable=one.nullable) for one in then)
    Table(OPERATIONS.name, MetaData(), *columns).create(connection)


def _add_pieces(connection: Connection) -> None:
    """Upgrade to version 3."""
    for column in sorted(_SINCE_3):
        connection.exec_driver_sql(f"ALTER TABLE operations ADD COLUMN {column} INTEGER")
    PIECES.create(connection)


def _add_restarts(connection: Connection) -> None:
    """Upgrade to version 4."""
    RESTARTS.create(connection)
    RESTART_REQUESTS.create(connection)


def _add_suspensions(connection: Connection) -> None:
    """Upgrade to version 5."""
    METADATA.create_all(connection, [SUSPENSIONS, STOPPED])


UPGRADES: tuple[Upgrade, ...] = (_add_operations, _add_pieces, _add_restarts, _add_suspensions)
"""`UPGRADES[0]` leads from version 1 to 2, and so on. A new database gets the tables above at once."""

_VERSION = "schema_version"


def find_version(connection: Connection, upgrades: tuple[Upgrade, ...] = UPGRADES) -> int:
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
    if not (written.isascii() and written.isdigit() and len(written) < 6):
        raise LedgerUnusable(
            f"the ledger {_place(connection)} is damaged: table {PROPERTIES.name}, row {_VERSION}, column value:"
            " expected a whole number; restore a backup"
        )
    version = int(written)
    known = 1 + len(upgrades)
    if version > known:
        raise LedgerUnusable(
            f"the ledger {_place(connection)} has schema version {version}, but this gitops-connect supports {known}"
            " at most; run the newer gitops-connect that upgraded it, or restore the backup from before the upgrade"
        )
    return version


def _place(connection: Connection) -> str:
    return connection.engine.url.render_as_string(hide_password=True)


def upgrade(connection: Connection, upgrades: tuple[Upgrade, ...] = UPGRADES) -> None:
    """Bring the schema to the newest version, in the transaction of `connection`: completely or not at all."""
    version = find_version(connection, upgrades)
    if version == 0:
        METADATA.create_all(connection)
    else:
        for step in upgrades[version - 1 :]:
            step(connection)
    set_property(connection, _VERSION, str(1 + len(upgrades)))


def is_current(connection: Connection) -> bool:
    """True if there is nothing to upgrade."""
    return find_version(connection) == 1 + len(UPGRADES)


def get_property(connection: Connection, name: str) -> str | None:
    """The value of a property of the ledger; None if it is not set."""
    return connection.scalar(select(PROPERTIES.c.value).where(PROPERTIES.c.name == name))


def set_property(connection: Connection, name: str, value: str) -> None:
    """Store the property instead of an earlier value."""
    connection.execute(delete(PROPERTIES).where(PROPERTIES.c.name == name))
    connection.execute(insert(PROPERTIES).values(name=name, value=value))


def upsert(
    connection: Connection,
    table: Table,
    key: Mapping[str, str],
    values: Mapping[str, Any],
    first: Mapping[str, Any] | None = None,
) -> None:
    """Update the row of `key`, or insert it, then with the values of `first` too.

    Two statements, because each database has a different syntax for a single one.
    """
    this = update(table).values(**values)
    for column, value in key.items():
        this = this.where(table.c[column] == value)
    if connection.execute(this).rowcount == 0:
        connection.execute(insert(table).values(**key, **values, **(first or {})))
