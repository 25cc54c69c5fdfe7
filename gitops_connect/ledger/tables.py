"""The newest tables of the ledger. If you change a table, add a migration: ARCHITECTURE.md says how."""

from __future__ import annotations

from collections.abc import Mapping
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
    select,
    update,
)
from sqlalchemy.engine import Dialect


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
    Column("secret_references", Text, nullable=False, server_default="{}"),
)
"""`applied` is a JSON object: config key -> keyed digest. `on_delete` exists since version 2.

`secret_references` exists since version 7. It is a JSON object: config key -> source and name, as in `env:PASSWORD`.
"""

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

CONDITIONS = Table(
    "conditions",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("type", String, primary_key=True),
    Column("status", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("message", Text, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("revision", String, nullable=False),
)
"""Since version 5. `connector` is empty for a condition of the cluster itself."""

CONFIG_HISTORIES = Table(
    "config_histories",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("history", Text, nullable=False),
)
"""Since version 5. `history` is a JSON object; see `config_histories`."""

OFFSET_POSITIONS = Table(
    "offset_positions",
    METADATA,
    Column("cluster", String, primary_key=True),
    Column("connector", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("since", UtcTime, nullable=False),
)
"""Since version 5. The digest of a connector's current offsets, and when they were first seen."""

STEPS = Table(
    "steps",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("cluster", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("revision", String, nullable=False),
    Column("author", String, nullable=False),
    Column("connector", String, nullable=False),
    Column("action", String, nullable=False),
    Column("operation", String, nullable=False),
    Column("result", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("seconds", Double, nullable=False),
)
"""Since version 5. The last steps of each cluster; `operation` is empty for a step without an offset change."""

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

REVIEWED_PLANS = Table(
    "reviewed_plans",
    METADATA,
    Column("pull_request", Integer, primary_key=True, autoincrement=False),
    Column("purpose", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("plan", Text, nullable=False),
)
"""Since version 6. The last plan that a pull request has shown; `plan` is a JSON object; see `reviewed_plans`."""

APPROVALS = Table(
    "approvals",
    METADATA,
    Column("pull_request", Integer, primary_key=True, autoincrement=False),
    Column("digest", String, primary_key=True),
    Column("who", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("place", String, nullable=False),
    Column("plan", Text, nullable=False),
)
"""Since version 6. The approved plans, with a copy of each: the pull request may show another one later."""

LEASES = Table(
    "leases",
    METADATA,
    Column("name", String, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("token", String, nullable=False),
    Column("host", String, nullable=False),
    Column("place", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Double, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)
"""A row for each lease that was ever held: `name` is a cluster, or `leases.LEADER`. `number` rises with each holder.

Version 5 has the column `number`, and keeps the row of a lease that was given back.
"""


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
    key: Mapping[str, Any],
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
