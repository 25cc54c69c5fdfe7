"""Reads the Kafka partitions of connectors from the brokers that the settings name, and resolves targets with them.

A document never decides which server is asked: it only selects one of those in the settings. A document that is not
merged does not decide either which topics: if the connector does not read them yet, they are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from gitops_connect.errors import GitopsConnectError
from gitops_connect.families.log_fields import LogFacts, LogFields
from gitops_connect.families.registry import Registry
from gitops_connect.families.shapes import Shape
from gitops_connect.families.ties import Expectation, TopicFilter
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.differences import Move
from gitops_connect.model.kafka_logs import KafkaPartition, LogRange
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.model.offsets import OffsetPatch, Offsets, PartitionText
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.target_resolution import Logs, Resolution, resolve, times_of
from gitops_connect.runtime import KafkaLogReader, Runtime
from gitops_connect.settings.kafka_clusters import kafka_of

_MOST_TIMES = 20
"""Partitions whose time is searched: each takes several requests of all."""
WAIT = "the change is blocked until the brokers answer"


class NoLog(Exception):
    """Why the partitions of a connector cannot be read: an error of the brokers, or a setting that is missing."""

    def __init__(self, message: str, hint: str = WAIT, *, is_configured: bool = True) -> None:
        super().__init__(message)
        self.hint = hint
        self.is_configured = is_configured


class Unmerged(Exception):
    """Only a document that is not merged says which partitions the connector reads, so that they are not read."""


class KafkaReads:
    """The brokers that are asked in one reconciliation of a cluster: each Kafka cluster has one client."""

    def __init__(self, runtime: Runtime, situation: Situation, families: Registry) -> None:
        self._runtime, self._situation, self._families = runtime, situation, families
        self._readers = dict[str, KafkaLogReader]()

    def of(self, connector: DesiredConnector, current: Offsets) -> ConnectorLog:
        """The partitions of the connector: those with current offsets, and those of the topics that it reads.

        Raises NoLog and Unmerged.
        """
        config = connector.config
        shape = self._families.shape(config)
        if shape is None or shape.log is None:
            why = "targets need offsets in Kafka topics, and the offsets of its class are not known to be some"
            raise NoLog(why, "write the offsets instead", is_configured=False)
        if self._situation.untrusted:
            observed = self._situation.observed.connectors.get(connector.name)
            known = {} if observed is None else observed.config
            if _what_is_read(shape, shape.log, known) != _what_is_read(shape, shape.log, config):
                raise Unmerged
        reader = self._reader(shape.log.bootstrap_servers(config))
        try:
            return ConnectorLog.read(reader, shape, shape.log, config, current)
        except GitopsConnectError as error:
            raise NoLog(str(error)) from error

    def _reader(self, servers: str) -> KafkaLogReader:
        name = self._situation.desired.cluster
        found = kafka_of(servers, self._runtime.cluster(name))
        if found is None:
            missing = f"[clusters.{name}.kafka_clusters.NAME]" if servers else f"[clusters.{name}.kafka]"
            of = "one of the brokers in its config" if servers else "the brokers of the workers"
            hint = f"set {missing} with bootstrap_servers: {of}"
            raise NoLog(f"the settings do not name its Kafka cluster ({missing})", hint, is_configured=False)
        where, settings = found
        if where not in self._readers:
            try:
                self._readers[where] = self._runtime.open_kafka(settings, where)
            except GitopsConnectError as error:
                raise NoLog(str(error)) from error
        return self._readers[where]


def _what_is_read(shape: Shape, fields: LogFields, config: Mapping[str, str]) -> object:
    return fields.bootstrap_servers(config), config.get("connector.class"), shape.ties(config)


@dataclass(frozen=True, slots=True)
class ConnectorLog:
    """The Kafka partitions of one connector, with the records that exist in them."""

    reader: KafkaLogReader
    fields: LogFields
    ranges: Mapping[KafkaPartition, LogRange]
    unread: Mapping[KafkaPartition, str]
    texts: Mapping[KafkaPartition, PartitionText] = field(default_factory=dict)

    @staticmethod
    def read(
        reader: KafkaLogReader, shape: Shape, fields: LogFields, config: Mapping[str, str], current: Offsets
    ) -> ConnectorLog:
        """Raises what the reader raises."""
        ties = shape.ties(config).expectations
        filters = tuple(one for one in ties if isinstance(one, TopicFilter))
        others = {one.field: one.value for one in ties if isinstance(one, Expectation)}
        committed = {one: text for text in current if (one := fields.partition_of(text)) is not None}
        named = [one.values for one in filters if one.values is not None]
        wanted = frozenset(one.topic for one in committed).union(*named) if len(named) == len(filters) else None
        counts = reader.partitions(wanted)
        known = {topic: fields.reads(topic, filters, config) for topic in counts} if filters else {}
        texts = {
            one: fields.text_of(one, others)
            for topic, is_read in known.items()
            if is_read
            for one in (KafkaPartition(topic, number) for number in range(counts[topic]))
        }
        texts |= {
            one: text
            for one, text in committed.items()
            if known.get(one.topic, not filters) and one.partition < counts.get(one.topic, 0)
        }
        ranges, unread = reader.ranges(texts.keys())
        return ConnectorLog(reader, fields, ranges, unread, texts)

    @property
    def facts(self) -> LogFacts:
        return LogFacts({self.texts[one]: log for one, log in self.ranges.items()})

    def resolve(self, targets: OffsetTargets, current: Offsets, committed: datetime) -> Resolution:
        """Raises what the reader raises."""
        found, unread = self.reader.at(times_of(targets, self.ranges.keys(), committed))
        positions = {one: self.fields.position(current.get(text)) for one, text in self.texts.items()}
        known = {one: position for one, position in positions.items() if position is not None}
        return resolve(targets, self.texts.keys(), known, Logs(self.ranges, found, {**self.unread, **unread}))

    def offsets(self, resolution: Resolution, current: Offsets) -> OffsetPatch:
        """The resolved offsets; None removes an offset that exists."""
        offsets = {self.texts[one]: self.fields.offset_at(position) for one, position in resolution.positions.items()}
        return {text: offset for text, offset in offsets.items() if offset is not None or text in current}

    def with_times(self, facts: LogFacts, moves: Collection[Move]) -> LogFacts:
        """With the times of the records at the positions of the largest moves. Raises what the reader raises."""
        times = dict(facts.times)
        for side in ("current", "declared"):
            wanted = dict[KafkaPartition, int]()
            for move in [*moves][:_MOST_TIMES]:
                partition = self.fields.partition_of(move.partition)
                position = self.fields.position(getattr(move, side))
                if partition is not None and partition in self.ranges and position is not None:
                    wanted[partition] = position
            found = self.reader.times(wanted) if wanted else {}
            times |= {(self.texts[one], wanted[one]): time for one, time in found.items()}
        return replace(facts, times=times)
