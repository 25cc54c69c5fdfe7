"""Each situation in test_exceptions.yaml has the expected steps: of a suspended, paused or restarted connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.files.tables import cases
from support.planner.situations import (
    CLASS,
    NOW,
    REVISION,
    change,
    current_offsets,
    record,
    said,
    seen,
    situation,
    wanted,
)

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, OnManualPause, TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, clear_name
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Plan, Step
from gitops_connect.model.restart_records import AutoRestart, RequestKind, RestartRecord, RestartRequest
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import seen_before_managed
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

Case = Mapping[str, Any]
ORDERS = ConnectorName("orders")
BACK, LATER = (change(name, "orders", acknowledge=["rewind"]) for name in ("back", "later"))
CLEAR = change(clear_name(ORDERS), "orders", "reset")
BEGUN = OffsetChange(BACK.name, ORDERS, OffsetChangeKind.ALTER, BACK.digest, REVISION, current_offsets(a=4))
BY_HAND = Suspension(SuspendedBy.COMMAND, who="ana@ops-1", since=NOW - timedelta(hours=1), reason="INC-4711")
SUSPENDED = {
    "": Suspensions(),
    "command": Suspensions(connectors={ORDERS: BY_HAND}),
    "settings": Suspensions(Suspension(SuspendedBy.SETTINGS, whole_cluster=True)),
}


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["case"])
def test_case(case: Case) -> None:
    made = planned(case)
    assert [words(step) for step in made.steps] == case["steps"]
    shown = [words(step) for one in made.connectors for step in one.steps]
    assert shown == case.get("shown", case["steps"] or shown)
    orders = next((one for one in made.connectors if one.name == ORDERS), None)
    restarts = [one.restarts for one in made.unhealthy if one.restarts is not None]
    sent = [step.restart for step in made.steps if step.restart is not None]
    found = {
        "can_be_restarted": bool(restarts),
        "next": any(one.next is not None for one in restarts),
        "connectors": [one.name for one in made.connectors],
        "cluster_suspended": made.suspension is not None,
        "drifted": list(made.drifted),
        "reasons": [step.reason for step in made.steps],
        "parts": [part for one in sent for part in one.parts],
        "restart": sent and restart_words(sent[0]),
    }
    if orders is None:
        assert not case.keys() & {"applicable", "out_of_sync", "suspension", "offset_changes", "notes", "says"}
    else:
        found |= {
            "applicable": orders.applicable,
            "out_of_sync": orders.out_of_sync,
            "suspension": orders.suspension and orders.suspension.words,
            "offset_changes": {one.name: one.status.value for one in orders.offset_changes},
        }
        for note, start in zip(said(orders), case.get("notes", said(orders)), strict=True):
            assert note.startswith(start)
        assert any(case.get("says", "") in one.message for one in orders.offset_changes) or "says" not in case
    assert "why_not" not in case or case["why_not"] in restarts[0].why_not
    expected = {key: case[key] for key in found.keys() & case.keys()}
    assert {key: found[key] for key in expected} == expected


def words(step: Step) -> str:
    return step.action.value if step.connector == ORDERS else f"{step.connector} {step.action.value}"


def restart_words(one: Any) -> dict[str, Any]:
    return {
        "include_tasks": one.include_tasks,
        "only_failed": one.only_failed,
        "parts": list(one.parts),
        "request": one.request and f"{one.request.kind.value} {one.request.id}",
        "also": [f"{other.kind.value} {other.id}" for other in one.also],
    }


def planned(case: Case) -> Plan:
    policy = dict(case.get("policy", {}))
    if "on_manual_pause" in policy:
        policy["on_manual_pause"] = OnManualPause(policy["on_manual_pause"])
    there, others = case.get("there", "RUNNING"), case.get("others", [])
    desired = [] if case.get("document", {}) is None else [document(case.get("document", {}))]
    observed = [] if there is None else [seen("orders", there, config=case.get("config"), tasks=case.get("tasks"))]
    given = situation(
        [*desired, *map(wanted, others)],
        [*observed, *map(seen, case.get("others_there", []))],
        owned=case.get("owned", ["orders"]),
        version=case.get("version", "4.3.1"),
        policy=Policy(**policy),
        held=case.get("held", ()),
        suspensions=SUSPENDED[case.get("suspended", "")],
        stopped={ORDERS: TargetState[case["stopped"]]} if "stopped" in case else {},
        restarts=restarted(*case["restarted"]) if "restarted" in case else {},
        restart_requests={(ORDERS, one.kind): one.id for one in map(request, case.get("done", []))},
        changes={"declared": [BACK], "begun": [BACK, LATER]}.get(case.get("back", ""), []),
        offsets=offsets(case),
    )
    if "applied" in case:
        ownership = {ORDERS: remember(given, document(case["applied"]), Origin.CREATED, NOW)}
        given = replace(given, ownership=ownership)
    return plan(given)


def restarted(count: int, minutes: int) -> dict[ConnectorName, RestartRecord]:
    return {ORDERS: RestartRecord(count, NOW - timedelta(minutes=minutes))}


def document(fields: Case) -> DesiredConnector:
    made = dict(fields)
    if "on_manual_pause" in made:
        made["on_manual_pause"] = OnManualPause(made["on_manual_pause"])
    if "auto_restart" in made:
        given = {key: tuple(one) if isinstance(one, list) else one for key, one in made["auto_restart"].items()}
        made["auto_restart"] = AutoRestart(**given)
    made["restarts"] = tuple(map(request, made.get("restarts", ())))
    return wanted("orders", **made)


def request(fields: Case) -> RestartRequest:
    return RestartRequest(**{**fields, "kind": RequestKind(fields["kind"]), "tasks": tuple(fields.get("tasks", ()))})


def offsets(case: Case) -> OffsetSituation:
    shape = BUILT_IN.shape({"connector.class": CLASS})
    assert shape is not None
    known = {"current": {ORDERS: current_offsets(a=20)}, "shapes": {ORDERS: shape}}
    if case.get("clearing"):
        return OffsetSituation({CLEAR.name: record(CLEAR, "in_progress")})
    match case.get("back"):
        case "begun":
            unfinished = {BACK.name: Unfinished(BEGUN, current_offsets(a=20))}
            manifests = {LATER.name: current_offsets(a=2)}
            records = {BACK.name: record(BACK, "in_progress")}
            return OffsetSituation(records, unfinished, manifests=manifests, **known)
        case "declared":
            return OffsetSituation(manifests={BACK.name: current_offsets(a=4)}, **known)
    return OffsetSituation()


def test_requests_from_before_a_connector_is_managed_are_known() -> None:
    requests = (RestartRequest(RequestKind.CONNECTOR, "1"), RestartRequest(RequestKind.TASKS, "1", tasks=(0, 2)))
    declared = [wanted("orders", restarts=requests)]
    assert [*seen_before_managed(situation(declared, [seen("orders")]))] == [("orders", one) for one in requests]
    assert [*seen_before_managed(situation(declared, [seen("orders")], owned=["orders"]))] == []
