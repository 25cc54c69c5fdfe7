"""The newest tables of the ledger. If you change a table, add a migration: ARCHITECTURE.md says how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Delete,
    Index,
    Insert,
    MetaData,
    Row,
    Select,
    Table,
    bindparam,
    delete,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from gitops_connect.ledger.column_types import (
    AcknowledgementList,
    ColumnType,
    ConfigHistoryText,
    Count,
    EnumText,
    Flag,
    LongText,
    MarkText,
    Number,
    PackedEffect,
    PackedLines,
    PackedOffsets,
    PartitionPositionsText,
    RepeatedText,
    ReviewedPlanText,
    ShortText,
    TextMap,
    UtcTime,
)
from gitops_connect.ledger.database import Database, Write
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.names import ClusterName
from gitops_connect.model.offset_changes import OffsetChangeKind, OffsetChangeState
from gitops_connect.model.outcomes import ActorKind, ManualAction, Result
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action
from gitops_connect.model.restart_records import RequestKind
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.model.rollout_decisions import RolloutChoice
from gitops_connect.model.status import ConditionStatus, ConditionType

K = TypeVar("K")
V = TypeVar("V")


class OffsetsPart(Enum):
    DECLARED = "declared"
    """The offsets that are sent."""
    BEFORE = "before"
    """The current offsets before the offset change."""


METADATA = MetaData()
_Kinds = type[ColumnType] | ColumnType
_CONNECTOR = {"cluster": RepeatedText, "connector": RepeatedText}
_NOTHING = text("''")


def _key(**columns: _Kinds) -> list[Column[Any]]:
    return [Column(name, kind, primary_key=True, autoincrement=False) for name, kind in columns.items()]


def _required(**columns: _Kinds) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name, kind in columns.items()]


def _optional(**columns: _Kinds) -> list[Column[Any]]:
    return [Column(name, kind) for name, kind in columns.items()]


PROPERTIES = Table("ledger_properties", METADATA, *_key(name=ShortText), *_required(value=LongText))
"""`schema_version`, and `key_fingerprint`: a keyed digest that shows whether a key is the one used so far."""

OWNERSHIP = Table(
    "ownership",
    METADATA,
    *_key(**_CONNECTOR),
    *_required(origin=EnumText(Origin), revision=RepeatedText, since=UtcTime),
    *_optional(desired=ShortText),
    *_required(applied=TextMap("a JSON object of digests")),
    Column("on_delete", EnumText(OnDelete), nullable=False, server_default="keep"),
    Column("secret_references", TextMap("a JSON object of references"), nullable=False, server_default="{}"),
)
"""`applied` is a JSON object: config key -> keyed digest. `on_delete` exists since version 2.

`secret_references` exists since version 7. It is a JSON object: config key -> source and name, as in `env:PASSWORD`.
"""

OPERATIONS = Table(
    "operations",
    METADATA,
    *_key(cluster=ShortText, name=ShortText),
    *_required(connector=ShortText, kind=EnumText(OffsetChangeKind), state=EnumText(OffsetChangeState)),
    *_optional(digest=ShortText),
    *_required(revision=ShortText, since=UtcTime, failures=Count, final=Flag, message=LongText, warning=LongText),
    *_optional(digest_before=ShortText, digest_after=ShortText),
    *_required(acknowledged=AcknowledgementList),
    *_optional(declared=PackedOffsets, snapshot=PackedOffsets, entries=Count, sent=Count),
    Column("lacks", AcknowledgementList, nullable=False, server_default="[]"),
    *_optional(effect=PackedEffect),
    Index("operations_by_time", "cluster", "since"),
    Index("operations_by_state", "cluster", "state", "since"),
    Index("operations_by_connector", "cluster", "connector", "since"),
    Index("operations_by_kind", "cluster", "kind"),
)
"""Since version 2; its indexes exist since version 11.

`acknowledged` is a JSON list; `declared` and `snapshot` are what `model.offsets.pack` returns.
`entries` and `sent` exist since version 3, for large offset changes: their offsets are in pieces and not in the row.
`lacks` and `effect` exist since version 12: a JSON list, and what `model.applied_effects.pack_effect` returns.
"""

PIECES = Table(
    "operation_pieces",
    METADATA,
    *_key(cluster=ShortText, name=ShortText, part=EnumText(OffsetsPart), number=Count),
    *_required(entries=Count, content=PackedLines),
)
"""Since version 3. `part` is `declared` or `before`; `number` counts from 0; `content` is lines compressed by zlib.

Pieces without a row in `offset_changes` are left over from an attempt that was killed.
"""

REVISIONS = Table(
    "revisions",
    METADATA,
    *_key(cluster=ShortText, kind=MarkText),
    *_required(revision=ShortText, at=UtcTime, result=LongText),
)
"""At most two rows per cluster: `kind` is `attempted` or `applied`."""

RESTARTS = Table("restarts", METADATA, *_key(**_CONNECTOR), *_required(number=Count, last=UtcTime))
"""Since version 4. A row for each connector with automatic restarts since it last worked for some time."""

RESTART_REQUESTS = Table(
    "restart_requests", METADATA, *_key(**_CONNECTOR, kind=EnumText(RequestKind)), *_required(id=ShortText)
)
"""Since version 4. `id` is the last id of a field such as `spec.restart` (`kind`) that was carried out."""

CONDITIONS = Table(
    "conditions",
    METADATA,
    *_key(**_CONNECTOR, type=EnumText(ConditionType)),
    *_required(status=EnumText(ConditionStatus), reason=RepeatedText, message=LongText),
    *_required(since=UtcTime, revision=RepeatedText),
    *_key(request=ShortText),
)
"""Since version 5. `connector` is empty for a condition of the cluster itself.

`request` exists since version 9: several conditions `Warning` of a connector differ in it.
"""

CONFIG_HISTORIES = Table("config_histories", METADATA, *_key(**_CONNECTOR), *_required(history=ConfigHistoryText))
"""Since version 5. `history` is a JSON object; see `ConfigHistoryText`."""

OFFSET_POSITIONS = Table(
    "offset_positions",
    METADATA,
    *_key(**_CONNECTOR),
    *_required(digest=ShortText, since=UtcTime),
    Column("partitions", PartitionPositionsText, nullable=False, server_default="{}"),
    Column("distance", Number, nullable=False, server_default="0"),
)
"""Since version 5. The digest of a connector's current offsets, and when they were first seen.

`partitions` and `distance` exist since version 10. `partitions` is a JSON object; see `PartitionPositionsText`.
"""

STEPS = Table(
    "steps",
    METADATA,
    Column("id", Count, primary_key=True),
    *_required(cluster=ShortText, at=UtcTime, revision=ShortText, author=ShortText, connector=ShortText),
    *_required(action=EnumText(Action, ManualAction)),
    Column("operation", ShortText, key="offset_change", nullable=False),
    *_required(result=EnumText(Result), reason=LongText, message=LongText, seconds=Number),
    Column("actor", EnumText(ActorKind), nullable=False, server_default=ActorKind.UNKNOWN.value),
    Column("who", ShortText, nullable=False, server_default=_NOTHING),
    Column("cause", ShortText, key="commit", nullable=False, server_default=_NOTHING),
    *_optional(pull_request=Count),
    *(Column(name, ShortText, nullable=False, server_default=_NOTHING) for name in ("approved_digest", "approved_by")),
    *(Column(name, LongText, nullable=False, server_default=_NOTHING) for name in ("request", "answer")),
    Index("steps_by_cluster", "cluster", "id"),
    Index("steps_by_connector", "cluster", "connector", "id"),
    Index("steps_by_person", "who", "id"),
    Index("steps_by_revision", "cluster", "revision"),
)
"""Since version 5. The history: see `JournalEntry`. `offset_change` is empty for a step without an offset change.

`actor`, the columns after it, and the indexes exist since version 12.
"""

SUSPENSIONS = Table(
    "suspensions", METADATA, *_key(**_CONNECTOR), *_required(who=ShortText, since=UtcTime, reason=LongText)
)
"""Since version 5. What commands have suspended. `connector` is empty if it is the whole cluster."""

ROLLOUTS = Table(
    "rollout_decisions",
    METADATA,
    *_key(cluster=ShortText, revision=ShortText, connector=ShortText),
    *_required(choice=EnumText(RolloutChoice), who=ShortText, since=UtcTime, reason=LongText),
)
"""Since version 8. What commands have decided about rollouts. `connector` is empty if it is the whole rollout."""

STOPPED = Table("stopped_connectors", METADATA, *_key(**_CONNECTOR), *_required(returns_to=EnumText(TargetState)))
"""Since version 5. The connectors that are stopped for an offset change or a deletion, and the state to which each
returns."""

REVIEWED_PLANS = Table(
    "reviewed_plans",
    METADATA,
    *_key(pull_request=Count, purpose=EnumText(PlanPurpose)),
    *_required(digest=ShortText, at=UtcTime, plan=ReviewedPlanText),
)
"""Since version 6. The last plan that a pull request has shown; `plan` is a JSON object; see `model.reviewed_plans`."""

APPROVALS = Table(
    "approvals",
    METADATA,
    *_key(pull_request=Count, digest=ShortText, who=ShortText),
    *_required(at=UtcTime, place=ShortText, plan=ReviewedPlanText),
)
"""Since version 6; `who` is part of the key since version 8. The approved plans.

Each has a copy of the plan: the pull request may show another one later.
"""

LEASES = Table(
    "leases",
    METADATA,
    *_key(name=ShortText),
    *_required(number=Count, token=ShortText, host=ShortText, place=ShortText, pid=Count, process_started=Number),
    *_required(since=UtcTime, expires=UtcTime),
)
"""A row for each lease that was ever held: `name` is a cluster, or `leases.LEADER`. `number` rises with each holder.

Version 5 has the column `number`, and keeps the row of a lease that was given back.
"""


def get_property(connection: Connection, name: str) -> str | None:
    return connection.scalar(select(PROPERTIES.c.value).where(PROPERTIES.c.name == name))


def set_property(connection: Connection, name: str, value: str) -> None:
    upsert(connection, PROPERTIES, [{"name": name, "value": value}])


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], kept: tuple[str, ...] = ()) -> None:
    """Insert the rows, or replace those that have the same keys; the columns `kept` are not replaced.

    All rows have the same columns, and there is at least one row. They are written with one statement.
    """
    connection.execute(_upsert(table, connection.dialect.name, kept), rows)


# Statements are made once: that takes longer than to execute them.


@cache
def _select_of(table: Table) -> Select[Any]:
    return select(table).filter_by(cluster=bindparam("of"))


@cache
def _upsert(table: Table, dialect: str, kept: tuple[str, ...]) -> Insert:
    """The statement for this database: SQLAlchemy has an insertion with replacement for each one."""
    inserted = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    replaced = {
        one.name: inserted.excluded[one.name] for one in table.c if not one.primary_key and one.name not in kept
    }
    return inserted.on_conflict_do_update(index_elements=list(table.primary_key), set_=replaced)


@cache
def _delete(table: Table) -> Delete:
    these: dict[str, BindParameter[Any]] = {one.name: bindparam(f"key {one.name}") for one in table.primary_key}
    return delete(table).filter_by(**these)


class RecordedValues(Generic[K, V]):
    """A table of values of each cluster; the methods raise what those of `Ledger` raise.

    A key has the columns of the primary key after the cluster: one value, or a tuple. `read` makes a value of all
    columns after the first of the key, and `columns` returns those after the primary key. By default, the only column
    is the value.
    """

    def __init__(
        self,
        database: Database,
        write: Write,
        table: Table,
        read: Callable[..., V] = lambda value: value,
        columns: Callable[[V], tuple[Any, ...]] = lambda value: (value,),
    ) -> None:
        """`write` begins a transaction, under the lease of the ledger if it has one."""
        self._database, self._write, self._table = database, write, table
        self._read, self._columns = read, columns
        self._key: Callable[[Row[Any]], Any] = itemgetter(
            *(index for index, one in enumerate(table.c) if one.primary_key and one.name != "cluster")
        )
        self._others = [one.name for one in table.c if not one.primary_key]

    def of(self, cluster: ClusterName) -> Mapping[K, V]:
        with self._database.read() as connection:
            rows = connection.execute(_select_of(self._table), {"of": cluster})
            return {self._key(row): self._read(*row[2:]) for row in rows}

    def get(self, cluster: ClusterName, key: K) -> V | None:
        with self._database.read() as connection:
            row = connection.execute(select(self._table).filter_by(**self._of_key(cluster, key))).one_or_none()
        return None if row is None else self._read(*row[2:])

    def record(self, cluster: ClusterName, changed: Mapping[K, V], ended: Collection[K] = ()) -> None:
        """Replace and remove these values: all of them or none. Without any, nothing is written."""
        if not changed and not ended:
            return
        with self._write() as connection:
            if ended:
                keys = [self._of_key(cluster, one) for one in ended]
                connection.execute(_delete(self._table), [{f"key {name}": one[name] for name in one} for one in keys])
            if changed:
                upsert(connection, self._table, [self._row(cluster, *one) for one in changed.items()])

    def _row(self, cluster: ClusterName, key: K, value: V) -> dict[str, Any]:
        return self._of_key(cluster, key) | dict(zip(self._others, self._columns(value), strict=True))

    def _of_key(self, cluster: ClusterName, key: K) -> dict[str, Any]:
        parts = key if isinstance(key, tuple) else (key,)
        return dict(zip(self._table.primary_key.columns.keys(), (cluster, *parts), strict=True))
