"""The renderings of plans, the symbols above them and the last line below: they show exactly what a plan contains."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report.test_offset_changes import difference
from support.files.goldens import FOLDER, assert_golden
from support.files.tables import rows, table
from support.planner.situations import NOW, REVISION, change, current_offsets, seen, situation, situation_of, wanted

from gitops_connect.model.desired import OnDelete
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, OffsetChangeStatus, Plan, PlannedOffsetChange
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Situation
from gitops_connect.report import markdown, offset_lines, plan_json, plan_view
from gitops_connect.report.summary import totals
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


ORDERS = ConnectorName("orders")


def text(made: Plan, errors: int = 0) -> str:
    return TextReport(coloured=False).plans([made], errors)


def last_line(made: Plan, errors: int = 0) -> str:
    return text(made, errors).splitlines()[-1]


def rewound(**more: Any) -> Plan:
    """A plan with one change that rewinds, which its document does not acknowledge."""
    one = change("back", "orders", **more)
    about = OffsetSituation(manifests={one.name: current_offsets(a=1)}, current={ORDERS: current_offsets(a=9)})
    return plan(situation([wanted("orders")], [seen("orders")], owned=["orders"], changes=[one], offsets=about))


def test_every_symbol_has_a_meaning_and_is_in_the_legend_only_if_the_plan_has_it() -> None:
    assert {action.symbol for action in Action} | set(offset_lines.SYMBOLS.values()) <= plan_view.MEANINGS.keys()
    assert len(set(plan_view.MEANINGS.values())) == len(plan_view.MEANINGS)
    created = plan(situation([wanted("orders", config={"topic": "t"})]))
    assert text(created).startswith("Symbols: + create\n\nconnect cluster: ")
    assert "\n\nSymbols: `+` create\n\n" in markdown.render([created])
    moved = rewound(acknowledge=["rewind"])
    assert text(moved).startswith("Symbols: ~ change in place  # stop  ^ resume  ? direction unknown\n\n")
    assert text(moved).count("Symbols") == 1


def test_a_plan_without_changes_has_no_legend() -> None:
    made = plan(situation([wanted("orders")], [seen("orders")], owned=["orders"]))
    assert "Symbols" not in text(made) + markdown.render([made])
    assert last_line(made) == "No changes. Your connectors match the configuration."


def test_a_connector_that_is_stopped_and_reset_and_deleted_is_marked_as_deleted() -> None:
    gone = replace(wanted("orders", "absent"), on_delete=OnDelete.RESET)
    made = plan(situation([gone], [seen("orders")], owned=["orders"]))
    assert [step.action for step in made.steps] == [Action.STOP, Action.RESET, Action.DELETE]
    assert "\n  - orders  " in text(made)


def test_an_error_that_was_printed_before_is_not_repeated_in_the_plan() -> None:
    made = rewound()
    (error,) = made.diagnostics.errors
    (blocked,) = made.offset_changes
    assert blocked.message in error.summary
    shown = text(made, 1)
    assert blocked.message not in shown
    assert "= offset change back (alter) is blocked: see the error above [offsets/unacknowledged]\n" in shown
    assert last_line(made, 1) == (
        "No changes can be applied now. Offset changes: 1 blocked. 1 error: fix it, then plan again."
    )
    assert blocked.message in markdown.render([made]), "a document has no lines before it"


@pytest.mark.parametrize(("line", "given"), rows(__file__, "no_match"))
def test_a_match_is_claimed_of_nothing_that_differs(line: str, given: dict[str, Any]) -> None:
    assert last_line(plan(situation_of({"owned": ["orders"], **given}))) == line


# The sums over all offset changes of a plan

CHANGE = PlannedOffsetChange(
    OffsetChangeName("x"), ConnectorName("orders"), OffsetChangeKind.ALTER, OffsetChangeStatus.PLANNED
)


@pytest.mark.parametrize(("words", "given"), rows(__file__, "sums"))
def test_sums(words: str, given: list[dict[str, Any] | None]) -> None:
    found = totals([replace(CHANGE, difference=one and difference(**one)) for one in given])
    assert ", ".join(one.render("<{}>".format) for one in found) == words
