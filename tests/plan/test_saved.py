from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.planner.situations import REVISION, seen, situation, wanted

from gitops_connect.errors import StalePlan, UsageError
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import Digest, Revision
from gitops_connect.model.plans import Plan
from gitops_connect.plan.guards import SavedPlan, load_saved, require_fresh
from gitops_connect.plan.planner import plan
from gitops_connect.report import plan_json
from gitops_connect.report.plan_json import PlanOrigin


def made() -> Plan:
    return plan(situation([wanted("orders", config={"file": "/a"})], [seen("orders")], owned=["orders"]))


def saved(fresh: Plan) -> SavedPlan:
    origin = PlanOrigin(datetime(2026, 11, 21, tzinfo=UTC), REVISION)
    return load_saved(plan_json.render([fresh], Diagnostics(), origin), "plan.json")


@pytest.mark.parametrize(
    ("moved", "message"),
    [
        ([replace(made(), revision=Revision("another"))], "the repository moved from commit 1a2b3c4"),
        (
            [replace(made(), fingerprint=Digest("another"))],
            "connectors of cluster local have changed since the plan was saved",
        ),
        ([replace(made(), digest=Digest("another"))], "the steps for cluster local are different now"),
        ([], "is no longer in the settings"),
    ],
)
def test_a_plan_that_moved_is_stale_and_says_what_moved(moved: list[Plan], message: str) -> None:
    require_fresh(saved(made()), [made()])
    with pytest.raises(StalePlan, match=message):
        require_fresh(saved(made()), moved)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"format_version": "1.0"}', "\x00", "[" * 100_000])
def test_what_is_no_plan_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.json is not a plan"):
        load_saved(text, "plan.json")


def test_a_newer_format_is_refused_by_its_number() -> None:
    with pytest.raises(UsageError, match=r"has plan format 2\.0"):
        load_saved(json.dumps({"format_version": "2.0"}), "plan.json")
