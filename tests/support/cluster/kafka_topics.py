"""Topics of a real broker, with records of known times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import confluent_kafka as kafka
from confluent_kafka.admin import AdminClient, NewTopic

from support.waiting import await_that

FOREVER = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
"""Records with any time are accepted and kept."""


class Topics:
    """Creates topics, and writes records to their partition 0."""

    def __init__(self, bootstrap: str) -> None:
        self.config = {"bootstrap.servers": bootstrap, "log_level": 0}
        self.admin = AdminClient(self.config)

    def create(self, name: str, partitions: int = 1, replicas: int = 1, **config: str) -> None:
        own = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(name, partitions, replicas, config=FOREVER | own)
        self.admin.create_topics([new])[name].result()
        await_that(lambda: len(self.admin.list_topics(name, timeout=10).topics[name].partitions) == partitions)

    def write(self, name: str, times: Iterable[int], key: str | None = None) -> list[int]:
        """Write a record for each time, and return the times that the broker has stored."""
        stored: list[int] = []
        self.produce(kafka.Producer(self.config), name, times, stored, key)
        return stored

    def produce(
        self, producer: Any, name: str, times: Iterable[int], stored: list[int], key: str | None = None
    ) -> None:
        for time in times:
            producer.produce(
                name,
                b"record",
                key,
                0,
                timestamp=time,
                on_delivery=lambda error, message: stored.append(error or message.timestamp()[1]),
            )
        assert producer.flush(30) == 0

    def transaction(self, name: str, times: Iterable[int], *, end: str = "") -> Any:
        """Write the records in a transaction that is `commit`ted, `abort`ed or stays open; return the producer."""
        producer = kafka.Producer(self.config | {"transactional.id": f"{name}-{end}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        self.produce(producer, name, times, [])
        if end:
            getattr(producer, f"{end}_transaction")(30)
        return producer

    def delete_before(self, name: str, offset: int) -> None:
        partition = kafka.TopicPartition(name, 0, offset)
        self.admin.delete_records([partition])[partition].result()
