"""The one state of an offset change, its cause and what to do next, for each state in the plan and in the ledger."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from cli_page import loaded_commands
from support.docs.commands import problem
from support.files.tables import table
from support.planner.situations import NOW, REVISION

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.plans import OffsetChangeStatus, PlannedOffsetChange
from gitops_connect.report.offset_change_view import OffsetChangeView, PlannedView, view_of

PROD = ClusterName("prod")
_IDENTITY = OffsetChangeName("skip"), ConnectorName("orders"), OffsetChangeKind.ALTER
HOLD = Hold(HoldKind.UNREVIEWED, "rewind of 1 partition", "merge a pull request")


def acknowledgements(names: Any) -> frozenset[Acknowledgement]:
    return frozenset(map(Acknowledgement, names))


def planned(status: str, **more: Any) -> PlannedView:
    is_held = more.pop("held", False) or status == "held"
    given = {name: acknowledgements(more.pop(name, ())) for name in ("lacks", "acknowledged")}
    place, digest = Location("clusters/prod/skip.yaml", 4, 3), Digest(more.pop("digest", "d"))
    state = OffsetChangeStatus("planned" if is_held else status)
    one = PlannedOffsetChange(*_IDENTITY, state, digest=digest, location=place, **given, **more)
    return PlannedView(one, HOLD if is_held else None, "connect")


def record(state: str, **more: Any) -> OffsetChangeRecord:
    lacks = acknowledgements(more.pop("lacks", ()))
    return OffsetChangeRecord(*_IDENTITY, OffsetChangeState(state), Digest("d"), REVISION, NOW, lacks=lacks, **more)


def view(by_plan: str, by_ledger: str, digest: str = "d") -> OffsetChangeView:
    in_plan = None if by_plan in ("-", "withdrawn") else planned(by_plan, digest=digest)
    recorded = None if by_ledger == "-" else record(by_ledger)
    return view_of(PROD, in_plan, recorded, withdrawn=by_plan == "withdrawn")


@pytest.mark.parametrize(("name", "digest"), [("states", "d"), ("edited", "other")])
def test_there_is_one_state_for_each_status_of_the_plan_and_state_of_the_ledger(name: str, digest: str) -> None:
    cells = table(__file__, name)
    pairs = [(one, other) for one in cells["rows"] for other in cells["columns"] if "".join((one, other)) != "--"]
    found = {pair: view(*pair, digest).state.value for pair in pairs if pair != ("withdrawn", "-")}
    expected = {
        (one, other): state
        for one, states in cells["rows"].items()
        for other, state in zip(cells["columns"], states, strict=True)
        if state
    }
    assert found == expected


def test_every_status_and_state_is_in_the_table() -> None:
    cells = table(__file__, "states")
    assert {*cells["columns"]} == {"-", *(one.value for one in OffsetChangeState)}
    assert {*cells["rows"]} == {"-", "held", *(one.value for one in OffsetChangeStatus)}


@pytest.mark.parametrize("case", table(__file__, "words"), ids=lambda case: case["case"])
def test_the_cause_is_one_sentence_and_the_next_step_can_be_typed(case: Mapping[str, Any]) -> None:
    in_plan = planned(**case["planned"]) if "planned" in case else None
    recorded = record(**case["record"]) if "record" in case else None
    found = view_of(PROD, in_plan, recorded)
    assert (found.cause, found.next_step) == (case["cause"], case["next"])
    assert found.state.value == case.get("state", found.state.value)
    for command in re.findall("`gitops-connect ([^`]*)`", found.next_step):
        assert problem(shlex.split(command), loaded_commands()) == ""


def test_hostile_names_stay_one_argument_of_a_command() -> None:
    name = OffsetChangeName("x; rm -rf /")
    one = PlannedOffsetChange(name, ConnectorName("a b`"), OffsetChangeKind.ALTER, OffsetChangeStatus.UNKNOWN)
    found = view_of(PROD, PlannedView(one), None).next_step
    assert "ledger resolve 'x; rm -rf /' --cluster prod" in found
    assert "offsets get 'a b`' --cluster prod" in found
