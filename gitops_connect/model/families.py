"""The connectors that people run, as data: what the partitions and offsets of each family look like.

Read off the classes that write and load them: of Kafka 4.3.1, of Debezium, and of the two JDBC sources. Each family
names its class. Fields that a later version adds draw a warning, and no error.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.shape_fields import Demand, Fields, FieldType, Shape, Tie, Tied

_TEXT, _NUMBER, _SMALL, _SIGNED = FieldType.TEXT, FieldType.NUMBER, FieldType.SMALL, FieldType.SIGNED
_LSN, _DIGITS, _ZERO, _FLAG, _ANY = FieldType.LSN, FieldType.DIGITS, FieldType.ZERO, FieldType.FLAG, FieldType.ANY

SINK = Shape(
    "a sink",
    (Fields({"kafka_topic": _TEXT, "kafka_partition": _SMALL}),),
    Fields({"kafka_offset": _NUMBER}),
    ("kafka_offset",),
    unit="records",
    measured=("kafka_offset",),
    lenient=True,
    demand=Demand.TYPES,
)
"""`SinkUtils.parseSinkConnectorOffsets`. It takes numbers in quotes too, but gives them back without."""

MIRROR_SOURCE = Shape(
    "MirrorSourceConnector",
    (Fields({"cluster": _TEXT, "topic": _TEXT, "partition": _SMALL}),),
    Fields({"offset": _NUMBER}),
    ("offset",),
    unit="records",
    measured=("offset",),
    tied=(Tied("cluster", Tie.ALIAS, ("source.cluster.alias",)),),
    demand=Demand.TYPES,
)
"""`MirrorUtils.wrapPartition`, `MirrorSourceConnector.alterOffsets`; `MirrorConnectorConfig` has no default here."""

MIRROR_CHECKPOINT = Shape(
    "MirrorCheckpointConnector",
    (Fields({"group": _TEXT, "topic": _TEXT, "partition": _SMALL}),),
    Fields({"offset": _ZERO}),
    ("offset",),
    demand=Demand.TYPES,
)
"""`Checkpoint.connectPartition`, `MirrorUtils.validateSourceOffset` with `onlyOffsetZero`."""

MIRROR_HEARTBEAT = Shape(
    "MirrorHeartbeatConnector",
    (Fields({"sourceClusterAlias": _TEXT, "targetClusterAlias": _TEXT}),),
    Fields({"offset": _ZERO}),
    ("offset",),
    tied=(
        Tied("sourceClusterAlias", Tie.ALIAS, ("source.cluster.alias",)),
        Tied("targetClusterAlias", Tie.ALIAS, ("target.cluster.alias",), "target"),
    ),
    demand=Demand.TYPES,
)
"""`Heartbeat.connectPartition`; its offset likewise. `MirrorConnectorConfig` has a default for the target alone."""

FILE_SOURCE = Shape(
    "FileStreamSourceConnector",
    (Fields({"filename": _TEXT}),),
    Fields({"position": _NUMBER}),
    ("position",),
    unit="bytes",
    measured=("position",),
    tied=(Tied("filename", Tie.FILE, ("file",)),),
    demand=Demand.FIELDS,
)
"""`FileStreamSourceConnector.alterOffsets`, `FileStreamSourceTask`."""

_SERVER = Fields({"server": _TEXT})
_LOGICAL_NAME = (Tied("server", Tie.SERVER, ("topic.prefix", "database.server.name")),)
_DEBEZIUM_PREFIXES = ("transaction_", "incremental_snapshot")
"""`TransactionContext.store`, `AbstractIncrementalSnapshotContext`: among them the names of tables."""
_SNAPSHOT = ("snapshot", "snapshot_completed")
_SNAPSHOT_FIELDS: Mapping[str, FieldType] = {"snapshot": _ANY, "snapshot_completed": _ANY}


def _debezium(
    required: Mapping[str, FieldType], optional: Mapping[str, FieldType] | None = None, *, nullable: str = ""
) -> Fields:
    return Fields(
        required,
        {**_SNAPSHOT_FIELDS, **(optional or {})},
        nullable=frozenset((*nullable.split(), *_SNAPSHOT)),
        prefixes=_DEBEZIUM_PREFIXES,
    )


BINLOG = Shape(
    "Debezium for MySQL and MariaDB",
    (_SERVER,),
    _debezium(
        {"file": FieldType.BINLOG, "pos": _NUMBER},
        {
            "gtids": FieldType.GTIDS,
            "server_id": FieldType.SERVER,
            "event": _NUMBER,
            "row": _NUMBER,
            "ts_sec": _SIGNED,
        },
        nullable="gtids",
    ),
    ("gtids", "server_id", "file", "pos", "event", "row"),
    unit="bytes",
    measured=("pos",),
    frame=_SNAPSHOT,
    skipped=("event", "row"),
    tied=_LOGICAL_NAME,
)
"""`BinlogPartition`, `BinlogOffsetContext`; the order is that of `BinlogHistoryRecordComparator`."""

POSTGRES = Shape(
    "Debezium for PostgreSQL",
    (_SERVER,),
    _debezium(
        {"lsn": _NUMBER},
        {
            "lsn_proc": _NUMBER,
            "lsn_commit": _NUMBER,
            "lsn_events_processed": _NUMBER,
            "txId": _NUMBER,
            "xmin": _NUMBER,
            "ts_usec": _SIGNED,
            "messageType": _TEXT,
            "last_snapshot_record": _FLAG,
        },
        nullable="lsn_proc lsn_commit txId xmin messageType",
    ),
    ("lsn_proc", "lsn", "lsn_events_processed"),
    unit="bytes",
    measured=("lsn_proc", "lsn"),
    frame=(*_SNAPSHOT, "last_snapshot_record"),
    skipped=("lsn_events_processed",),
    tied=_LOGICAL_NAME,
)
"""`PostgresPartition`, `PostgresOffsetContext`; `PostgresStreamingChangeEventSource` goes on from `lsn_proc`."""

_LSN_FIELDS = _debezium({"commit_lsn": _LSN}, {"change_lsn": _LSN, "event_serial_no": _NUMBER}, nullable="change_lsn")
_LSN_POSITION = ("commit_lsn", "change_lsn", "event_serial_no")

SQL_SERVER = Shape(
    "Debezium for SQL Server",
    (Fields({"server": _TEXT, "database": _TEXT}), _SERVER),
    _LSN_FIELDS,
    _LSN_POSITION,
    frame=_SNAPSHOT,
    skipped=("event_serial_no",),
    tied=_LOGICAL_NAME,
)
"""`SqlServerPartition` (the second form is that of Debezium 1), `SqlServerOffsetContext`, `TxLogPosition`, `Lsn`."""

DB2 = Shape(
    "Debezium for Db2",
    (_SERVER,),
    _LSN_FIELDS,
    _LSN_POSITION,
    frame=_SNAPSHOT,
    skipped=("event_serial_no",),
    tied=_LOGICAL_NAME,
)
"""`Db2Partition`, `Db2OffsetContext`."""

INFORMIX = Shape(
    "Debezium for Informix",
    (Fields({"databaseName": _TEXT}),),
    _debezium({"commit_lsn": _DIGITS}, {"change_lsn": _DIGITS, "begin_lsn": _DIGITS}, nullable="change_lsn begin_lsn"),
    ("commit_lsn", "change_lsn"),
    frame=_SNAPSHOT,
)
"""`InformixPartition`, `InformixOffsetContext`; its `Lsn` is one number."""

_ORACLE_FIELDS = _debezium(
    {},
    {
        "scn": _DIGITS,
        "commit_scn": _ANY,
        "lcr_position": _TEXT,
        "scn_idx": _SIGNED,
        "snapshot_scn": _DIGITS,
        "snapshot_pending_tx": _TEXT,
        "txId": _TEXT,
        "txSeq": _NUMBER,
        "window_advance_enabled": _FLAG,
    },
    nullable="scn commit_scn lcr_position",
)
ORACLE = Shape(
    "Debezium for Oracle",
    (_SERVER,),
    Fields(
        optional=_ORACLE_FIELDS.optional,
        nullable=_ORACLE_FIELDS.nullable,
        any_of=("scn", "lcr_position"),
        prefixes=_DEBEZIUM_PREFIXES,
    ),
    ("scn",),
    frame=(*_SNAPSHOT, "lcr_position", "snapshot_scn", "snapshot_pending_tx"),
    tied=_LOGICAL_NAME,
)
"""`OraclePartition`, `OracleOffsetContext`, `CommitScn`. Numbers without quotes come from Debezium 1.4 and before."""

MONGODB = Shape(
    "Debezium for MongoDB",
    (Fields({"server_id": _TEXT}), Fields({"server_id": _TEXT, "rs": _TEXT})),
    Fields(
        {"sec": _SMALL, "ord": _SIGNED},
        {
            "resume_token": FieldType.TOKEN,
            "initsync": _ANY,
            "lsid": _TEXT,
            "txnNumber": _SIGNED,
        },
        nullable=frozenset({"resume_token", "lsid", "txnNumber"}),
        prefixes=_DEBEZIUM_PREFIXES,
    ),
    ("resume_token", "sec", "ord"),
    frame=("initsync",),
    tied=(Tied("server_id", Tie.SERVER, ("topic.prefix", "mongodb.name")),),
)
"""`MongoDbPartition`, `MongoDbOffsetContext`: the change stream is resumed by its token where there is one."""

VITESS = Shape(
    "Debezium for Vitess",
    (_SERVER, Fields({"server": _TEXT, "task_key": _TEXT})),
    Fields({"vgtid": _TEXT}, prefixes=_DEBEZIUM_PREFIXES),
    (),
    tied=_LOGICAL_NAME,
)
"""`VitessPartition`, `VitessOffsetContext`."""

JDBC = Shape(
    "the JDBC source",
    (Fields({"protocol": _TEXT, "table": _TEXT}), Fields({"table": _TEXT}), Fields({"query": _TEXT})),
    Fields(
        optional={"incrementing": _SIGNED, "timestamp": _SIGNED, "timestamp_nanos": _NUMBER},
        any_of=("incrementing", "timestamp"),
    ),
    ("timestamp", "timestamp_nanos", "incrementing"),
    unit="ids",
    measured=("incrementing",),
)
"""`OffsetProtocols`, `TimestampIncrementingOffset`, of Confluent's and of Aiven's connector alike."""

FAMILIES: Mapping[str, Shape] = {
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": MIRROR_SOURCE,
    "org.apache.kafka.connect.mirror.MirrorCheckpointConnector": MIRROR_CHECKPOINT,
    "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector": MIRROR_HEARTBEAT,
    "org.apache.kafka.connect.file.FileStreamSourceConnector": FILE_SOURCE,
    "io.debezium.connector.mysql.MySqlConnector": BINLOG,
    "io.debezium.connector.mariadb.MariaDbConnector": BINLOG,
    "io.debezium.connector.postgresql.PostgresConnector": POSTGRES,
    "io.debezium.connector.sqlserver.SqlServerConnector": SQL_SERVER,
    "io.debezium.connector.db2.Db2Connector": DB2,
    "io.debezium.connector.informix.InformixConnector": INFORMIX,
    "io.debezium.connector.oracle.OracleConnector": ORACLE,
    "io.debezium.connector.mongodb.MongoDbConnector": MONGODB,
    "io.debezium.connector.vitess.VitessConnector": VITESS,
    "io.confluent.connect.jdbc.JdbcSourceConnector": JDBC,
    "io.aiven.connect.jdbc.JdbcSourceConnector": JDBC,
}
"""By the full name of the class."""
