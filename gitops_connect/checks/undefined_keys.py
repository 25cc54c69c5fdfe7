"""Config keys that are read although the plugin's validation does not define them, as data with their sources.

Kafka's validation (`AbstractHerder.validateConnectorConfig`) returns what the framework, the plugin's `ConfigDef`, and
the listed transforms and predicates define. Connect and plugins also read keys below certain prefixes, and Debezium
reads some keys that its `ConfigDef` does not contain.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_connect.model.shapes import class_names


@dataclass(frozen=True, slots=True)
class Undefined:
    """Keys (patterns with `*`) that connectors of these classes read; without classes, those of every class.

    `source` is the Java class that reads them.
    """

    source: str
    patterns: tuple[str, ...]
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A key that lists aliases, and the prefix of the keys of each alias: `{}` is replaced by the alias.

    `always` are aliases that need not be listed. `source` is the Java class that reads the keys. `classes` are the
    classes of its connectors; without classes, all connectors.
    """

    source: str
    key: str
    prefix: str
    always: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


_RELATIONAL = (
    "io.debezium.connector.postgresql.PostgresConnector",
    "io.debezium.connector.mysql.MySqlConnector",
    "io.debezium.connector.mariadb.MariaDbConnector",
    "io.debezium.connector.sqlserver.SqlServerConnector",
    "io.debezium.connector.oracle.OracleConnector",
    "io.debezium.connector.db2.Db2Connector",
    "io.debezium.connector.informix.InformixConnector",
    "io.debezium.connector.vitess.VitessConnector",
)
_MONGO = ("io.debezium.connector.mongodb.MongoDbConnector",)
_DEBEZIUM = _RELATIONAL + _MONGO
_MIRROR = tuple(
    f"org.apache.kafka.connect.mirror.Mirror{part}Connector" for part in ("Source", "Checkpoint", "Heartbeat")
)
_CONFLUENT_JDBC = tuple(f"io.confluent.connect.jdbc.Jdbc{part}Connector" for part in ("Source", "Sink"))

UNDEFINED = (
    Undefined("ConnectorConfig", ("producer.override.*", "consumer.override.*", "admin.override.*")),
    Undefined("Plugins.newConverter", ("key.converter.*", "value.converter.*", "header.converter.*")),
    Undefined("MirrorConnectorConfig", ("source.cluster.*", "target.cluster.*"), _MIRROR),
    Undefined("MirrorConnectorConfig", ("producer.*", "consumer.*", "admin.*"), _MIRROR),
    Undefined("MirrorConnectorConfig", ("source.producer.*", "source.consumer.*", "source.admin.*"), _MIRROR),
    Undefined("MirrorConnectorConfig", ("target.producer.*", "target.consumer.*", "target.admin.*"), _MIRROR),
    # Strimzi's operator sets these in every connector of a mirror (KafkaMirrorMaker2Connectors).
    Undefined("MirrorSourceConfig", ("topics", "topics.exclude", "topics.blacklist"), _MIRROR),
    Undefined("MirrorCheckpointConfig", ("groups", "groups.exclude", "groups.blacklist"), _MIRROR),
    Undefined("ClientMetricsReporter", ("prometheus.metrics.reporter.*",), _MIRROR),
    Undefined("Field.INTERNAL_PREFIX", ("internal.*",), _DEBEZIUM),
    Undefined("CommonConnectorConfig", ("event.converting.failure.handling.mode",), _DEBEZIUM),
    Undefined("CommonConnectorConfig", ("field.name.adjustment.mode", "skip.messages.without.change"), _DEBEZIUM),
    Undefined("CommonConnectorConfig", ("custom.retriable.exception",), _DEBEZIUM),
    Undefined("KafkaSignalChannel, FileSignalChannel", ("signal.*",), _DEBEZIUM),
    Undefined("SinkNotificationChannel", ("notification.*",), _DEBEZIUM),
    Undefined("AbstractTopicNamingStrategy", ("topic.delimiter", "topic.cache.size", "topic.transaction"), _DEBEZIUM),
    Undefined("AbstractTopicNamingStrategy", ("topic.heartbeat.prefix",), _DEBEZIUM),
    Undefined("AbstractRegexTopicNamingStrategy", ("topic.key.*", "topic.regex", "topic.replacement"), _DEBEZIUM),
    Undefined("RelationalDatabaseConnectorConfig.getJdbcConfig", ("database.*", "driver.*"), _RELATIONAL),
    Undefined("RelationalDatabaseConnectorConfig", ("snapshot.select.statement.overrides.*",), _RELATIONAL),
    Undefined("ColumnMappers", ("column.mask.hash.*", "column.mask.with.*.chars"), _RELATIONAL),
    Undefined("ColumnMappers", ("column.truncate.to.*.chars",), _RELATIONAL),
    Undefined("SchemaHistory", ("schema.history.internal.*",), _RELATIONAL),
    Undefined("PostgresConnectorConfig, BinlogConnectorConfig", ("read.only",), _RELATIONAL[:3]),
    Undefined("PostgresConnectorConfig", ("slot.seek.to.known.offset.on.start",), _RELATIONAL[:1]),
    Undefined("PostgresConnectorConfig", ("create.slot.command.timeout", "money.fraction.digits"), _RELATIONAL[:1]),
    Undefined("SqlServerConnectorConfig", ("streaming.lsn.optimization", "snapshot.locking.mode"), _RELATIONAL[3:4]),
    Undefined(
        "OracleConnectorConfig, OracleJdbcConfiguration", ("log.mining.buffer.*", "secondary.*"), _RELATIONAL[4:5]
    ),
    Undefined("MongoDbConnectorConfig", ("mongodb.*", "capture.*", "cursor.*", "filters.match.mode"), _MONGO),
    Undefined(
        "JdbcSinkConnectorConfig",
        ("hibernate.*", "use.reduction.buffer"),
        ("io.debezium.connector.jdbc.JdbcSinkConnector",),
    ),
    Undefined("GenericDatabaseDialect.addConnectionProperties", ("connection.*",), _CONFLUENT_JDBC),
)
"""As read in the sources of Kafka 4.0, Debezium 3.3.0 and Confluent's JDBC connectors of August 2026."""

UNDEFINED_IN_SECTIONS = (
    Undefined(
        "AbstractExtractNewRecordState",
        ("replace.null.with.default",),
        ("io.debezium.transforms.ExtractNewRecordState",),
    ),
    Undefined(
        "ByLogicalTableRouter",
        ("key.field.name", "schema.name.adjustment.mode"),
        ("io.debezium.transforms.ByLogicalTableRouter",),
    ),
)
"""Keys that transforms of these classes read, without the prefix. Of nine transforms of Debezium 3.3, two have such
keys."""

SECTIONS = (
    Section("ConnectorConfig.EnrichablePlugin", "transforms", "transforms.{}."),
    Section("ConnectorConfig.EnrichablePlugin", "predicates", "predicates.{}."),
    Section("SourceConnectorConfig.enrich", "topic.creation.groups", "topic.creation.{}.", always=("default",)),
)
"""An alias that is not listed is never read."""
FREE_SECTIONS = (
    Section("CustomConverterServiceProvider", "converters", "{}.", classes=_DEBEZIUM),
    Section("PostProcessorRegistryServiceProvider", "post.processors", "{}.", classes=_DEBEZIUM),
    Section("PostProcessorRegistryServiceProvider", "post.processors", "post.processors.{}.", classes=_DEBEZIUM),
)
"""Debezium's. Their keys are not defined anywhere."""

OF_EVERY_ALIAS = frozenset({"type", "plugin.version", "predicate", "negate"})
"""What ConnectorConfig defines for each transform and predicate."""
FRAMEWORK = frozenset(
    {
        *("name", "connector.class", "connector.plugin.version", "tasks.max", "tasks.max.enforce"),
        *("key.converter", "key.converter.plugin.version", "value.converter", "value.converter.plugin.version"),
        *("header.converter", "header.converter.plugin.version", "transforms", "predicates", "config.action.reload"),
        *("errors.retry.timeout", "errors.retry.delay.max.ms", "errors.tolerance", "errors.log.enable"),
        *("errors.log.include.messages", "errors.deadletterqueue.topic.name"),
        *("errors.deadletterqueue.topic.replication.factor", "errors.deadletterqueue.context.headers.enable"),
        *("topics", "topics.regex", "topic.creation.groups", "exactly.once.support", "transaction.boundary"),
        *("transaction.boundary.interval.ms", "offsets.storage.topic"),
    }
)
"""ConnectorConfig, SourceConnectorConfig and SinkConnectorConfig: what is defined for every plugin."""


def concerns(classes: tuple[str, ...], class_name: str) -> bool:
    """Whether one of `classes` is the class of that name, which may be an alias."""
    return not classes or any(class_name in class_names(one) for one in classes)
