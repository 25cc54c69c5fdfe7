"""Kafka's connectors for files, FileStreamSource and FileStreamSink. `facts.yaml` has the facts."""

from __future__ import annotations

from gitops_connect.families.family import Config
from gitops_connect.families.kafka_use import KafkaUse
from gitops_connect.model.units import Unit

FILE_BYTES = Unit("file_bytes", "byte of the file", "bytes of the file", "file_bytes")


def topic_written(config: Config) -> KafkaUse:
    """A source writes the topic of its config."""
    return KafkaUse(topics=tuple(filter(None, [config.get("topic")])))
