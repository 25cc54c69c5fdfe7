"""Reads the Kafka partitions of connectors from the brokers that the settings name, and resolves targets with them.

A document never decides which server is asked: it only selects one of those in the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gitops_connect.errors import GitopsConnectError, KafkaUnavailable
from gitops_connect.families.log_fields import LogFacts, LogFields
from gitops_connect.families.shapes import Shape
from gitops_connect.families.ties import Expectation, TopicFilter
from gitops_connect.model.differences import Move
from gitops_connect.model.kafka_logs import KafkaPartition, LogRange
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.model.offsets import OffsetPatch, Offsets, PartitionText
from gitops_connect.plan.target_resolution import Logs, Resolution, resolve, times_of
from gitops_connect.runtime import KafkaLogReader, OpenKafka, open_kafka
from gitops_connect.settings.kafka_clusters import kafka_of
from gitops_connect.settings.sections import ClusterSettings

_MOST_TIMES = 20
"""Partitions whose time is searched: each takes several requests of all."""
WAIT = "the change is blocked until the brokers answer"


class NoLog(Exception):
    """Why the partitions of a connector cannot be read: an error of the brokers, or a setting that is missing."""

    def __init__(self, message: str, hint: str = WAIT, *, is_configured: bool = True) -> None:
        super().__init__(message)
        self.hint = hint
        self.is_configured = is_configured


class KafkaReads:
    """The Kafka clusters of one Connect cluster that are asked: each has one client."""

    def __init__(self, cluster: ClusterSettings, open_reader: OpenKafka = open_kafka) -> None:
        self._cluster, self._open = cluster, open_reader
        self._readers = dict[str, KafkaLogReader]()
        self._unavailable = dict[str, KafkaUnavailable]()

    def log(self, shape: Shape | None, config: Mapping[str, str], current: Offsets) -> ConnectorLog:
        """The partitions of a connector of this config: those of the topics that it reads. Raises NoLog.

        Brokers that did not answer for one connector are not asked for the next: each would wait for their timeout.
        """
        if shape is None or shape.log is None:
            why = "targets need offsets in Kafka topics, and the offsets of its class are not known to be some"
            raise NoLog(why, "write the offsets instead", is_configured=False)
        servers = shape.log.bootstrap_servers(config)
        if servers in self._unavailable:
            raise NoLog(str(self._unavailable[servers]))
        try:
            return ConnectorLog.read(self.reader(servers), shape, shape.log, config, current)
        except GitopsConnectError as error:
            if isinstance(error, KafkaUnavailable):
                self._unavailable[servers] = error
            raise NoLog(str(error)) from error

    def reader(self, servers: str) -> KafkaLogReader:
        """The reader of the Kafka cluster with these `bootstrap.servers`. Raises NoLog, and UsageError."""
        found = kafka_of(servers, self._cluster)
        if found is None:
            name = self._cluster.name
            missing = f"[clusters.{name}.kafka_clusters.NAME]" if servers else f"[clusters.{name}.kafka]"
            of = "one of the brokers in its config" if servers else "the brokers of the workers"
            hint = f"set {missing} with bootstrap_servers: {of}"
            raise NoLog(f"the settings do not name its Kafka cluster ({missing})", hint, is_configured=False)
        where, settings = found
        if where not in self._readers:
            self._readers[where] = self._open(settings, where)
        return self._readers[where]


def what_is_read(shape: Shape, config: Mapping[str, str]) -> tuple[tuple[TopicFilter, ...], Mapping[str, Any]]:
    """The filters of the topics that a connector of this config reads, and the further fields of its partitions."""
    ties = shape.ties(config).expectations
    filters = tuple(one for one in ties if isinstance(one, TopicFilter))
    return filters, {one.field: one.value for one in ties if isinstance(one, Expectation)}


@dataclass(frozen=True, slots=True)
class ConnectorLog:
    """The Kafka partitions of one connector, with the records that exist in them."""

    reader: KafkaLogReader
    shape: Shape
    fields: LogFields
    ranges: Mapping[KafkaPartition, LogRange]
    unread: Mapping[KafkaPartition, str]
    texts: Mapping[KafkaPartition, PartitionText] = field(default_factory=dict)

    @staticmethod
    def read(
        reader: KafkaLogReader, shape: Shape, fields: LogFields, config: Mapping[str, str], current: Offsets
    ) -> ConnectorLog:
        """Raises what the reader raises."""
        filters, others = what_is_read(shape, config)
        committed = {one: text for text in current if (one := fields.partition_of(text)) is not None}
        named = [one.values for one in filters if one.values is not None]
        wanted = frozenset(one.topic for one in committed).union(*named) if len(named) == len(filters) else None
        counts = reader.partitions(wanted)
        known = {topic: fields.reads(topic, filters, config) for topic in counts}
        texts = {
            one: fields.text_of(one, others)
            for topic, is_read in known.items()
            if is_read
            for one in (KafkaPartition(topic, number) for number in range(counts[topic]))
        }
        texts |= {
            one: text
            for one, text in committed.items()
            if known.get(one.topic) is not False and one.partition < counts.get(one.topic, 0)
        }
        ranges, unread = reader.ranges(texts.keys(), committed_only=fields.reads_committed(config))
        return ConnectorLog(reader, shape, fields, ranges, unread, texts)

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

    def shape_for(self, moves: Sequence[Move]) -> Shape:
        """The shape with what the brokers say, for the first of these moves.

        If the times of records cannot be read, distances are shown without them.
        """
        shape = replace(self.shape, logs=self.facts)
        times = dict[tuple[PartitionText, int], int]()
        with suppress(GitopsConnectError):
            for side in ("current", "declared"):
                found = (
                    (self.fields.partition_of(move.partition), getattr(move, side)) for move in moves[:_MOST_TIMES]
                )
                positions = ((one, self.fields.position(offset)) for one, offset in found)
                wanted = {one: at for one, at in positions if one in self.ranges and one is not None and at is not None}
                read = self.reader.times(wanted) if wanted else {}
                times |= {(self.texts[one], wanted[one]): time for one, time in read.items()}
        return replace(shape, logs=replace(shape.logs, times=times))
