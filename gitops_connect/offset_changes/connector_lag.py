"""Measures how many records sinks and mirrors have not read yet, and since when the first of these records waits.

One measurement of a Connect cluster sends one request for the offsets of each mirror, and to each of its Kafka clusters
one for the group of each sink, and for each 2,000 partitions at most five to each of their leaders; then at most
five searches for the times of at most one partition of each connector.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, GitopsConnectError
from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.registry import Registry
from gitops_connect.families.shapes import Shape
from gitops_connect.families.sinks import CONSUMER_GROUP
from gitops_connect.model.clock import Clock
from gitops_connect.model.kafka_logs import KafkaPartition, LogRange
from gitops_connect.model.lag import ConnectorLag, PartitionLag
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offsets import Offsets, PartitionText
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.observe import MAX_HELD
from gitops_connect.offset_changes.kafka_positions import KafkaReads, what_is_read
from gitops_connect.offset_changes.offset_files import temporary_directory
from gitops_connect.report.printable import one_line
from gitops_connect.runtime import KafkaLogReader, OpenKafka
from gitops_connect.settings.kafka_clusters import kafka_of
from gitops_connect.settings.sections import ClusterSettings

_MOST_SEARCHES = 5
"""Searches for times. Several are needed only if connectors are at different positions of the same partition."""
_MIRRORS_WITHIN = 30.0
"""Seconds for the offsets of all mirrors. Connect itself gives up after 90 s if it cannot reach Kafka."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = TypeVar("Key", bound=Hashable)
Positions = Mapping[KafkaPartition, int]


@dataclass(frozen=True, slots=True)
class _KafkaConnector:
    """A connector with offsets in Kafka partitions. `group` is its consumer group; None for a mirror."""

    shape: Shape
    fields: LogFields
    config: Mapping[str, str]
    group: str | None

    def positions(self, committed: Positions) -> Positions:
        """Without those of topics that the connector does not read any more."""
        filters, _ = what_is_read(self.shape, self.config)
        topics = {one.topic for one in committed}
        read = {one for one in topics if not filters or self.fields.reads(one, filters, self.config)}
        return {one: position for one, position in committed.items() if one.topic in read}

    def positions_in(self, offsets: Offsets) -> Positions:
        _, others = what_is_read(self.shape, self.config)
        found = _positions(self.fields, offsets)
        return self.positions({one: at for text, (one, at) in found.items() if others.items() <= _value(text).items()})


@dataclass(slots=True)
class Measurement:
    """The lag of each connector for which it is known, and why others could not be read."""

    lags: dict[ConnectorName, ConnectorLag] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_problems(self, what: str, reasons: Mapping[Key, str]) -> None:
        """One for each reason: many groups or partitions may have the same."""
        by_reason = defaultdict[str, list[Key]](list)
        for one, reason in reasons.items():
            by_reason[reason].append(one)
        for reason, some in by_reason.items():
            more = f" (and {len(some) - 1:,} more)" if len(some) > 1 else ""
            first = some[0]
            name = f"{first.topic}/{first.partition}" if isinstance(first, KafkaPartition) else first
            self.problems.append(one_line(f"{what} {name}{more}: {reason}"))


class LagReads:
    """Measures the lag of the connectors of one Connect cluster. Used by one thread at a time."""

    def __init__(self, cluster: ClusterSettings, families: Registry, open_reader: OpenKafka) -> None:
        self._cluster, self._families, self._open = cluster, families, open_reader
        self._reads = KafkaReads(cluster, open_reader)
        self._large = set[ConnectorName]()
        """Mirrors with too many offsets: they are not read again."""

    def measure(
        self, client: ConnectClient, connectors: Mapping[ConnectorName, ObservedConnector], clock: Clock
    ) -> Measurement:
        """Raises nothing for a server: what cannot be read is in `problems`."""
        found, by_reader = Measurement(), defaultdict[KafkaLogReader, dict[ConnectorName, _KafkaConnector]](dict)
        for name, servers, subject in self._subjects(connectors):
            try:
                by_reader[self._reads.reader(servers)][name] = subject
            except GitopsConnectError as error:
                found.add_problems("connector", {name: str(error)})
        for reader, subjects in by_reader.items():
            try:
                self._measure(reader, self._offsets(client, subjects, found, clock), subjects, found, clock.now())
            except GitopsConnectError as error:
                found.problems.append(str(error))
        if found.problems:  # a new client reads the present credentials
            self._reads = KafkaReads(self._cluster, self._open)
        return found

    def _subjects(
        self, connectors: Mapping[ConnectorName, ObservedConnector]
    ) -> Iterator[tuple[ConnectorName, str, _KafkaConnector]]:
        """The connectors whose Kafka cluster is measured, each with its `bootstrap.servers`."""
        for name, one in sorted(connectors.items()):
            shape = self._families.shape(one.config)
            if shape is None or shape.log is None or name in self._large:
                continue
            servers = shape.log.bootstrap_servers(one.config)
            named = kafka_of(servers, self._cluster)
            group = CONSUMER_GROUP.value(name, one.config) if self._families.is_sink(one.config) else None
            if named is not None and named[1].lag_interval and not (group and is_reference(group)):
                yield name, servers, _KafkaConnector(shape, shape.log, one.config, group)

    def _measure(
        self,
        reader: KafkaLogReader,
        mirrored: Iterator[tuple[ConnectorName, Positions]],
        subjects: Mapping[ConnectorName, _KafkaConnector],
        found: Measurement,
        now: datetime,
    ) -> None:
        """Measure connectors of one Kafka cluster. Raises what the reader raises.

        Offsets are read before the ends, so that no end is earlier. `mirrored` reads those of mirrors.
        """
        positions = dict[ConnectorName, Positions]()
        if groups := {one.group for one in subjects.values() if one.group is not None}:
            committed, refused = reader.committed(groups)
            found.add_problems("consumer group", refused)
            positions |= {
                name: one.positions(committed[one.group])
                for name, one in subjects.items()
                if one.group is not None and one.group in committed
            }
        positions |= mirrored
        for committed_only in (False, True):
            some = {
                name: at
                for name, at in positions.items()
                if subjects[name].fields.reads_committed(subjects[name].config) is committed_only
            }
            if partitions := frozenset[KafkaPartition]().union(*some.values()):
                ranges, unread = reader.ranges(partitions, committed_only=committed_only)
                found.add_problems("partition", unread)
                found.lags |= {name: lag for name, at in some.items() if (lag := _lag(at, ranges, now)) is not None}
        try:
            worst = {
                name: (lag.worst, positions[name][lag.worst])
                for name, lag in found.lags.items()
                if lag.worst is not None and name in positions
            }
            since = _times(reader, worst)
        except GitopsConnectError as error:
            found.problems.append(str(error))
            return
        found.lags |= {name: replace(found.lags[name], since=time) for name, time in since.items()}

    def _offsets(
        self,
        client: ConnectClient,
        subjects: Mapping[ConnectorName, _KafkaConnector],
        found: Measurement,
        clock: Clock,
    ) -> Iterator[tuple[ConnectorName, Positions]]:
        """What mirrors read next. If the workers do not answer in time, no other mirror is read."""
        mirrors = [name for name, one in subjects.items() if one.group is None]
        if not mirrors:
            return
        until = clock.monotonic() + _MIRRORS_WITHIN
        with temporary_directory(None) as directory:
            for name in mirrors:
                try:
                    file, within = Path(directory, "current.jsonl"), until - clock.monotonic()
                    offsets = client.save_offsets(name, file, MAX_HELD, within=within)
                except GitopsConnectError as error:
                    found.add_problems("the offsets of connector", {name: str(error)})
                    if isinstance(error, ConnectUnavailable):
                        return
                    continue
                if isinstance(offsets, SavedOffsets):
                    self._large.add(name)
                else:
                    yield name, subjects[name].positions_in(offsets)


def partition_lags(
    reads: KafkaReads, shape: Shape, fields: LogFields, config: Mapping[str, str], offsets: Offsets
) -> Mapping[PartitionText, PartitionLag]:
    """The lag of each partition that could be read. Raises NoLog, and what the reader raises."""
    reader, positions = reads.reader(fields.bootstrap_servers(config)), _positions(fields, offsets)
    partitions = {one for one, _ in positions.values()}
    ranges, _ = reader.ranges(partitions, committed_only=fields.reads_committed(config))
    known = {text: (ranges[one], at) for text, (one, at) in positions.items() if one in ranges}
    times = _times(reader, {text: positions[text] for text, (log, at) in known.items() if log.unread(at)})
    return {text: PartitionLag(log.end, log.unread(at), times.get(text)) for text, (log, at) in known.items()}


def _positions(fields: LogFields, offsets: Offsets) -> Mapping[PartitionText, tuple[KafkaPartition, int]]:
    found = ((text, fields.partition_of(text), fields.position(offset)) for text, offset in offsets.items())
    return {text: (one, at) for text, one, at in found if one is not None and at is not None}


def _value(text: PartitionText) -> dict[str, object]:
    value: dict[str, object] = json.loads(text)
    return value


def _lag(positions: Positions, ranges: Mapping[KafkaPartition, LogRange], now: datetime) -> ConnectorLag | None:
    """None if no partition could be read."""
    records = {one: ranges[one].unread(position) for one, position in positions.items() if one in ranges}
    if not records:
        return None
    worst = max(sorted(records), key=lambda one: records[one])
    most, unread = records[worst], len(positions) - len(records)
    return ConnectorLag(sum(records.values()), worst if most else None, most, None, unread, now)


def _times(reader: KafkaLogReader, positions: Mapping[Key, tuple[KafkaPartition, int]]) -> Mapping[Key, datetime]:
    """When the records at these positions were written, as far as that is known. Raises what the reader raises."""
    left, found = dict(positions), dict[Key, datetime]()
    for _ in range(_MOST_SEARCHES):
        asked = dict(left.values())
        times = reader.times(asked) if asked else {}
        for key, (partition, position) in tuple(left.items()):
            if asked[partition] == position:
                del left[key]
                if (time := _moment(times.get(partition))) is not None:
                    found[key] = time
    return found


def _moment(milliseconds: int | None) -> datetime | None:
    """None also for a time that no calendar has: producers choose the timestamps of their records."""
    try:
        return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
