"""The configs are those that `KafkaMirrorMaker2ConnectorsTest` of Strimzi expects for the same fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import (
    PLAINTEXT,
    PROTOCOLS,
    configs,
    expanded,
    new_shape,
    old_shape,
    resource,
    summaries,
)
from support.files.tables import rows

from gitops_connect.model.diagnostics import Severity

PATTERNS = {
    "topicsPattern": "orders-.*",
    "topicsExcludePattern": "orders-old-.*",
    "groupsPattern": "team-.*",
    "groupsExcludePattern": "team-test-.*",
}
PATTERN_KEYS = {
    "topics": "orders-.*",
    "topics.exclude": "orders-old-.*",
    "groups": "team-.*",
    "groups.exclude": "team-test-.*",
}
SHAPES = [
    ("v1", new_shape, "1.2"),
    ("v1", new_shape, "0.49"),
    ("v1beta2", new_shape, "0.51"),
    ("v1beta2", old_shape, "1.2"),
    ("v1beta2", old_shape, "0.45"),
    ("v1alpha1", old_shape, "0.51"),
]


@pytest.mark.parametrize(("api", "shape", "version"), SHAPES)
def test_all_shapes_declare_the_same_connectors(api: str, shape: Any, version: str) -> None:
    mirror = {
        "sourceConnector": {"tasksMax": 5, "config": {"sync.topic.acls.enabled": "false"}},
        "checkpointConnector": {"tasksMax": 3, "config": {"sync.group.offsets.enabled": True}},
        **PATTERNS,
    }
    expansion = expanded(resource(shape(mirror), api), version)
    source, checkpoint = expansion.connectors
    assert len(expansion.diagnostics) == 0
    assert source.name == "a->b.MirrorSourceConnector"
    assert source.connector_class == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert source.config == {**PLAINTEXT, **PATTERN_KEYS, "sync.topic.acls.enabled": "false"}
    assert checkpoint.name == "a->b.MirrorCheckpointConnector"
    assert checkpoint.connector_class == "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
    assert checkpoint.config == {**PLAINTEXT, **PATTERN_KEYS, "sync.group.offsets.enabled": True}
    assert (source.tasks_max, checkpoint.tasks_max) == (5, 3)


def test_a_connector_exists_if_its_field_is_present() -> None:
    mirror = {"sourceConnector": {}, "checkpointConnector": None, "heartbeatConnector": {"tasksMax": None}}
    names = [one.name for one in expanded(resource(old_shape(mirror), "v1beta2")).connectors]
    assert names == ["a->b.MirrorSourceConnector", "a->b.MirrorHeartbeatConnector"]
    assert expanded(resource(old_shape({}), "v1beta2")).connectors == ()


def test_v1_has_no_heartbeat_connector() -> None:
    expansion = expanded(resource(new_shape({"heartbeatConnector": {}, "sourceConnector": {}})))
    assert [one.name for one in expansion.connectors] == ["a->b.MirrorSourceConnector"]
    (warning,) = expansion.diagnostics
    assert warning.rule == "strimzi/ignored-field"


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


@pytest.mark.parametrize(("version", "protocol"), [("0.48", "PLAINTEXT"), ("0.49", "XXX"), ("1.2", "XXX")])
def test_the_connector_config_wins_over_the_clusters_since_049(version: str, protocol: str) -> None:
    mirror = {"sourceConnector": {"config": dict.fromkeys(PROTOCOLS, "XXX")}}
    config = configs(resource(old_shape(mirror), "v1beta2"), version)["SourceConnector"]
    assert [config[key] for key in PROTOCOLS] == [protocol, protocol]


@pytest.mark.parametrize("version", ["0.45", "0.51"])
def test_the_patterns_win_over_the_connector_config(version: str) -> None:
    mirror = {"sourceConnector": {"config": {"topics": "mine", "groups": "mine"}}, "topicsPattern": "theirs"}
    config = configs(resource(old_shape(mirror), "v1beta2"), version)["SourceConnector"]
    assert (config["topics"], config["groups"]) == ("theirs", "mine")


@pytest.mark.parametrize(("mirror", "version", "keys"), rows(__file__, "excluded_topics_and_groups"))
def test_excluded_topics_and_groups(mirror: dict[str, str], version: str, keys: list[str]) -> None:
    config = configs(resource(old_shape({"sourceConnector": {}, **mirror}), "v1beta2"), version)["SourceConnector"]
    assert [config[key] for key in keys] == ["t", "g"]
    others = {"topics.blacklist", "topics.exclude", "groups.blacklist", "groups.exclude"} - set(keys)
    assert not others & config.keys()


def test_the_new_pattern_wins_over_the_old_one() -> None:
    mirror = {"sourceConnector": {}, "topicsExcludePattern": "new", "topicsBlacklistPattern": "old"}
    document = resource(old_shape(mirror), "v1beta2")
    assert configs(document)["SourceConnector"]["topics.exclude"] == "new"
    assert summaries(document) == [
        "spec.mirrors[0].topicsBlacklistPattern is ignored: topicsExcludePattern is also set"
    ]


@pytest.mark.parametrize(("version", "written"), [("0.39", False), ("0.40", True), ("1.2", True)])
def test_plaintext_is_written_since_040(version: str, *, written: bool) -> None:
    config = configs(resource(old_shape(), "v1beta2"), version)["SourceConnector"]
    assert [key in config for key in PROTOCOLS] == [written, written]


@pytest.mark.parametrize(("version", "sent"), [("0.48", True), ("0.49", False), ("1.2", False)])
def test_the_keys_of_the_worker_are_sent_until_048(version: str, *, sent: bool) -> None:
    topics = [f"{name}.storage.topic" for name in ("config", "offset", "status")]
    worker = dict.fromkeys(("group.id", *topics), "x")
    target = {"config": {**worker, "config.storage.replication.factor": -1}}
    config = configs(resource(old_shape(target=target), "v1beta2"), version)["SourceConnector"]
    assert config["target.cluster.config.storage.replication.factor"] == -1
    assert [f"target.cluster.{key}" in config for key in worker] == [sent] * 4


def test_the_config_of_a_cluster_wins_over_its_fields_and_is_not_filtered() -> None:
    source = {"config": {"security.protocol": "SSL", "bootstrap.servers": "x:1", "name": "n"}}
    config = configs(resource(new_shape(source=source)))["SourceConnector"]
    assert config["source.cluster.security.protocol"] == "SSL"
    assert config["source.cluster.bootstrap.servers"] == "x:1"
    assert config["source.cluster.name"] == "n"


@pytest.mark.parametrize(("version", "copied"), [("0.22", True), ("0.23", False), ("1.2", False)])
def test_unknown_fields_reach_the_config_only_with_the_oldest_crds(version: str, *, copied: bool) -> None:
    document = resource(old_shape({"sourceConnector": {}, "x.y": "1"}, source={"z": "2"}), "v1beta2")
    config = configs(document, version)["SourceConnector"]
    assert [config.get("x.y"), config.get("z")] == (["1", "2"] if copied else [None, None])
    rules = [item.rule for item in expanded(document, version).diagnostics]
    assert rules == ([] if copied else ["strimzi/unknown-field"] * 2)


@pytest.mark.parametrize(("kind", "version", "package"), rows(__file__, "tracing_replaces_interceptors"))
def test_tracing_replaces_interceptors(kind: str, version: str, package: str | None) -> None:
    mirror = {"sourceConnector": {"config": {"consumer.interceptor.classes": "mine"}}}
    document = resource(old_shape(mirror, tracing={"type": kind}), "v1beta2")
    config = configs(document, version)["SourceConnector"]
    consumer = f"{package}.TracingConsumerInterceptor" if package else "mine"
    producer = f"{package}.TracingProducerInterceptor" if package else None
    assert config.get("consumer.interceptor.classes") == consumer
    assert config.get("producer.interceptor.classes") == producer
    assert len(summaries(document, version)) == (package is None)


@pytest.mark.parametrize(("version", "declared", "provider"), rows(__file__, "rack"))
def test_rack(version: str, provider: str | None, *, declared: bool) -> None:
    rack = {"rack": {"topologyKey": "topology.kubernetes.io/zone"}} if declared else {}
    config = configs(resource(old_shape(**rack), "v1beta2"), version)["SourceConnector"]
    expected = f"${{{provider}:/tmp/strimzi-connect.properties:consumer.client.rack}}" if provider else None
    assert config.get("consumer.client.rack") == expected


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


def test_the_metrics_reporter_of_047_is_only_for_the_worker() -> None:
    document = resource(old_shape(metricsConfig={"type": "strimziMetricsReporter"}), "v1beta2")
    assert configs(document, "0.47")["SourceConnector"] == PLAINTEXT


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


def test_replicas_zero_is_a_warning() -> None:
    (warning,) = expanded(resource(new_shape() | {"replicas": 0})).diagnostics
    assert (warning.severity, warning.rule) == (Severity.WARNING, "strimzi/ignored-field")
