"""The known connectors, as data: the partitions and offsets of each family.

The facts are from the classes that write and load them: of Kafka 4.3.1, of Debezium, and of the two JDBC sources. Each
family names its class. A field that a later version adds causes a warning, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.debezium import (
    BINLOG,
    DB2,
    INFORMIX,
    MONGODB,
    ORACLE,
    POSTGRES,
    SQL_SERVER,
    VITESS,
)
from gitops_connect.model.shape_fields import Demand, FieldType, Shape, ShapeFields, Tie, Tied
from gitops_connect.model.units import Unit

_TEXT, _NUMBER, _SMALL, _SIGNED = FieldType.TEXT, FieldType.NUMBER, FieldType.SMALL, FieldType.SIGNED
_ZERO = FieldType.ZERO

SINK = Shape(
    "a sink",
    (ShapeFields({"kafka_topic": _TEXT, "kafka_partition": _SMALL}),),
    ShapeFields({"kafka_offset": _NUMBER}),
    ("kafka_offset",),
    unit=Unit.RECORDS,
    measured=("kafka_offset",),
    lenient=True,
    demand=Demand.TYPES,
)
"""`SinkUtils.parseSinkConnectorOffsets`. It also accepts numbers in quotes, but returns them without quotes."""

MIRROR_SOURCE = Shape(
    "MirrorSourceConnector",
    (ShapeFields({"cluster": _TEXT, "topic": _TEXT, "partition": _SMALL}),),
    ShapeFields({"offset": _NUMBER}),
    ("offset",),
    unit=Unit.RECORDS,
    measured=("offset",),
    tied=(Tied("cluster", Tie.ALIAS, ("source.cluster.alias",)), Tied("topic", Tie.TOPICS, ("topics",))),
    demand=Demand.TYPES,
)
"""`MirrorUtils.wrapPartition`, `MirrorSourceConnector.alterOffsets`; `MirrorConnectorConfig` has no default alias.
`MirrorSourceConnector.shouldReplicateTopic` and `DefaultTopicFilter` say which topics are read."""

MIRROR_CHECKPOINT = Shape(
    "MirrorCheckpointConnector",
    (ShapeFields({"group": _TEXT, "topic": _TEXT, "partition": _SMALL}),),
    ShapeFields({"offset": _ZERO}),
    ("offset",),
    demand=Demand.TYPES,
)
"""`Checkpoint.connectPartition`, `MirrorUtils.validateSourceOffset` with `onlyOffsetZero`."""

MIRROR_HEARTBEAT = Shape(
    "MirrorHeartbeatConnector",
    (ShapeFields({"sourceClusterAlias": _TEXT, "targetClusterAlias": _TEXT}),),
    ShapeFields({"offset": _ZERO}),
    ("offset",),
    tied=(
        Tied("sourceClusterAlias", Tie.ALIAS, ("source.cluster.alias",)),
        Tied("targetClusterAlias", Tie.ALIAS, ("target.cluster.alias",), "target"),
    ),
    demand=Demand.TYPES,
)
"""`Heartbeat.connectPartition`; the offset is validated as for the checkpoints (`MirrorUtils.validateSourceOffset`).

`MirrorConnectorConfig` has a default for the alias of the target only.
"""

FILE_SOURCE = Shape(
    "FileStreamSourceConnector",
    (ShapeFields({"filename": _TEXT}),),
    ShapeFields({"position": _NUMBER}),
    ("position",),
    unit=Unit.FILE_BYTES,
    measured=("position",),
    tied=(Tied("filename", Tie.FILE, ("file",)),),
    demand=Demand.FIELDS,
)
"""`FileStreamSourceConnector.alterOffsets`, `FileStreamSourceTask`."""

JDBC = Shape(
    "the JDBC source",
    (ShapeFields({"protocol": _TEXT, "table": _TEXT}), ShapeFields({"table": _TEXT}), ShapeFields({"query": _TEXT})),
    ShapeFields(
        optional={"incrementing": _SIGNED, "timestamp": FieldType.MILLISECONDS, "timestamp_nanos": FieldType.NANOS},
        any_of=("incrementing", "timestamp"),
    ),
    ("timestamp", "timestamp_nanos", "incrementing"),
    unit=Unit.IDS,
    measured=("incrementing",),
    fraction=("timestamp", "timestamp_nanos"),
    tied=(Tied("table", Tie.TABLES, ()),),
)
"""`OffsetProtocols`, `TimestampIncrementingOffset`, of Confluent's and of Aiven's connector alike: `timestamp_nanos`
replaces the milliseconds of `timestamp` (`java.sql.Timestamp.setNanos`)."""

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
