"""Reads a topic of a real broker as a consumer does that ignores aborted transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest


def committed_records(bootstrap: str, topic: str) -> list[bytes]:
    """The values of all committed records in the first partition."""
    return list(_read(bootstrap, topic))


def _read(bootstrap: str, topic: str) -> Iterator[bytes]:
    kafka = pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "committed-records",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "log_level": 0,
    }
    with closing(kafka.Consumer(config)) as consumer:
        consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        while message := consumer.poll(30):
            if message.error() is not None:
                assert message.error().code() == kafka.KafkaError._PARTITION_EOF, message.error()
                return
            yield message.value()
    raise AssertionError("the broker does not answer")
