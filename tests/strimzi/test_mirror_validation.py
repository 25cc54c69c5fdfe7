from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import SOURCE, TARGET, expanded, new_shape, old_shape, resource, summaries

from gitops_connect.model.diagnostics import Severity

OTHER = {"alias": "c", "bootstrapServers": "c:9092"}
ALSO_B = {"alias": "c", "bootstrapServers": "b:9092"}
MIRROR_TO_C = {"sourceCluster": "a", "targetCluster": "c", "sourceConnector": {}}


def with_cluster(cluster: dict[str, Any], *mirrors: dict[str, Any]) -> dict[str, Any]:
    spec = old_shape()
    return {**spec, "clusters": [*spec["clusters"], cluster], "mirrors": [*spec["mirrors"], *mirrors]}


@pytest.mark.parametrize(
    ("cluster", "version", "valid"),
    [
        (OTHER, "0.40", True),
        (OTHER, "0.41", False),
        (ALSO_B, "0.43", False),
        (OTHER, "0.44", False),
        (ALSO_B, "0.44", True),
        (ALSO_B, "0.48", True),
        (ALSO_B, "0.49", False),
    ],
)
def test_the_target_must_be_the_connect_cluster(cluster: dict[str, Any], version: str, *, valid: bool) -> None:
    expansion = expanded(resource(with_cluster(cluster, MIRROR_TO_C), "v1beta2"), version)
    names = ["a->b.MirrorSourceConnector", "a->c.MirrorSourceConnector"]
    assert [one.name for one in expansion.connectors] == (names if valid else [])
    assert bool(expansion.diagnostics.errors) is not valid
    if not valid:
        assert sorted(expansion.blocked) == names
        assert expansion.complete


@pytest.mark.parametrize(
    ("spec", "version", "problem"),
    [
        (
            old_shape() | {"connectCluster": "x"},
            "0.45",
            "spec.connectCluster must be an alias of spec.clusters, found 'x'",
        ),
        (
            old_shape() | {"connectCluster": "x"},
            "0.49",
            "spec.connectCluster must be an alias of spec.clusters, found 'x'",
        ),
        (old_shape({"sourceCluster": "x"}), "0.45", "spec.mirrors[0].sourceCluster must be an alias of spec.clusters"),
        (old_shape({"sourceCluster": "x"}), "0.49", "spec.mirrors[0].sourceCluster must be an alias of spec.clusters"),
        (old_shape({"sourceCluster": None}), "0.45", "spec.mirrors[0].sourceCluster is required"),
        (old_shape({"sourceCluster": None}), "0.49", "spec.mirrors[0].source is required, or sourceCluster"),
        (old_shape({"targetCluster": None}), "0.45", "spec.mirrors[0].targetCluster is required"),
        (old_shape({"targetCluster": "a"}), "0.49", "must be the alias of the target cluster ('b'), found 'a'"),
        (old_shape() | {"mirrors": []}, "0.49", "spec.mirrors must have at least one mirror"),
        (old_shape() | {"mirrors": None}, "0.45", "spec.mirrors is required"),
        (old_shape() | {"clusters": []}, "0.49", "spec.target is required, or spec.connectCluster and spec.clusters"),
        (with_cluster(SOURCE), "0.45", "spec.clusters[2].alias must be unique: 'a' is used more than once"),
        (with_cluster({"bootstrapServers": "c:1"}), "0.45", "spec.clusters[2].alias is required"),
        (old_shape(source={"alias": "a/b"}), "0.45", "spec.clusters[0].alias must match [a-zA-Z0-9._\\-]{1,100}"),
    ],
)
def test_invalid_old_shape(spec: dict[str, Any], version: str, problem: str) -> None:
    expansion = expanded(resource(spec, "v1beta2"), version)
    assert expansion.connectors == ()
    assert problem in " ".join(item.summary for item in expansion.diagnostics.errors)


def test_a_target_is_not_needed_in_a_mirror_since_049() -> None:
    assert len(expanded(resource(old_shape({"sourceConnector": {}, "targetCluster": None}), "v1beta2")).connectors) == 1


def test_the_same_connector_twice_is_an_error_before_049_and_the_same_source_twice_later() -> None:
    twice = old_shape()
    twice["mirrors"] = [*twice["mirrors"], {**twice["mirrors"][0], "topicsPattern": "x"}]
    assert "more than once" in summaries(resource(twice, "v1beta2"), "0.48")[0]
    assert "must be unique: 'a'" in summaries(resource(twice, "v1beta2"), "0.49")[0]
    apart = {
        **twice,
        "mirrors": [
            twice["mirrors"][0],
            {**MIRROR_TO_C, "targetCluster": "b", "sourceConnector": None, "checkpointConnector": {}},
        ],
    }
    assert len(expanded(resource(apart, "v1beta2"), "0.48").connectors) == 2


REQUIRED = [f"spec.target.{name}" for name in TARGET] + [
    "spec.mirrors[0].source.alias",
    "spec.mirrors[0].source.bootstrapServers",
]


@pytest.mark.parametrize("missing", REQUIRED)
def test_required_fields_of_v1(missing: str) -> None:
    *_, name = missing.split(".")
    changed = {"target": {name: None}} if missing.startswith("spec.target") else {"source": {name: None}}
    assert summaries(resource(new_shape(**changed))) == [f"{missing} is required"]


@pytest.mark.parametrize(("name", "complete"), [("target", False), ("replicas", True), ("mirrors", False)])
def test_required_parts_of_v1(name: str, *, complete: bool) -> None:
    expansion = expanded(resource({key: value for key, value in new_shape().items() if key != name}))
    assert [item.summary for item in expansion.diagnostics] == [f"spec.{name} is required"]
    assert expansion.complete is complete


def test_aliases_are_unique_in_v1() -> None:
    assert "must be unique: 'b'" in summaries(resource(new_shape(source={"alias": "b"})))[0]


@pytest.mark.parametrize(
    ("api", "version", "problem"),
    [
        ("v1", "0.48", "Strimzi 0.48 does not read API version v1 of KafkaMirrorMaker2"),
        ("v2", "1.2", "the API version 'v2' of KafkaMirrorMaker2 is unknown"),
    ],
)
def test_api_versions(api: str, version: str, problem: str) -> None:
    expansion = expanded(resource(new_shape(), api), version)
    (error,) = expansion.diagnostics
    assert (error.rule, error.summary, error.location.line) == ("strimzi/api-version", problem, 2)
    assert not expansion.complete


@pytest.mark.parametrize(
    ("connector", "problem", "hint"),
    [
        ({"tasksMax": "2"}, "sourceConnector.tasksMax must be of type integer, found a string", ""),
        ({"tasksMax": 0}, "sourceConnector.tasksMax must be at least 1, found 0", ""),
        ({"tasksMax": True}, "sourceConnector.tasksMax must be of type integer, found a boolean", ""),
        ({"state": "Paused"}, "sourceConnector.state must be running, paused or stopped, found 'Paused'", ""),
        ({"version": 4}, "sourceConnector.version must be of type string, found a number", "quote it"),
        ({"config": []}, "sourceConnector.config must be of type object, found a list", ""),
        ({"listOffsets": {}}, "sourceConnector.listOffsets.toConfigMap is required", ""),
    ],
)
def test_types(connector: dict[str, Any], problem: str, hint: str) -> None:
    expansion = expanded(resource(new_shape({"sourceConnector": connector})))
    (error,) = expansion.diagnostics.errors
    assert (error.rule, error.hint) == ("strimzi/invalid-field", hint)
    assert problem in error.summary
    assert error.location.line > 1
    assert list(expansion.blocked) == ["a->b.MirrorSourceConnector"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (new_shape(rack={"type": "environment-variable", "envVarName": ""}), "spec.rack.envVarName is required"),
        (new_shape(rack={"type": "topology-label", "topologyKey": ""}), "spec.rack.topologyKey is required"),
        (new_shape(metricsConfig={"type": "jmxPrometheusExporter"}), "spec.metricsConfig.valueFrom is required"),
        (new_shape(tracing={"type": "jaeger"}), "spec.tracing.type must be opentelemetry, found 'jaeger'"),
        (
            new_shape(source={"tls": {"trustedCertificates": [{"secretName": "s"}]}}),
            "must have either certificate or pattern",
        ),
        (new_shape() | {"mirrors": [1]}, "spec.mirrors[0] must be of type object, found a number"),
    ],
)
def test_rules_of_the_crd(spec: dict[str, Any], problem: str) -> None:
    errors = expanded(resource(spec)).diagnostics.errors
    assert problem in errors[0].summary


def test_unknown_fields_are_warnings_with_a_suggestion() -> None:
    document = resource(new_shape({"sourceConnector": {"taskMax": 2}, "sourceConector": {}}) | {"futureField": 1})
    expansion = expanded(document)
    assert [one.name for one in expansion.connectors] == ["a->b.MirrorSourceConnector"]
    assert {item.severity for item in expansion.diagnostics} == {Severity.WARNING}
    assert [item.hint for item in expansion.diagnostics] == [
        "write tasksMax",
        "write sourceConnector",
        "correct or remove it",
    ]


@pytest.mark.parametrize("spec", [None, [], {"mirrors": {}}, {"mirrors": [{"sourceConnector": {}}]}])
def test_what_cannot_be_named_is_not_complete(spec: Any) -> None:
    expansion = expanded(resource(spec))
    assert expansion.diagnostics.errors
    assert not expansion.complete
