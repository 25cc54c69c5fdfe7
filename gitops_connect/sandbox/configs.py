"""The configuration files of the sandbox's broker, workers and loggers, as text.

Settings that only matter for a larger cluster (replication, many partitions, waiting for members) are set for a single
machine. All others keep Kafka's defaults, so that the sandbox behaves like other clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gitops_connect.sandbox.releases import plugin_discovery

HOST = "127.0.0.1"

LOGGERS: Mapping[str, str] = {
    # Log4j 2 for Kafka 4, and reload4j (Log4j 1) for older releases: each reads its own file and ignores the other.
    "log4j2.properties": """\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %X{connector.context}%m (%c:%L)%n
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
""",
    "log4j.properties": """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %X{connector.context}%m (%c:%L)%n
log4j.logger.org.reflections=ERROR
""",
}


def broker(data: Path, port: int, controller_port: int) -> str:
    """A KRaft node that is both broker and controller, reachable from this machine only."""
    return _properties(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{controller_port}",
            "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(data),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # After a `kill -9` a broker may register again only when its last session is over (9 s otherwise).
            "broker.session.timeout.ms": "4000",
            "broker.heartbeat.interval.ms": "1000",
        }
    )


def worker(release: str, port: int, broker_port: int, plugins: Iterable[str], *, exactly_once: bool) -> str:
    """A distributed Connect worker with string converters: lines of a file stay lines, and any record can be read."""
    topics = {
        f"{kind}.storage.{key}": value
        for kind, topic in (("config", "connect-configs"), ("offset", "connect-offsets"), ("status", "connect-status"))
        for key, value in (("topic", topic), ("replication.factor", "1"))
    }
    return _properties(
        {
            "bootstrap.servers": f"{HOST}:{broker_port}",
            "group.id": "connect-sandbox",
            "listeners": f"http://{HOST}:{port}",
            "rest.advertised.host.name": HOST,
            "rest.advertised.port": str(port),
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            **topics,
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "scheduled.rebalance.max.delay.ms": "0",
            # The group waits this long for a worker that was killed (10 s otherwise): the least a broker allows.
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "2000",
            "offset.flush.interval.ms": "1000",
            "exactly.once.source.support": "enabled" if exactly_once else "disabled",
            "connector.client.config.override.policy": "All",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "plugin.discovery": plugin_discovery(release),
            "plugin.path": ",".join(plugins),
        }
    )


def _properties(values: Mapping[str, str]) -> str:
    return "".join(f"{key}={_escape(value)}\n" for key, value in values.items())


def _escape(value: str) -> str:
    """The value as `java.util.Properties` reads it: Latin-1 with escapes in UTF-16, which begin with a backslash."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)
