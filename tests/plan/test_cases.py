"""Each file in cases/plan contains a situation and the plan that is expected for it. A new case is a new file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from situations import seen, situation, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Policy

CASES = sorted((Path(__file__).parents[1] / "cases" / "plan").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = yaml.safe_load(path.read_text())
    given, expected = case["given"], case["expect"]
    made = plan(
        situation(
            [wanted(name, **_fields(fields)) for name, fields in given.get("desired", {}).items()],
            [seen(name, **_fields(fields)) for name, fields in given.get("observed", {}).items()],
            owned=given.get("owned", ()),
            version=given.get("version", "4.3.1"),
            policy=Policy(**given.get("policy", {})),
            held=map(ConnectorName, given.get("held", ())),
            unknown=map(ConnectorName, given.get("unknown", ())),
            complete=given.get("complete", True),
            invalid=frozenset(map(ConnectorName, given.get("invalid", ()))),
        )
    )
    steps = [
        " ".join([step.connector, step.action.value, *([step.initial_state.value] if step.initial_state else [])])
        + f": {step.reason}"
        for step in made.steps
    ]
    assert steps == expected.get("steps", [])
    assert {one.name: list(one.notes) for one in made.connectors if one.notes} == expected.get("notes", {})
    suspended = {one.name: one.suspension.words for one in made.connectors if one.suspension is not None}
    assert suspended == expected.get("suspended", {})
    assert {one.name: list(one.problems) for one in made.unhealthy} == expected.get("unhealthy", {})
    assert list(made.warnings) == expected.get("warnings", [])
    effects = {
        f"{step.connector} {step.action.value}": [one.message for one in step.offset_effects]
        for step in made.steps
        if step.offset_effects
    }
    assert effects == expected.get("offset_effects", effects), "a case that says nothing of effects is about the steps"
    assert made.complete is expected.get("complete", True)
    for collection in ("adopted", "forgotten", "unmanaged"):
        assert list(getattr(made, collection)) == expected.get(collection, [])


def _fields(fields: dict[str, Any] | None) -> dict[str, Any]:
    return fields or {}


def test_there_are_cases() -> None:
    assert len(CASES) > 20
