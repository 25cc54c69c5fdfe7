"""What decides where a connector resumes, for every known class: taken from its source and its documentation.

The rules of Debezium's classes are in `resume_debezium`.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model import resume_debezium as debezium
from gitops_connect.model.differences import Direction, ResumeAspect
from gitops_connect.model.resume import ALL, UNKNOWN_CLASS, ResumeRule, ResumeRules, one_of

_NEEDS, _RISK, _EFFECT = ResumeAspect.NEEDS, ResumeAspect.RISK, ResumeAspect.EFFECT
_NEW, _REWIND, _FORWARD = (frozenset({one}) for one in (Direction.NEW, Direction.REWIND, Direction.FORWARD))
_REMOVED = frozenset({Direction.REMOVED})

_BULK = one_of("mode", "bulk")
JDBC = ResumeRules(
    "the offset alone; `mode: bulk` uses no offsets",
    (
        ResumeRule(
            ResumeAspect.DECIDES,
            ALL,
            "`mode: bulk` reads whole tables at every poll, so the offset has no effect",
            when=(_BULK,),
            external=True,
        ),
        ResumeRule(_EFFECT, _REWIND, "rows that are still in the table are read again, with their current values"),
        ResumeRule(
            _RISK, _FORWARD, "rows that are added later with a smaller id or an earlier timestamp are never read"
        ),
        ResumeRule(
            _EFFECT,
            _REMOVED,
            "the table is read from its beginning, or from `timestamp.initial` (Aiven: `timestamp.initial.ms`)",
        ),
    ),
)
"""`TimestampIncrementingTableQuerier`, `JdbcSourceTask` of the Aiven connector; Confluent's connector is similar."""

FILE_SOURCE = ResumeRules(
    "the offset alone",
    (
        ResumeRule(
            _RISK,
            _FORWARD | _NEW,
            "if the offset is past the end of the file, nothing is read until the file grows beyond the offset",
        ),
        ResumeRule(_EFFECT, _REMOVED, "the file is read from its beginning"),
    ),
)
"""`FileStreamSourceTask.poll` skips to the position."""

MIRROR_SOURCE = ResumeRules(
    "the offset alone, if the source topic still has the records",
    (
        ResumeRule(
            _NEEDS,
            _REWIND,
            "the source topic must still have the records; otherwise `auto.offset.reset` decides",
        ),
        ResumeRule(
            _RISK,
            _FORWARD | _NEW,
            "if the offset is past the end of the partition, `auto.offset.reset` decides: by default, the whole"
            " partition is copied again",
        ),
        ResumeRule(
            _EFFECT,
            _REMOVED,
            "the connector copies the partition from the position that `auto.offset.reset` names; the default is the"
            " first record",
        ),
    ),
)
"""`MirrorSourceTask.initializeConsumer`, `MirrorConnectorConfig.sourceConsumerConfig` (`earliest`)."""

MIRROR_STATELESS = ResumeRules(
    "nothing: the offsets of this class are always 0, and the class never reads them",
    (ResumeRule(_EFFECT, ALL, "none: the offsets of this class are always 0, and the class never reads them"),),
)
"""`MirrorCheckpointTask`, `MirrorHeartbeatTask`: neither reads its offsets."""

_SINK_RULES = (
    ResumeRule(_NEEDS, _REWIND, "the topic must still have the records; otherwise `auto.offset.reset` decides"),
    ResumeRule(
        _RISK,
        _FORWARD | _NEW,
        "if the offset is past the end of the partition, `auto.offset.reset` decides: by default, the whole"
        " partition is consumed again",
    ),
    ResumeRule(
        _EFFECT,
        _REMOVED,
        "the connector consumes the partition from the position that `auto.offset.reset` names; the default is the"
        " first record",
    ),
)
SINK = ResumeRules(
    "the offsets of the consumer group; the class may also store a position of its own",
    _SINK_RULES,
    unchecked=UNKNOWN_CLASS,
)
"""`WorkerSinkTask`: with `SinkTaskContext.offset`, a class can move to a position that it stores itself."""
PLAIN_SINK = ResumeRules("the offsets of the consumer group", _SINK_RULES)
"""Sinks that never move their own position: they do not call `SinkTaskContext.offset`."""

RESUME_RULES: Mapping[str, ResumeRules] = {
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": MIRROR_SOURCE,
    "org.apache.kafka.connect.mirror.MirrorCheckpointConnector": MIRROR_STATELESS,
    "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector": MIRROR_STATELESS,
    "org.apache.kafka.connect.file.FileStreamSourceConnector": FILE_SOURCE,
    "io.debezium.connector.mysql.MySqlConnector": debezium.BINLOG,
    "io.debezium.connector.mariadb.MariaDbConnector": debezium.BINLOG,
    "io.debezium.connector.postgresql.PostgresConnector": debezium.POSTGRES,
    "io.debezium.connector.sqlserver.SqlServerConnector": debezium.SQL_SERVER,
    "io.debezium.connector.db2.Db2Connector": debezium.DB2,
    "io.debezium.connector.informix.InformixConnector": debezium.INFORMIX,
    "io.debezium.connector.oracle.OracleConnector": debezium.ORACLE,
    "io.debezium.connector.mongodb.MongoDbConnector": debezium.MONGODB,
    "io.debezium.connector.vitess.VitessConnector": debezium.VITESS,
    "io.confluent.connect.jdbc.JdbcSourceConnector": JDBC,
    "io.aiven.connect.jdbc.JdbcSourceConnector": JDBC,
}
"""Of sources, by the full name of the class: the same classes as `families.FAMILIES`."""

PLAIN_SINKS = frozenset(
    {
        "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "io.aiven.connect.jdbc.JdbcSinkConnector",
        "io.debezium.connector.jdbc.JdbcSinkConnector",
        "io.debezium.connector.mongodb.MongoDbSinkConnector",
    }
)
"""Sinks by the full name of the class whose source was read: none of them moves its own position."""
