"""Kafka's partitions in memory, as a reader of the product sees them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange


@dataclass(eq=False)
class MemoryLogs:
    """`records` are the offset and the time of each record, `ends` the ends of partitions, also of empty ones.

    `stable` are the ends before transactions in progress. With `error`, every request fails. `asked` are the names of
    the requests.
    """

    records: dict[KafkaPartition, list[LoggedRecord]] = field(default_factory=dict)
    ends: dict[KafkaPartition, int] = field(default_factory=dict)
    unread: dict[KafkaPartition, str] = field(default_factory=dict)
    error: GitopsConnectError | None = None
    stable: dict[KafkaPartition, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def append(self, topic: str, partition: int, timestamp: int, count: int = 1) -> None:
        one = KafkaPartition(topic, partition)
        for _ in range(count):
            end = self.ends.setdefault(one, 0)
            self.records.setdefault(one, []).append(LoggedRecord(end, timestamp))
            self.ends[one] = end + 1

    def partitions(self, topics: Collection[str] | None) -> Mapping[str, int]:
        self._require("partitions")
        counts: dict[str, int] = {}
        for one in self.ends:
            if topics is None or one.topic in topics:
                counts[one.topic] = max(counts.get(one.topic, 0), one.partition + 1)
        return counts

    def ranges(
        self, partitions: Collection[KafkaPartition], *, committed_only: bool = False
    ) -> tuple[Mapping[KafkaPartition, LogRange], Mapping[KafkaPartition, str]]:
        self._require("ranges")
        ends = {**self.ends, **self.stable} if committed_only else self.ends
        unread = {one: self.unread.get(one, "unknown partition") for one in partitions if not self._is_read(one)}
        return {one: LogRange(self._start(one), ends[one]) for one in partitions if self._is_read(one)}, unread

    def at(
        self, times: Mapping[KafkaPartition, int]
    ) -> tuple[Mapping[KafkaPartition, LoggedRecord | None], Mapping[KafkaPartition, str]]:
        self._require("at")
        found = {
            one: next((record for record in self.records.get(one, ()) if record.timestamp >= time), None)
            for one, time in times.items()
        }
        return found, {}

    def times(self, offsets: Mapping[KafkaPartition, int]) -> Mapping[KafkaPartition, int]:
        self._require("times")
        found = {}
        for one, offset in offsets.items():
            later = [record for record in self.records.get(one, ()) if record.offset >= offset]
            if nearest := later[:1] or self.records.get(one, [])[-1:]:
                found[one] = nearest[0].timestamp
        return found

    def _is_read(self, one: KafkaPartition) -> bool:
        return one in self.ends and one not in self.unread

    def _start(self, one: KafkaPartition) -> int:
        records = self.records.get(one, [])
        return records[0].offset if records else self.ends[one]

    def _require(self, what: str) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error
