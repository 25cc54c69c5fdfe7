"""The configs are those that `KafkaMirrorMaker2ConnectorsTest` of Strimzi expects for the same fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import (
    PLAINTEXT,
    configs,
    expanded,
    new_shape,
    old_shape,
    resource,
    summaries,
)
from support.files.tables import rows

from gitops_connect.strimzi.connector_document import with_worker_converters

PATTERNS = {
    "topicsPattern": "orders-.*",
    "topicsExcludePattern": "orders-old-.*",
    "groupsPattern": "team-.*",
    "groupsExcludePattern": "team-test-.*",
}
PATTERN_KEYS = dict(zip(("topics", "topics.exclude", "groups", "groups.exclude"), PATTERNS.values(), strict=True))
SHAPES = {"new": new_shape, "old": old_shape}


@pytest.mark.parametrize(("api", "shape", "version"), rows(__file__, "shapes"))
def test_all_shapes_declare_the_same_connectors(api: str, shape: str, version: str) -> None:
    mirror = {
        "sourceConnector": {"tasksMax": 5, "config": {"sync.topic.acls.enabled": "false"}},
        "checkpointConnector": {"tasksMax": 3, "config": {"sync.group.offsets.enabled": True}},
        **PATTERNS,
    }
    expansion = expanded(resource(SHAPES[shape](mirror), api), version)
    source, checkpoint = expansion.connectors
    assert len(expansion.diagnostics) == 0
    assert source.name == "a->b.MirrorSourceConnector"
    assert source.connector_class == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert source.config == {**PLAINTEXT, **PATTERN_KEYS, "sync.topic.acls.enabled": "false"}
    assert checkpoint.name == "a->b.MirrorCheckpointConnector"
    assert checkpoint.connector_class == "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
    assert checkpoint.config == {**PLAINTEXT, **PATTERN_KEYS, "sync.group.offsets.enabled": True}
    assert (source.tasks_max, checkpoint.tasks_max) == (5, 3)


def test_several_sources() -> None:
    spec = new_shape({"sourceConnector": {}, "topicsPattern": "x"})
    other = {"source": {"alias": "c", "bootstrapServers": "c:9092"}, "sourceConnector": {}}
    first, second = expanded(resource({**spec, "mirrors": [*spec["mirrors"], other]})).connectors
    assert (first.name, second.name) == ("a->b.MirrorSourceConnector", "c->b.MirrorSourceConnector")
    assert second.config == {
        **PLAINTEXT,
        "source.cluster.alias": "c",
        "source.cluster.bootstrap.servers": "c:9092",
    }


@pytest.mark.parametrize(("spec", "version", "expected", "warnings"), rows(__file__, "configs"))
def test_the_config_of_each_version(
    spec: dict[str, Any], version: str, expected: dict[str, str | None], warnings: list[str]
) -> None:
    document = resource(old_shape(**spec), "v1beta2")
    config = configs(document, version)["SourceConnector"]
    assert {key: config.get(key) for key in expected} == expected
    assert summaries(document, version) == warnings


@pytest.mark.parametrize(("version", "own", "reporters"), rows(__file__, "metrics_reporter"))
def test_metrics_reporter(version: str, own: str | None, reporters: str) -> None:
    mirror = {"sourceConnector": {"config": {"metric.reporters": own} if own else {}}}
    metrics = {"metricsConfig": {"type": "strimziMetricsReporter"}}
    new = version.startswith("1")
    document = resource((new_shape if new else old_shape)(mirror, **metrics), "v1" if new else "v1beta2")
    config = configs(document, version)["SourceConnector"]
    assert config == {
        **PLAINTEXT,
        "metric.reporters": reporters,
        "prometheus.metrics.reporter.listener.enable": "false",
    }


@pytest.mark.parametrize(("connector", "version", "state"), rows(__file__, "state"))
def test_state(connector: dict[str, Any], version: str, state: str) -> None:
    document = resource(old_shape({"sourceConnector": connector}), "v1beta2")
    (found,) = expanded(document, version).connectors
    assert found.state == state
    assert len(summaries(document, version)) == (len(connector) == 2)


def test_the_other_fields_of_a_connector() -> None:
    connector = {
        "version": "[4.0,)",
        "autoRestart": {"enabled": False, "maxRestarts": 4},
        "listOffsets": {"toConfigMap": {"name": "listed"}},
        "alterOffsets": {"fromConfigMap": {"name": "altered"}},
    }
    (found,) = expanded(resource(new_shape({"sourceConnector": connector}))).connectors
    assert found.version == "[4.0,)"
    assert found.auto_restart == {"enabled": False, "maxRestarts": 4}
    assert (found.list_offsets, found.alter_offsets) == ("listed", "altered")
    assert found.config == PLAINTEXT
    (before,) = expanded(resource(old_shape({"sourceConnector": connector}), "v1beta2"), "0.32").connectors
    assert (before.version, before.auto_restart, before.list_offsets, before.alter_offsets) == (None, None, None, None)


def test_each_key_has_the_field_that_it_comes_from() -> None:
    mirror = {"sourceConnector": {"config": {"refresh.topics.interval.seconds": 5}}, "topicsPattern": "x"}
    document = resource(new_shape(mirror, target={"config": {"retries": 3}}, tracing={"type": "opentelemetry"}))
    (found,) = expanded(document).connectors
    assert found.pointer == ("spec", "mirrors", 0, "sourceConnector")
    assert found.places["target.cluster.retries"] == ("spec", "target", "config", "retries")
    assert found.places["source.cluster.alias"] == ("spec", "mirrors", 0, "source", "alias")
    assert found.places["topics"] == ("spec", "mirrors", 0, "topicsPattern")
    assert found.places["producer.interceptor.classes"] == ("spec", "tracing")
    assert "refresh.topics.interval.seconds" not in found.places
    assert all(place in document.positions for place in found.places.values())


def test_converters_of_the_connector_and_of_the_target_are_kept_and_the_others_are_of_bytes() -> None:
    mirror = {"sourceConnector": {"config": {"key.converter": "com.example.Mine"}}}
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": False}
    document = resource(new_shape(mirror, target={"config": {**json, "value.converters": "x"}}))
    (connector,) = expanded(document).connectors
    added = with_worker_converters(connector)
    header = {"header.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    assert added.config == {**connector.config, **json, **header}
    assert added.config["key.converter"] == "com.example.Mine"
    assert added.places["value.converter"] == ("spec", "target", "config", "value.converter")
    assert added.places["header.converter"] == connector.pointer
