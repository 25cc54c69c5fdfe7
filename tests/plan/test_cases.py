"""Each file in cases/plan contains a situation and the plan that is expected for it. A new case is a new file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.files.goldens import assert_golden
from support.files.tables import read_yaml
from support.planner.situations import said, situation_of, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import ReviewedPlan, ReviewMode, Reviews
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.situation import Situation

CASES = sorted((Path(__file__).parents[1] / "cases" / "plan").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    expected = _read(path)["expect"]
    made = _plan(path)
    steps = [
        " ".join([step.connector, step.action.value, *([step.initial_state.value] if step.initial_state else [])])
        + f": {step.reason}"
        for step in made.steps
    ]
    assert steps == expected.get("steps", [])
    assert {one.name: list(said(one)) for one in made.connectors if said(one)} == expected.get("notes", {})
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
    assert [one.name for one in made.connectors if one.out_of_sync] == expected.get("out_of_sync", [])
    for collection in ("adopted", "forgotten", "unmanaged"):
        assert list(getattr(made, collection)) == expected.get(collection, [])


def test_the_digests_are_those_of_the_last_release() -> None:
    """A saved plan and an approval contain the digest of their plan, a saved plan the fingerprint too."""
    made = {path.stem: _plan(path) for path in CASES}
    digests = {name: {"digest": one.digest, "fingerprint": one.fingerprint} for name, one in made.items()}
    effect = "a plan whose digest has changed is no longer the one that was saved or approved: say so in CHANGELOG.md; "
    assert_golden("digests.yaml", yaml.safe_dump(digests), effect)


def _read(path: Path) -> Any:
    return read_yaml(path)


def _plan(path: Path) -> Plan:
    given = _read(path)["given"]
    return plan(_reviewed(_situation(given), **given.get("review", {})))


def _situation(given: dict[str, Any]) -> Situation:
    made = situation_of({name: value for name, value in given.items() if name not in ("applied", "review")})
    return replace(made, ownership={**made.ownership, **dict(_applied(made, given.get("applied", {})))})


def _applied(made: Situation, secrets: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[ConnectorName, Ownership]]:
    """Managed connectors whose last applied secrets have these values."""
    for name, values in secrets.items():
        record = remember(made, wanted(name, config=values), Origin.CREATED, made.now)
        yield record.connector, replace(record, desired=None)


def _reviewed(
    before: Situation, mode: str = "auto", shown: Sequence[str] = (), approved: Sequence[str] = ()
) -> Situation:
    """With a pull request whose plan is this one, as far as it concerns the connectors that were shown or approved."""
    whole = reviewed_plan(7, before.revision, [plan(before)])

    def only(names: Sequence[str]) -> tuple[ReviewedPlan, ...]:
        found = {name: one for name, one in whole.connectors[before.desired.cluster].items() if name in names}
        return (replace(whole, connectors={before.desired.cluster: found}),)

    return replace(before, reviews=Reviews(ReviewMode(mode), only(shown), only(approved), 7))
