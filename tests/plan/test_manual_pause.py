"""`onManualPause: respect`: a connector that someone paused or stopped on the cluster is left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import CLASS, NOW, change, current_offsets, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, OnManualPause, TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import ConnectorPlan, Plan
from gitops_connect.model.restart_records import RestartKind, RestartRequest
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy

ORDERS = ConnectorName("orders")
RESPECT = OnManualPause.RESPECT
DOCUMENT = wanted("orders", on_manual_pause=RESPECT)
BACK = change("back", "orders", acknowledge=["rewind"])


def planned(
    state: str, desired: DesiredConnector = DOCUMENT, *, applied: DesiredConnector = DOCUMENT, **more: Any
) -> Plan:
    """A plan for a connector in that state, to which the document `applied` was applied before."""
    observed = seen("orders", state, config=more.pop("config", None), tasks=more.pop("tasks", None))
    given = situation([desired], [observed], owned=["orders"], policy=more.pop("policy", None), **more)
    return plan(replace(given, ownership={ORDERS: remember(given, applied, Origin.CREATED, NOW)}))


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


def only(made: Plan) -> ConnectorPlan:
    (one,) = made.connectors
    return one


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_it_is_left_as_it_is_and_reported(state: str) -> None:
    made = planned(state)
    assert made.is_empty
    assert only(made).out_of_sync
    (note,) = only(made).notes
    assert note.startswith(f"{state.lower()} by hand (onManualPause: respect): it stays in this state until")
    assert made.drifted == ()


@pytest.mark.parametrize(
    ("document", "policy", "is_resumed"),
    [
        (None, OnManualPause.REVERT, True),
        (None, RESPECT, False),
        (OnManualPause.REVERT, RESPECT, True),
        (RESPECT, OnManualPause.REVERT, False),
    ],
)
def test_the_document_takes_precedence_over_the_settings(
    document: OnManualPause | None, policy: OnManualPause, is_resumed: bool
) -> None:
    desired = replace(DOCUMENT, on_manual_pause=document)
    made = planned("PAUSED", desired, policy=Policy(on_manual_pause=policy))
    assert actions(made) == ["resume"] * is_resumed


@pytest.mark.parametrize(
    "applied", [wanted("orders", "paused"), wanted("orders", config={"a": "b"})], ids=["state", "config"]
)
def test_it_is_resumed_when_the_document_changes(applied: DesiredConnector) -> None:
    assert actions(planned("PAUSED", applied=applied)) == ["resume"]


def test_a_connector_that_was_never_applied_is_resumed() -> None:
    """It is adopted, or the ledger was lost: nobody knows who paused it."""
    assert actions(plan(situation([DOCUMENT], [seen("orders", "PAUSED")]))) == ["adopt", "resume"]
    assert actions(plan(situation([DOCUMENT], [seen("orders", "PAUSED")], owned=["orders"]))) == ["resume"]


def test_a_config_that_drifted_is_corrected_and_the_connector_stays_paused() -> None:
    assert actions(planned("PAUSED", config={"a": "b"})) == ["configure"]


def test_it_is_not_restarted() -> None:
    request = RestartRequest(RestartKind.CONNECTOR, "1")
    desired = replace(DOCUMENT, restarts=(request,))
    made = planned("PAUSED", desired, tasks=["java.lang.Boom: no"], policy=Policy(concurrent_restarts=5))
    assert made.is_empty
    (unhealthy,) = made.unhealthy
    assert unhealthy.restarts is not None
    assert unhealthy.restarts.why_not == "paused by hand (onManualPause: respect)"


class TestAnOffsetChange:
    def planned(self, state: str, stopped: Mapping[ConnectorName, TargetState] | None = None) -> list[str]:
        shape = BUILT_IN.shape({"connector.class": CLASS})
        assert shape is not None
        offsets = OffsetSituation(
            manifests={BACK.name: current_offsets(a=4)}, current={ORDERS: current_offsets(a=20)}, shapes={ORDERS: shape}
        )
        return actions(planned(state, offsets=offsets, changes=[BACK], stopped=stopped or {}))

    def test_brings_it_back_to_the_state_in_which_it_was(self) -> None:
        assert self.planned("RUNNING") == ["stop", "alter", "resume"]
        assert self.planned("PAUSED") == ["stop", "alter", "pause"]
        assert self.planned("STOPPED") == ["alter"]

    def test_that_was_interrupted_too(self) -> None:
        """gitops-connect has stopped it, and not someone else."""
        assert self.planned("STOPPED", {ORDERS: TargetState.RUNNING}) == ["alter", "resume"]
        assert self.planned("STOPPED", {ORDERS: TargetState.PAUSED}) == ["alter", "pause"]


def test_a_connector_that_was_stopped_for_a_withdrawn_offset_change_returns() -> None:
    assert actions(planned("STOPPED", stopped={ORDERS: TargetState.RUNNING})) == ["resume"]
    assert actions(planned("STOPPED", stopped={ORDERS: TargetState.PAUSED})) == ["pause"]


def test_a_connector_that_somebody_started_since_and_then_paused_stays_paused() -> None:
    assert actions(planned("PAUSED", stopped={ORDERS: TargetState.RUNNING})) == []
