from __future__ import annotations

from typing import Any

import pytest
from support.files.mirror_resources import expanded, new_shape, old_shape, resource
from support.files.tables import rows

SHAPES = {"new": new_shape, "old": old_shape}


@pytest.mark.parametrize("row", rows(__file__, "resources"), ids=lambda row: row.get("case") or row["problems"][0])
def test_the_connectors_and_the_problems_of_a_resource(row: dict[str, Any]) -> None:
    spec = row["whole"] if "whole" in row else SHAPES[row["shape"]](**row.get("spec", {}))
    without = row.get("without")
    spec = {key: value for key, value in spec.items() if key != without} if without else spec
    document = resource(
        spec, row.get("api", "v1" if row.get("shape") == "new" else "v1beta2"), row.get("namespace", "kafka")
    )
    expansion = expanded(document, row.get("version", "1.2"))
    assert [one.name for one in expansion.connectors] == row.get("connectors", [])
    assert sorted(expansion.blocked) == row.get("blocked", [])
    assert expansion.complete is row.get("complete", True)
    found = [
        f"{item.location.line}: {item.severity.value}: {item.summary} [{item.rule}] {item.hint}"
        for item in expansion.diagnostics
    ]
    assert len(found) == len(row.get("problems", [])), found
    for problem, expected in zip(found, row.get("problems", []), strict=True):
        assert all(text in problem for text in ([expected] if isinstance(expected, str) else expected)), problem
