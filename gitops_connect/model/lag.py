"""How far connectors are behind the ends of the Kafka partitions that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import PartitionText


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The end of a partition, the records that are not read yet, and when the first of them was written, if known."""

    end: int
    records: int
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """What a connector reads next in a partition, its end, and the records between them.

    `moved` is the difference to the position in the measurement before; None if that one did not have it.
    """

    partition: PartitionText
    position: int
    end: int
    records: int
    moved: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectorLag:
    """The records that a connector has not read yet, as they were counted at `measured`.

    `worst` is the partition with the most of them, and `since` is when the first of them was written; None: unknown.
    `unread` partitions could not be read, and are not counted. Of those that are `counted`, `partitions` are the ones
    with the most unread records, the worst first. `before` is the time of the measurement before; None: there is none.
    """

    records: int
    worst: KafkaPartition | None
    worst_records: int
    since: datetime | None
    unread: int
    measured: datetime
    counted: int = 0
    partitions: tuple[PartitionReading, ...] = field(default=(), repr=False)
    before: datetime | None = None

    def after(self, before: ConnectorLag | None) -> ConnectorLag:
        """This measurement, with the difference of each partition to the one before."""
        if before is None:
            return self
        known = {one.partition: one.position for one in before.partitions}
        moved = (
            replace(one, moved=one.position - known[one.partition]) if one.partition in known else one
            for one in self.partitions
        )
        return replace(self, partitions=tuple(moved), before=before.measured)

    @property
    def age(self) -> timedelta | None:
        """How long the first unread record of the worst partition waits; None: unknown."""
        if self.worst is None:
            return timedelta()
        return None if self.since is None else max(self.measured - self.since, timedelta())

    def value(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "worst_partition": None if self.worst is None else f"{self.worst.topic}/{self.worst.partition}",
            "worst_partition_records": self.worst_records,
            "seconds": None if self.age is None else round(self.age.total_seconds(), 3),
            "unread_partitions": self.unread,
            "measured": self.measured.isoformat(timespec="seconds"),
        }


Lags = Mapping[ConnectorName, ConnectorLag]
