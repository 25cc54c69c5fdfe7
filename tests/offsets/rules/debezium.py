"""The config keys that the tests need, of the 142 that a real worker defines for Debezium 3.3 for PostgreSQL."""

from __future__ import annotations

from gitops_connect.checks.unknown_keys import FRAMEWORK

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
DEFINED = (FRAMEWORK - {"topics", "topics.regex"}) | {
    *("topic.prefix", "topic.naming.strategy", "plugin.name", "slot.name", "slot.drop.on.stop", "publication.name"),
    *("publication.autocreate.mode", "database.hostname", "database.port", "database.user", "database.password"),
    *("database.dbname", "database.sslmode", "table.include.list", "table.exclude.list", "table.ignore.builtin"),
    *("schema.include.list", "schema.exclude.list", "column.include.list", "column.exclude.list", "snapshot.mode"),
    *("snapshot.include.collection.list", "snapshot.select.statement.overrides", "tombstones.on.delete"),
    *("column.mask.hash.([^.]+).with.salt.(.+)", "column.mask.with.(d+).chars", "column.truncate.to.(d+).chars"),
    *("message.key.columns", "converters", "post.processors", "signal.enabled.channels", "heartbeat.interval.ms"),
    *("notification.enabled.channels", "notification.sink.topic.name", "decimal.handling.mode", "time.precision.mode"),
}
