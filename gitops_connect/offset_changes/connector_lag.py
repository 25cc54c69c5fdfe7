"""Measures how many records sinks and mirrors have not read yet, and since when the first of these records waits.

One measurement of a Connect cluster sends one request to Connect for the offsets of each connector. To each of its
Kafka clusters, it sends one for the topics, and for each 2,000 partitions two to each of their leaders, the same again
for readers of committed records; then at most five searches for the times of one partition of each connector.

Connect returns the committed offsets of sinks, too: `kafka_log_reader` says why no broker is asked for them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TypeVar

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, GitopsConnectError, UsageError
from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.registry import Registry
from gitops_connect.families.shapes import Shape
from gitops_connect.model.clock import Clock
from gitops_connect.model.kafka_logs import KafkaPartition, LogRange
from gitops_connect.model.lag import ConnectorLag, PartitionLag, PartitionReading
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offsets import Offsets, PartitionText
from gitops_connect.observe import MAX_HELD
from gitops_connect.offset_changes.kafka_positions import KafkaReads, what_is_read
from gitops_connect.offset_changes.offset_files import temporary_directory
from gitops_connect.report.printable import one_line
from gitops_connect.runtime import KafkaLogReader, OpenKafka
from gitops_connect.settings.kafka_clusters import kafka_of
from gitops_connect.settings.sections import ClusterSettings
from gitops_connect.tracing.spans import in_trace

_MOST_SEARCHES = 5
"""Searches for times. Several are needed only if connectors are at different positions of the same partition."""
MOST_KEPT = 1000
"""Partitions of a connector of which the position and the end are kept, those with the most unread records first."""
_LONGEST = 500
"""Characters of a partition that is kept: the name of a topic has at most 249."""
_AT_ONCE = 2
"""Requests to Connect at the same time: reconciliations need the workers, too."""
_OFFSETS_WITHIN = 30.0
"""Seconds for the offsets of all connectors. Connect itself gives up after 90 s if it cannot reach Kafka."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = TypeVar("Key", bound=Hashable)
Positions = Mapping[KafkaPartition, tuple[int, PartitionText]]
"""What a connector reads next in each partition, with its partition as Connect returns it."""


@dataclass(frozen=True, slots=True)
class _KafkaConnector:
    """A connector with offsets in Kafka partitions."""

    shape: Shape
    fields: LogFields
    config: Mapping[str, str]

    @property
    def reads_committed(self) -> bool:
        return self.fields.reads_committed(self.config)

    def positions(self, offsets: Offsets) -> Positions:
        """What it reads next, without topics that it does not read any more."""
        filters, others = what_is_read(self.shape, self.config)
        found = _positions(self.fields, offsets).items()
        own = {one: (at, text) for text, (one, at) in found if others.items() <= _value(text).items()}
        topics = {one.topic for one in own}
        read = {one for one in topics if not filters or self.fields.reads(one, filters, self.config)}
        return {one: at for one, at in own.items() if one.topic in read}


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
        """Connectors with too many offsets: they are not read again."""
        self._late = frozenset[ConnectorName]()

    def measure(
        self, client: ConnectClient, connectors: Mapping[ConnectorName, ObservedConnector], clock: Clock
    ) -> Measurement:
        """Raises nothing for a server or a full disk: what cannot be read is in `problems`."""
        found, by_reader = Measurement(), defaultdict[KafkaLogReader, dict[ConnectorName, _KafkaConnector]](dict)
        for name, servers, one in self._connectors(connectors):
            try:
                by_reader[self._reads.reader(servers)][name] = one
            except GitopsConnectError as error:
                found.add_problems("connector", {name: str(error)})
        offsets: Mapping[ConnectorName, Offsets] = {}
        try:
            offsets = self._offsets(client, list(chain.from_iterable(by_reader.values())), found, clock)
        except UsageError as error:
            found.problems.append(str(error))
        for reader, some in by_reader.items():
            positions = {name: one.positions(offsets[name]) for name, one in some.items() if name in offsets}
            try:
                _measure(reader, some, positions, found, clock.now())
            except GitopsConnectError as error:
                found.problems.append(str(error))
        if found.problems:  # a new client reads the present credentials
            self._reads = KafkaReads(self._cluster, self._open)
        return found

    def _connectors(
        self, connectors: Mapping[ConnectorName, ObservedConnector]
    ) -> Iterator[tuple[ConnectorName, str, _KafkaConnector]]:
        """The connectors whose Kafka cluster is measured, each with its `bootstrap.servers`."""
        for name, one in sorted(connectors.items()):
            shape = self._families.shape(one.config)
            if shape is None or shape.log is None or name in self._large:
                continue
            servers = shape.log.bootstrap_servers(one.config)
            named = kafka_of(servers, self._cluster)
            if named is not None and named[1].lag_interval:
                yield name, servers, _KafkaConnector(shape, shape.log, one.config)

    def _offsets(
        self, client: ConnectClient, names: Sequence[ConnectorName], found: Measurement, clock: Clock
    ) -> Mapping[ConnectorName, Offsets]:
        """The current offsets, one request each. Those that were not read in time are the first ones next time."""
        until, read, unread = clock.monotonic() + _OFFSETS_WITHIN, dict[ConnectorName, Offsets](), {}
        waiting = sorted(names, key=lambda name: name not in self._late)

        def save(number: int, name: ConnectorName) -> Offsets | SavedOffsets:
            return client.save_offsets(name, directory / f"{number}", MAX_HELD, within=until - clock.monotonic())

        with temporary_directory(None) as directory, client.threads(_AT_ONCE) as pool:
            asked = {name: pool.submit(in_trace(save), number, name) for number, name in enumerate(waiting)}
            for name, one in asked.items():
                try:
                    offsets = one.result()
                except GitopsConnectError as error:
                    unread[name] = str(error)
                    if isinstance(error, ConnectUnavailable):
                        pool.shutdown(wait=False, cancel_futures=True)
                        break
                    continue
                if isinstance(offsets, SavedOffsets):
                    self._large.add(name)
                else:
                    read[name] = offsets
        self._late = frozenset(waiting) - read.keys() - unread.keys()
        found.add_problems("the offsets of connector", unread)
        return read


def _measure(
    reader: KafkaLogReader,
    connectors: Mapping[ConnectorName, _KafkaConnector],
    positions: Mapping[ConnectorName, Positions],
    found: Measurement,
    now: datetime,
) -> None:
    """Measure connectors of one Kafka cluster, whose positions were read before. Raises what the reader raises."""
    for committed_only in (False, True):
        some = {name: at for name, at in positions.items() if connectors[name].reads_committed is committed_only}
        if partitions := frozenset[KafkaPartition]().union(*some.values()):
            ranges, unread = reader.ranges(partitions, committed_only=committed_only)
            found.add_problems("partition", unread)
            found.lags |= {name: lag for name, at in some.items() if (lag := _lag(at, ranges, now)) is not None}
    worst = {
        name: (lag.worst, positions[name][lag.worst][0])
        for name, lag in found.lags.items()
        if lag.worst is not None and name in positions
    }
    found.lags |= {name: replace(found.lags[name], since=time) for name, time in _times(reader, worst).items()}


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
    records = {one: ranges[one].unread(at) for one, (at, _) in positions.items() if one in ranges}
    if not records:
        return None
    first = sorted(records, key=lambda one: (-records[one], one))[:MOST_KEPT]
    worst, most, unread = first[0], records[first[0]], len(positions) - len(records)
    kept = tuple(
        PartitionReading(text, at, ranges[one].end, records[one])
        for one, (at, text) in ((one, positions[one]) for one in first)
        if len(text) <= _LONGEST
    )
    total = sum(records.values())
    return ConnectorLag(total, worst if most else None, most, None, unread, now, len(records), kept)


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
