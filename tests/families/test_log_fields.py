"""How offsets of sinks and mirrors name positions in Kafka's partitions, and which topics they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.files.tables import rows

from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.ties import TopicFilter
from gitops_connect.model.kafka_logs import KafkaPartition
from gitops_connect.model.offsets import offset_text, partition_text

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PARTITION = KafkaPartition("orders", 3)


def fields(class_name: str, **config: str) -> LogFields:
    shape = BUILT_IN.shape({"connector.class": class_name, "topics": "orders", **config})
    assert shape is not None
    assert shape.log is not None
    return shape.log


def test_a_sink_stores_the_offset_of_the_next_record() -> None:
    log = fields(SINK)
    text = partition_text({"kafka_topic": "orders", "kafka_partition": 3})
    assert (log.text_of(PARTITION, {}), log.partition_of(text)) == (text, PARTITION)
    assert log.position(offset_text({"kafka_offset": 7})) == 7
    assert log.offset_at(0) == offset_text({"kafka_offset": 0})


def test_a_mirror_stores_the_offset_of_the_last_record() -> None:
    log = fields(MIRROR)
    text = partition_text({"cluster": "east", "topic": "orders", "partition": 3})
    assert (log.text_of(PARTITION, {"cluster": "east"}), log.partition_of(text)) == (text, PARTITION)
    assert log.position(offset_text({"offset": 7})) == 8
    assert log.offset_at(8) == offset_text({"offset": 7})
    assert log.offset_at(0) is None


@pytest.mark.parametrize("partition", [{"kafka_topic": 1, "kafka_partition": 0}, {"kafka_topic": "a"}, {}])
def test_another_partition_is_none_of_kafka(partition: dict[str, Any]) -> None:
    assert fields(SINK).partition_of(partition_text(partition)) is None


def test_an_offset_that_is_no_number_is_no_position() -> None:
    assert fields(SINK).position(offset_text({"kafka_offset": "7"})) is None
    assert fields(SINK).position(None) is None


@pytest.mark.parametrize(("config", "servers"), rows(__file__, "servers"))
def test_the_brokers_of_a_connector(config: Mapping[str, str], servers: str) -> None:
    assert fields(**{"class_name": SINK, **config}).bootstrap_servers(config) == servers


@pytest.mark.parametrize(("config", "expected"), rows(__file__, "topics"))
def test_the_topics_that_a_connector_reads(config: Mapping[str, str], expected: Mapping[str, bool | None]) -> None:
    config = {"connector.class": SINK, **config}
    shape = BUILT_IN.shape(config)
    assert shape is not None
    assert shape.log is not None
    filters = tuple(one for one in shape.ties(config).expectations if isinstance(one, TopicFilter))
    assert {topic: shape.log.reads(topic, filters, config) for topic in expected} == expected
