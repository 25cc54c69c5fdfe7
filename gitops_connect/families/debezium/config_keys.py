"""The config keys of Debezium's connectors that decide which offsets they read, and those that no validation knows."""

from __future__ import annotations

from gitops_connect.families.family import Section
from gitops_connect.families.offset_keys import RESET_FIRST, ListKey, OffsetKeys, Start, ValueKey, named_in_partitions

_NO_DATA = "takes no snapshot of the data (snapshot.mode {value}): changes that it has not read yet can be lost"
_SNAPSHOT = "takes a new snapshot"
_START = Start(
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
_SERVER = named_in_partitions("server", *_LOGICAL_NAME)
"""`BinlogPartition`, `PostgresPartition`, `SqlServerPartition`, `OraclePartition`, `Db2Partition`, `VitessPartition`;
`InformixPartition` has the same value under the name `databaseName`."""
_SERVER_WITH_HISTORY = named_in_partitions(
    "server",
    *_LOGICAL_NAME,
    also="; the schema history names the server too: set another schema.history.internal.kafka.topic and"
    " snapshot.mode: recovery",
)
"""`AbstractSchemaHistory.recover` skips the records of any other source partition."""
_DATABASE = ValueKey(
    ("database.dbname",),
    "the offset was read from database {before} and is used for database {after}: the partition names only the server",
    hint=RESET_FIRST,
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

BINLOG = OffsetKeys(_START, (_SERVER_WITH_HISTORY,))
POSTGRES = OffsetKeys(_START, (_SERVER, _DATABASE, _SLOT))
SQL_SERVER = OffsetKeys(_START, (_SERVER_WITH_HISTORY, ListKey(("database.names",), "databases")))
DATABASE = OffsetKeys(_START, (_SERVER_WITH_HISTORY, _DATABASE))
MONGODB = OffsetKeys(_START, (named_in_partitions("server", "topic.prefix", "mongodb.name"),))
VITESS = OffsetKeys(_START, (_SERVER,))

EVERY = {
    "Field.INTERNAL_PREFIX": ("internal.*",),
    "CommonConnectorConfig": (
        *("event.converting.failure.handling.mode", "field.name.adjustment.mode", "skip.messages.without.change"),
        "custom.retriable.exception",
    ),
    "KafkaSignalChannel, FileSignalChannel": ("signal.*",),
    "SinkNotificationChannel": ("notification.*",),
    "AbstractTopicNamingStrategy": (
        *("topic.delimiter", "topic.cache.size", "topic.transaction", "topic.heartbeat.prefix"),
    ),
    "AbstractRegexTopicNamingStrategy": ("topic.key.*", "topic.regex", "topic.replacement"),
}
RELATIONAL = {
    **EVERY,
    "RelationalDatabaseConnectorConfig": ("database.*", "driver.*", "snapshot.select.statement.overrides.*"),
    "ColumnMappers": ("column.mask.hash.*", "column.mask.with.*.chars", "column.truncate.to.*.chars"),
    "SchemaHistory": ("schema.history.internal.*",),
}
READ_ONLY = {**RELATIONAL, "PostgresConnectorConfig, BinlogConnectorConfig": ("read.only",)}
OF_POSTGRES = {
    **READ_ONLY,
    "PostgresConnectorConfig": (
        *("slot.seek.to.known.offset.on.start", "create.slot.command.timeout", "money.fraction.digits"),
    ),
}
OF_SQL_SERVER = {
    **RELATIONAL,
    "SqlServerConnectorConfig": ("streaming.lsn.optimization", "snapshot.locking.mode"),
}
OF_ORACLE = {**RELATIONAL, "OracleConnectorConfig, OracleJdbcConfiguration": ("log.mining.buffer.*", "secondary.*")}
OF_MONGODB = {
    **EVERY,
    "MongoDbConnectorConfig": ("mongodb.*", "capture.*", "cursor.*", "filters.match.mode"),
}
OF_JDBC_SINK = {"JdbcSinkConnectorConfig": ("hibernate.*", "use.reduction.buffer")}
"""As read in the sources of Debezium 3.3.0."""

SECTIONS = (
    Section("CustomConverterServiceProvider", "converters", "{}."),
    Section("PostProcessorRegistryServiceProvider", "post.processors", "{}."),
    Section("PostProcessorRegistryServiceProvider", "post.processors", "post.processors.{}."),
)
"""Their keys are not defined anywhere."""
TRANSFORMS = {
    "io.debezium.transforms.ExtractNewRecordState": ("replace.null.with.default",),
    "io.debezium.transforms.ByLogicalTableRouter": ("key.field.name", "schema.name.adjustment.mode"),
}
"""`AbstractExtractNewRecordState`, `ByLogicalTableRouter`. Of nine transforms of Debezium 3.3, two have such keys."""
