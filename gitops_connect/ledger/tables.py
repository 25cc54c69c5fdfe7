"""The newest tables of the ledger. If you change a table, add a migration: ARCHITECTURE.md says how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Row, Table, delete, insert, select, update

from gitops_connect.ledger.column_types import (
    AcknowledgementList,
    ConfigHistoryText,
    Count,
    EnumText,
    Flag,
    LongText,
    MarkText,
    Number,
    PackedLines,
    PackedOffsets,
    ReviewedPlanText,
    ShortText,
    TextMap,
    UtcTime,
)
from gitops_connect.ledger.database import Database
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.names import ClusterName
from gitops_connect.model.operations import OperationKind, OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action
from gitops_connect.model.restart_records import RestartKind
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.model.status import ConditionStatus, ConditionType


class OffsetsPart(Enum):
    """A set of offsets of an operation."""

    DECLARED = "declared"
    """The offsets that are sent."""
    BEFORE = "before"
    """The current offsets before the operation."""


METADATA = MetaData()

PROPERTIES = Table(
    "ledger_properties",
    METADATA,
    Column("name", ShortText, primary_key=True),
    Column("value", LongText, nullable=False),
)
"""`schema_version`, and `key_fingerprint`: a keyed digest that shows whether a key is the one used so far."""

OWNERSHIP = Table(
    "ownership",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("origin", EnumText(Origin), nullable=False),
    Column("revision", ShortText, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("desired", ShortText),
    Column("applied", TextMap("a JSON object of digests"), nullable=False),
    Column("on_delete", EnumText(OnDelete), nullable=False, server_default="keep"),
    Column("secret_references", TextMap("a JSON object of references"), nullable=False, server_default="{}"),
)
"""`applied` is a JSON object: config key -> keyed digest. `on_delete` exists since version 2.

`secret_references` exists since version 7. It is a JSON object: config key -> source and name, as in `env:PASSWORD`.
"""

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("name", ShortText, primary_key=True),
    Column("connector", ShortText, nullable=False),
    Column("kind", EnumText(OperationKind), nullable=False),
    Column("state", EnumText(OperationState), nullable=False),
    Column("digest", ShortText),
    Column("revision", ShortText, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("failures", Count, nullable=False),
    Column("final", Flag, nullable=False),
    Column("message", LongText, nullable=False),
    Column("warning", LongText, nullable=False),
    Column("digest_before", ShortText),
    Column("digest_after", ShortText),
    Column("acknowledged", AcknowledgementList, nullable=False),
    Column("declared", PackedOffsets),
    Column("snapshot", PackedOffsets),
    Column("entries", Count),
    Column("sent", Count),
)
"""Since version 2. `acknowledged` is a JSON list; `declared` and `snapshot` are what `model.offsets.pack` returns.

`entries` and `sent` exist since version 3, for large operations: their offsets are in pieces and not in the row.
"""

PIECES = Table(
    "operation_pieces",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("name", ShortText, primary_key=True),
    Column("part", EnumText(OffsetsPart), primary_key=True),
    Column("number", Count, primary_key=True, autoincrement=False),
    Column("entries", Count, nullable=False),
    Column("content", PackedLines, nullable=False),
)
"""Since version 3. `part` is `declared` or `before`; `number` counts from 0; `content` is lines compressed by zlib.

Pieces without a row in `operations` are left over from an attempt that was killed.
"""

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("kind", MarkText, primary_key=True),
    Column("revision", ShortText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("result", LongText, nullable=False),
)
"""At most two rows per cluster: `kind` is `attempted` or `applied`."""

RESTARTS = Table(
    "restarts",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("number", Count, nullable=False),
    Column("last", UtcTime, nullable=False),
)
"""Since version 4. A row for each connector with automatic restarts since it last worked for some time."""

RESTART_REQUESTS = Table(
    "restart_requests",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("kind", EnumText(RestartKind), primary_key=True),
    Column("id", ShortText, nullable=False),
)
"""Since version 4. `id` is the last id of `spec.restart` or `spec.restartTasks` (`kind`) that was carried out."""

CONDITIONS = Table(
    "conditions",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("type", EnumText(ConditionType), primary_key=True),
    Column("status", EnumText(ConditionStatus), nullable=False),
    Column("reason", ShortText, nullable=False),
    Column("message", LongText, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("revision", ShortText, nullable=False),
)
"""Since version 5. `connector` is empty for a condition of the cluster itself."""

CONFIG_HISTORIES = Table(
    "config_histories",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("history", ConfigHistoryText, nullable=False),
)
"""Since version 5. `history` is a JSON object; see `ConfigHistoryText`."""

OFFSET_POSITIONS = Table(
    "offset_positions",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("digest", ShortText, nullable=False),
    Column("since", UtcTime, nullable=False),
)
"""Since version 5. The digest of a connector's current offsets, and when they were first seen."""

STEPS = Table(
    "steps",
    METADATA,
    Column("id", Count, primary_key=True),
    Column("cluster", ShortText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("revision", ShortText, nullable=False),
    Column("author", ShortText, nullable=False),
    Column("connector", ShortText, nullable=False),
    Column("action", EnumText(Action), nullable=False),
    Column("operation", ShortText, nullable=False),
    Column("result", EnumText(Result), nullable=False),
    Column("reason", LongText, nullable=False),
    Column("message", LongText, nullable=False),
    Column("seconds", Number, nullable=False),
)
"""Since version 5. The last steps of each cluster; `operation` is empty for a step without an offset change."""

SUSPENSIONS = Table(
    "suspensions",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("who", ShortText, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("reason", LongText, nullable=False),
)
"""Since version 5. What commands have suspended. `connector` is empty if it is the whole cluster."""

STOPPED = Table(
    "stopped_connectors",
    METADATA,
    Column("cluster", ShortText, primary_key=True),
    Column("connector", ShortText, primary_key=True),
    Column("returns_to", EnumText(TargetState), nullable=False),
)
"""Since version 5. The connectors that are stopped for an offset change, and the state to which each returns."""

REVIEWED_PLANS = Table(
    "reviewed_plans",
    METADATA,
    Column("pull_request", Count, primary_key=True, autoincrement=False),
    Column("purpose", EnumText(PlanPurpose), primary_key=True),
    Column("digest", ShortText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("plan", ReviewedPlanText, nullable=False),
)
"""Since version 6. The last plan that a pull request has shown; `plan` is a JSON object; see `model.reviewed_plans`."""

APPROVALS = Table(
    "approvals",
    METADATA,
    Column("pull_request", Count, primary_key=True, autoincrement=False),
    Column("digest", ShortText, primary_key=True),
    Column("who", ShortText, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("place", ShortText, nullable=False),
    Column("plan", ReviewedPlanText, nullable=False),
)
"""Since version 6. The approved plans, with a copy of each: the pull request may show another one later."""

LEASES = Table(
    "leases",
    METADATA,
    Column("name", ShortText, primary_key=True),
    Column("number", Count, nullable=False),
    Column("token", ShortText, nullable=False),
    Column("host", ShortText, nullable=False),
    Column("place", ShortText, nullable=False),
    Column("pid", Count, nullable=False),
    Column("process_started", Number, nullable=False),
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


def rows_of(database: Database, table: Table, cluster: ClusterName) -> Sequence[Row[Any]]:
    """The rows of the cluster."""
    with database.read() as connection:
        return connection.execute(select(table).where(table.c.cluster == cluster)).all()


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
