"""The three renderings of one plan that contains every kind of item."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from support.files.goldens import FOLDER, assert_golden
from support.files.tables import table
from support.planner.situations import NOW, REVISION, seen, situation, situation_of, wanted

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Situation
from gitops_connect.report import markdown, plan_json
from gitops_connect.report.text import TextReport
from gitops_connect.report.words import left_stopped

SCHEMA = Path(__file__).parents[2] / "schemas" / "plan.schema.json"
PROBLEM = Diagnostic(Severity.ERROR, "schema/type", "tasksMax: expected a number", Location("a.yaml", 3, 9), "write 1")


def everything() -> Situation:
    made = situation_of(table(__file__, "everything"))
    record = remember(made, wanted("drifting", config={"file": "/a"}), Origin.CREATED, NOW)
    return replace(made, ownership={**made.ownership, record.connector: record})


@pytest.fixture
def made() -> Plan:
    return replace(plan(everything()), digest=Digest("d" * 64), fingerprint=Digest("f" * 64))


def test_each_rendering(made: Plan) -> None:
    """Also: no secret is in any of them."""
    origin = plan_json.PlanOrigin(datetime(2026, 11, 21, tzinfo=UTC), REVISION)
    text = plan_json.render([made], Diagnostics.of([PROBLEM]), origin)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema, jsonschema.Draft202012Validator)
    assert_golden("plan.json", text)
    assert_golden("plan.txt", TextReport(coloured=False).plans([made], errors=1))
    assert_golden("plan.md", markdown.render([made], errors=1))
    assert "hunter" not in repr(made)
    assert not [name for name in ("plan.json", "plan.txt", "plan.md") if "hunter" in (FOLDER / name).read_text()]


def test_json_says_what_nobody_has_reviewed() -> None:
    blocked = seen("paused", "PAUSED"), wanted("paused", "paused", config={"topic": "new"})
    drifted = seen("drifted", "PAUSED"), wanted("drifted")
    observed, desired = zip(blocked, drifted, strict=True)
    before = situation(desired, observed, owned=["paused", "drifted"], reviews=Reviews(ReviewMode.MANUAL))
    record = remember(before, drifted[1], Origin.CREATED, NOW)
    made = plan(replace(before, ownership={**before.ownership, record.connector: record}))
    text = plan_json.render([made], Diagnostics(), plan_json.PlanOrigin(NOW, REVISION))
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    found = {one["name"]: one for one in json.loads(text)["clusters"][0]["resource_changes"]}
    assert (found["drifted"]["applicable"], found["drifted"]["unreviewed"]) == (True, None)
    assert not found["paused"]["applicable"]
    assert found["paused"]["unreviewed"] == {"planned": ["configure: 1 key differs"], "reviewed": []}


def test_nothing_is_claimed_of_clusters_that_could_not_be_planned() -> None:
    assert TextReport(coloured=False).plans([]) == "No plan could be made.\n"
    assert markdown.render([]) == "**No plan could be made.**\n"


def test_the_line_names_the_connector_and_both_ways_out() -> None:
    assert left_stopped(ConnectorName("orders"), "http://one:8083/") == (
        "connector orders is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        " curl -X PUT http://one:8083/connectors/orders/resume"
    )
    assert left_stopped(ConnectorName("a b?"), "http://one:8083").endswith("/connectors/a%20b%3F/resume")
