"""Which transactional ids a plan needs for the first time, and which it fences before an offset change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.files.tables import cases
from support.planner.situations import change, current_offsets, said, seen, situation, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy

ORDERS = ConnectorName("orders")


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["says"][-40:])
def test_case(case: Mapping[str, Any]) -> None:
    tasks = ["RUNNING"] * case.get("tasks", 1)
    observed = [] if case["before"] is None else [seen(ORDERS, config=case["before"], tasks=tasks)]
    changes = [change("c", ORDERS, "reset", acknowledge=["reset"])] if "change" in case else []
    made = plan(
        situation(
            [wanted(ORDERS, config=case["after"])],
            observed,
            owned=[one.name for one in observed],
            policy=Policy(**case["policy"]),
            exactly_once=case.get("exactly_once", "enabled"),
            changes=changes,
            offsets=OffsetSituation(current={ORDERS: current_offsets(a=1)}),
        )
    )
    notes = [note for one in made.connectors for note in said(one) if "transactional id" in note]
    assert len(notes) == bool(case["says"])
    assert all(case["says"] in note for note in notes), notes
    assert [one for step in made.steps for one in step.fenced] == case.get("fenced", [])
