"""The symbols above a plan and the last line below it: both describe exactly what the plan contains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from report.test_offset_changes import difference
from support.files.tables import rows
from support.planner.situations import change, current_offsets, seen, situation, situation_of, wanted

from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.plans import Action, OffsetChangeStatus, Plan, PlannedOffsetChange
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation
from gitops_connect.report import markdown, offset_lines, plan_view
from gitops_connect.report.summary import totals
from gitops_connect.report.text import TextReport

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
