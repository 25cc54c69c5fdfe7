from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import expanded, new_shape, old_shape, resource, summaries
from support.files.tables import rows

from gitops_connect.model.diagnostics import Severity

MIRROR_TO_C = {"sourceCluster": "a", "targetCluster": "c", "sourceConnector": {}}


def with_cluster(cluster: dict[str, Any], *mirrors: dict[str, Any]) -> dict[str, Any]:
    spec = old_shape()
    return {**spec, "clusters": [*spec["clusters"], cluster], "mirrors": [*spec["mirrors"], *mirrors]}


@pytest.mark.parametrize(("cluster", "version", "valid"), rows(__file__, "the_target_must_be_the_connect_cluster"))
def test_the_target_must_be_the_connect_cluster(cluster: dict[str, Any], version: str, *, valid: bool) -> None:
    expansion = expanded(resource(with_cluster(cluster, MIRROR_TO_C), "v1beta2"), version)
    names = ["a->b.MirrorSourceConnector", "a->c.MirrorSourceConnector"]
    assert [one.name for one in expansion.connectors] == (names if valid else [])
    assert bool(expansion.diagnostics.errors) is not valid
    if not valid:
        assert sorted(expansion.blocked) == names
        assert expansion.complete


@pytest.mark.parametrize(("shape", "spec", "version", "problem"), rows(__file__, "invalid"))
def test_a_resource_that_strimzi_rejects(shape: str, spec: dict[str, Any], version: str, problem: str) -> None:
    document = resource(new_shape(**spec)) if shape == "new" else resource(old_shape(**spec), "v1beta2")
    expansion = expanded(document, version)
    assert expansion.connectors == ()
    assert [problem in item.summary for item in expansion.diagnostics.errors] == [True]


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


@pytest.mark.parametrize(("name", "complete"), [("target", False), ("replicas", True), ("mirrors", False)])
def test_required_parts_of_v1(name: str, *, complete: bool) -> None:
    expansion = expanded(resource({key: value for key, value in new_shape().items() if key != name}))
    assert [item.summary for item in expansion.diagnostics] == [f"spec.{name} is required"]
    assert expansion.complete is complete


@pytest.mark.parametrize(("api", "version", "problem"), rows(__file__, "api_versions"))
def test_api_versions(api: str, version: str, problem: str) -> None:
    expansion = expanded(resource(new_shape(), api), version)
    (error,) = expansion.diagnostics
    assert (error.rule, error.summary, error.location.line) == ("strimzi/api-version", problem, 2)
    assert not expansion.complete


@pytest.mark.parametrize(("connector", "problem", "hint"), rows(__file__, "types"))
def test_types(connector: dict[str, Any], problem: str, hint: str) -> None:
    expansion = expanded(resource(new_shape({"sourceConnector": connector})))
    (error,) = expansion.diagnostics.errors
    assert (error.rule, error.hint) == ("strimzi/invalid-field", hint)
    assert problem in error.summary
    assert error.location.line > 1
    assert list(expansion.blocked) == ["a->b.MirrorSourceConnector"]


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
