from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import expanded, new_shape, old_shape, resource
from support.files.tables import rows

SHAPES = {"new": new_shape, "old": old_shape}
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


@pytest.mark.parametrize(("connector", "problem", "hint"), rows(__file__, "types"))
def test_types(connector: dict[str, Any], problem: str, hint: str) -> None:
    expansion = expanded(resource(new_shape({"sourceConnector": connector})))
    (error,) = expansion.diagnostics.errors
    assert (error.rule, error.hint) == ("strimzi/invalid-field", hint)
    assert problem in error.summary
    assert error.location.line > 1
    assert list(expansion.blocked) == ["a->b.MirrorSourceConnector"]


@pytest.mark.parametrize("row", rows(__file__, "resources"), ids=lambda row: row["case"])
def test_the_connectors_and_the_problems_of_a_resource(row: dict[str, Any]) -> None:
    spec = row["whole"] if "whole" in row else SHAPES[row["shape"]](**row.get("spec", {}))
    without = row.get("without")
    spec = {key: value for key, value in spec.items() if key != without} if without else spec
    document = resource(
        spec, row.get("api", "v1" if row.get("shape") == "new" else "v1beta2"), row.get("namespace", "kafka")
    )
    expansion = expanded(document, row.get("version", "1.2"))
    assert [one.name for one in expansion.connectors] == row.get("connectors", [])
    assert expansion.complete is row.get("complete", True)
    found = [
        f"{item.location.line}: {item.severity.value}: {item.summary} [{item.rule}] {item.hint}"
        for item in expansion.diagnostics
    ]
    assert len(found) == len(row.get("problems", [])), found
    for problem, expected in zip(found, row.get("problems", []), strict=True):
        assert all(text in problem for text in ([expected] if isinstance(expected, str) else expected)), problem
