"""The config keys that decide which offsets a connector reads, by class, as data.

Each message is a template. `{before}` and `{after}` are the values of the key, or the entries that are removed from and
added to a list; `{start}` is what the connector does if it finds no offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType

from gitops_connect.model.families import SINK
from gitops_connect.model.shapes import class_names, shape_of

_RESET = "to start without offsets, remove them with an OffsetChange (operation: reset) in the same commit"
_SEED = (
    "to continue from the current offsets, run `gitops-connect offsets get {name} --save FILE`, replace {before} with"
    " {after} in FILE, and set these offsets with an OffsetChange in the same commit"
)
SEED_ADDED = "to start at other offsets, set them with an OffsetChange in the same commit"
"""For partitions that a connector begins to read."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a connector does with a partition that has no offset: `says`, or, if `key` is set, what its value specifies.

    `other` is for values of the key that are not in `by_value`; it may contain `{value}`.
    """

    says: str
    key: str = ""
    by_value: Mapping[str, str] = field(default_factory=dict)
    other: str = ""


@dataclass(frozen=True, slots=True)
class ValueKey:
    """A key whose whole value decides which offsets are read, or what their positions mean.

    `keys` are the names of the key; the first that a config has counts. `default` is the value if the config has none
    of them, and may contain `{name}`, the connector's name. `changed` is the message for another value, `added` for a
    key that had no value, `removed` for a key that has none now; an empty message means no effect. `pairs` replaces
    `changed` if each pair of values has a meaning of its own.
    """

    keys: tuple[str, ...]
    changed: str = ""
    added: str = ""
    removed: str = ""
    default: str = ""
    hint: str = ""
    pairs: Mapping[tuple[str, str], str] | None = None

    def value(self, name: str, config: Mapping[str, str]) -> str:
        """The key's value for the connector of that name and config; empty if there is none."""
        return _first(self.keys, config) or self.default.replace("{name}", name)


@dataclass(frozen=True, slots=True)
class ListKey:
    """A list with commas, of things that have partitions of their own: `noun`, in the plural.

    `excludes`: the list names what is not read. `unlimited`: without a value everything is read.
    """

    keys: tuple[str, ...]
    noun: str
    excludes: bool = False
    unlimited: bool = False

    def value(self, _name: str, config: Mapping[str, str]) -> str:
        """The list as it is written; empty if the config has none of the keys."""
        return _first(self.keys, config)


def _first(keys: tuple[str, ...], config: Mapping[str, str]) -> str:
    return next((config[key] for key in keys if config.get(key)), "")


@dataclass(frozen=True, slots=True)
class OffsetKeys:
    """The keys of one class. With the key and value `unused`, the class neither reads nor stores offsets."""

    start: Start
    keys: tuple[ValueKey | ListKey, ...]
    unused: tuple[str, str] | None = None


def _named(noun: str, *keys: str, also: str = "") -> ValueKey:
    """A key whose value is a field of every partition. `also` is what else is needed to continue."""
    gone = f"the offsets of {noun} {{before}} are no longer read"
    return ValueKey(keys, f"{gone}; without offsets of {noun} {{after}} the connector {{start}}", hint=_SEED + also)


_NO_DATA = "takes no snapshot of the data (snapshot.mode {value}): changes that it has not read yet can be lost"
_SNAPSHOT = "takes a new snapshot"
_DEBEZIUM = Start(
    _SNAPSHOT,
    "snapshot.mode",
    {
        **dict.fromkeys(("always", "initial", "initial_only", "when_needed"), _SNAPSHOT),
        **dict.fromkeys(("no_data", "schema_only", "when_needed_no_data"), _NO_DATA),
    },
    "starts as snapshot.mode {value} specifies",
)
"""The classes in `io.debezium.snapshot.mode`: `shouldSnapshotData` without an offset."""
_LOGICAL_NAME = ("topic.prefix", "database.server.name")
_SERVER = _named("server", *_LOGICAL_NAME)
"""`BinlogPartition`, `PostgresPartition`, `SqlServerPartition`, `OraclePartition`, `Db2Partition`, `VitessPartition`;
`InformixPartition` has the same value under the name `databaseName`."""
_SERVER_WITH_HISTORY = _named(
    "server",
    *_LOGICAL_NAME,
    also="; the schema history names the server too: set another schema.history.internal.kafka.topic and"
    " snapshot.mode: recovery",
)
"""`AbstractSchemaHistory.recover` skips the records of any other source partition."""
_DATABASE = ValueKey(
    ("database.dbname",),
    "the offset was read from database {before} and is used for database {after}: the partition names only the server",
    hint=_RESET,
)
"""These partitions have no field for the database, except the partition of SQL Server."""
_SLOT = ValueKey(
    ("slot.name",),
    "the offset belongs to replication slot {before}; if slot {after} begins after it, the task fails, or takes a"
    " new snapshot with snapshot.mode when_needed",
    default="debezium",
    hint="keep slot.name, or set snapshot.mode: when_needed",
)
"""`PostgresConnection.validateLogPosition`, `BaseSourceTask.validateSchemaHistory`."""

_MODES = {
    "bulk": (),
    "incrementing": ("incrementing",),
    "timestamp": ("timestamp",),
    "timestamp+incrementing": ("timestamp", "incrementing"),
}
"""The fields of an offset that each mode reads, the most significant first (`TimestampIncrementingOffset`)."""


def _between_modes() -> Mapping[tuple[str, str], str]:
    found = {}
    for (old, had), (new, needs) in product(_MODES.items(), repeat=2):
        if not needs:
            found[old, new] = "mode bulk reads no offsets: every poll reads all rows"
        elif not had:
            found[old, new] = "mode bulk has stored no offsets: the connector {start}"
        elif needs[0] not in had:
            found[old, new] = f"the offsets of mode {{before}} have no {needs[0]}: the connector reads all rows again"
    return found


def _column(key: str) -> ValueKey:
    changed = (
        "the offset is a value of column {before} and is compared with column {after}: rows are skipped or read again"
    )
    return ValueKey((key,), changed, hint=_RESET)


_JDBC = OffsetKeys(
    Start("reads all rows, or those since its initial timestamp"),
    (
        ValueKey(
            ("query",),
            "the new query continues from the offset of the earlier one, because the partition does not name the query:"
            " rows up to that offset are not read",
            added="the offsets of tables are not read for a query: without an offset the connector {start}",
            removed="the offset of the query is not read for tables: without offsets the connector {start}",
            hint=_RESET,
        ),
        ListKey(("table.whitelist", "table.include.list"), "tables", unlimited=True),
        ListKey(("table.blacklist", "table.exclude.list"), "tables", excludes=True),
        ValueKey(("mode",), pairs=_between_modes()),
        _column("incrementing.column.name"),
        _column("timestamp.column.name"),
    ),
    unused=("mode", "bulk"),
)
"""`JdbcSourceTask`, `OffsetProtocols`, of Confluent and of Aiven: a query has the partition `{"query": "query"}`."""

_BY_CLASS: Mapping[str, OffsetKeys] = {
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": OffsetKeys(
        Start("copies its topics again from the beginning"), (_named("cluster", "source.cluster.alias"),)
    ),
    "org.apache.kafka.connect.file.FileStreamSourceConnector": OffsetKeys(
        Start("reads the file from its beginning"), (_named("file", "file"),)
    ),
    "io.debezium.connector.mysql.MySqlConnector": OffsetKeys(_DEBEZIUM, (_SERVER_WITH_HISTORY,)),
    "io.debezium.connector.mariadb.MariaDbConnector": OffsetKeys(_DEBEZIUM, (_SERVER_WITH_HISTORY,)),
    "io.debezium.connector.postgresql.PostgresConnector": OffsetKeys(_DEBEZIUM, (_SERVER, _DATABASE, _SLOT)),
    "io.debezium.connector.sqlserver.SqlServerConnector": OffsetKeys(
        _DEBEZIUM, (_SERVER_WITH_HISTORY, ListKey(("database.names",), "databases"))
    ),
    "io.debezium.connector.db2.Db2Connector": OffsetKeys(_DEBEZIUM, (_SERVER_WITH_HISTORY, _DATABASE)),
    "io.debezium.connector.informix.InformixConnector": OffsetKeys(_DEBEZIUM, (_SERVER_WITH_HISTORY, _DATABASE)),
    "io.debezium.connector.oracle.OracleConnector": OffsetKeys(_DEBEZIUM, (_SERVER_WITH_HISTORY, _DATABASE)),
    "io.debezium.connector.mongodb.MongoDbConnector": OffsetKeys(
        _DEBEZIUM, (_named("server", "topic.prefix", "mongodb.name"),)
    ),
    "io.debezium.connector.vitess.VitessConnector": OffsetKeys(_DEBEZIUM, (_SERVER,)),
    "io.confluent.connect.jdbc.JdbcSourceConnector": _JDBC,
    "io.aiven.connect.jdbc.JdbcSourceConnector": _JDBC,
}
"""`MirrorUtils.wrapPartition`, `MirrorSourceTask.initializeConsumer`; `FileStreamSourceTask.poll`. The checkpoints and
heartbeats of MirrorMaker have no positions."""

CONSUMER_GROUP = ValueKey(
    ("consumer.override.group.id",),
    "the consumer group changes from {before} to {after}: without committed offsets the connector {start}",
    default="connect-{name}",
    hint="to continue from the current offsets, run `gitops-connect offsets get {name} --save FILE` first, declare"
    " state: stopped with the new group, and set these offsets with an OffsetChange in the next commit",
)
"""`SinkUtils.consumerGroupId`; the override counts (`Worker.baseConsumerConfigs`)."""
_SINK = OffsetKeys(
    Start(
        "starts at the first record of each partition",
        "consumer.override.auto.offset.reset",
        {
            "earliest": "starts at the first record of each partition",
            "latest": "skips all existing records",
            "none": "fails",
        },
        "starts as consumer.override.auto.offset.reset {value} specifies",
    ),
    (
        CONSUMER_GROUP,
        ListKey(("topics",), "topics"),
        ValueKey(
            ("topics.regex",),
            "topics that match only {after} are read from now on; without offsets for them the connector {start}",
            hint=SEED_ADDED,
        ),
    ),
)
"""`Worker.baseConsumerConfigs`, `SinkUtils.consumerGroupId`; the worker's `consumer.auto.offset.reset` counts too."""

_BY_NAME = MappingProxyType({name: keys for full, keys in _BY_CLASS.items() for name in class_names(full)})
_UNKNOWN = OffsetKeys(Start("starts without offsets"), ())
"""For an unknown class."""


def offset_keys(config: Mapping[str, str]) -> OffsetKeys:
    """The keys that decide which offsets a connector with that config reads."""
    known = _BY_NAME.get(config.get("connector.class", ""))
    if known is not None:
        return known
    shape = shape_of(config)
    return _SINK if shape is not None and shape.has_form_of(SINK) else _UNKNOWN


def start_of(start: Start, config: Mapping[str, str]) -> str:
    """What a connector with that config does without an offset: a predicate, as in `takes a new snapshot`."""
    value = config.get(start.key, "")
    if not value:
        return start.says
    return start.by_value.get(value.lower(), start.other).replace("{value}", value)
