"""How the offsets of a class name positions in Kafka's partitions: those of sinks and of mirrors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gitops_connect.families.ties import TopicFilter
from gitops_connect.model.kafka_logs import KafkaPartition, LogRange
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text

_INTERNAL = re.compile("__consumer_offsets|__transaction_state")
"""Topics that a consumer with a pattern never reads (`exclude.internal.topics`)."""


@dataclass(frozen=True, slots=True)
class LogFields:
    """The fields of a partition and an offset that name a position in a Kafka partition.

    A position is the offset of the next record to read. `is_last`: the connector stores the offset of the last record
    that it has read instead. `servers` are the config keys that may name the brokers, and `isolation` those of the
    isolation level; the first that is set counts.
    `excluded` returns the topics that a connector of a config does not read although its filter admits them.
    """

    topic: str
    partition: str
    offset: str
    is_last: bool = False
    servers: tuple[str, ...] = ()
    isolation: tuple[str, ...] = ()
    excluded: Callable[[Mapping[str, str]], re.Pattern[str] | None] | None = None

    def partition_of(self, text: PartitionText) -> KafkaPartition | None:
        value = json.loads(text)
        topic, number = value.get(self.topic), value.get(self.partition)
        return KafkaPartition(topic, number) if isinstance(topic, str) and type(number) is int else None

    def text_of(self, partition: KafkaPartition, others: Mapping[str, str]) -> PartitionText:
        """The partition as the connector stores it. `others` are its further fields."""
        return partition_text({**others, self.topic: partition.topic, self.partition: partition.partition})

    def position(self, offset: OffsetText | None) -> int | None:
        """None if there is no offset, or if it is not a number."""
        number = None if offset is None else json.loads(offset).get(self.offset)
        return number + self.is_last if type(number) is int else None

    def offset_at(self, position: int) -> OffsetText | None:
        """None if the connector stores no offset for a position before the first record that it has read."""
        number = position - self.is_last
        return offset_text({self.offset: number}) if number >= 0 else None

    def bootstrap_servers(self, config: Mapping[str, str]) -> str:
        """Empty: those of the workers."""
        return _first(self.servers, config)

    def reads_committed(self, config: Mapping[str, str]) -> bool:
        """Whether the connector waits for the end of transactions in progress."""
        return _first(self.isolation, config) == "read_committed"

    def reads(self, topic: str, filters: tuple[TopicFilter, ...], config: Mapping[str, str]) -> bool | None:
        """Whether a connector with that config and these filters reads the topic; None: that is not known."""
        if not filters:
            return None
        if not all(one.admits(topic) for one in filters):
            return False
        if self.excluded is None:  # a sink reads every topic that its config lists
            return any(one.values is not None for one in filters) or not _INTERNAL.fullmatch(topic)
        excluded = self.excluded(config)
        return None if excluded is None else not excluded.fullmatch(topic)


def _first(keys: tuple[str, ...], config: Mapping[str, str]) -> str:
    return next((value for key in keys if (value := config.get(key, "").strip())), "")


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the brokers say of the partitions of one connector.

    `ranges` are the records that exist, and `times` the times in milliseconds since 1970 at which the records at some
    positions were written.
    """

    ranges: Mapping[PartitionText, LogRange] = field(default_factory=dict)
    times: Mapping[tuple[PartitionText, int], int] = field(default_factory=dict)


NO_LOGS = LogFacts()
"""No broker was asked."""
