"""A change in progress is not finished if its connector has been started since, or is about to be deleted."""

from __future__ import annotations

from typing import Any

import pytest
from support.planner.situations import CLASS, REVISION, change, current_offsets, record, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.operations import Operation
from gitops_connect.model.plans import OperationStatus, Plan
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

ORDERS = ConnectorName("orders")
BACK = change("back", "orders", acknowledge=["rewind"])
BEGUN = Operation(BACK.name, ORDERS, BACK.kind, BACK.digest, REVISION, current_offsets(a=4), BACK.acknowledged)


def planned(state: str, *, declared: bool = True, at: int = 20, **more: Any) -> Plan:
    """A plan while one change is in progress that began when the connector was at position 20."""
    shape = BUILT_IN.shape({"connector.class": CLASS})
    assert shape is not None
    offsets = OffsetSituation(
        records={BACK.name: record(BACK, "in_progress")},
        unfinished={BACK.name: Unfinished(BEGUN, current_offsets(a=20))},
        current={ORDERS: current_offsets(a=at)},
        shapes={ORDERS: shape},
    )
    desired = [wanted("orders")] if declared else [wanted("other", "absent")]
    return plan(situation(desired, [seen("orders", state)], owned=["orders"], offsets=offsets, **more))


def test_the_change_of_a_stopped_connector_is_finished() -> None:
    made = planned("STOPPED", changes=[BACK])
    assert [step.action.value for step in made.steps] == ["alter", "resume"]


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "FAILED", "RESTARTING"])
@pytest.mark.parametrize("at", [20, 4, 12])
def test_the_change_of_a_started_connector_waits_for_a_decision(state: str, at: int) -> None:
    """Even if its offsets are as before or as declared: the connector may have moved there by itself."""
    made = planned(state, changes=[BACK], at=at)
    assert "alter" not in [step.action.value for step in made.steps]
    (waits,) = made.operations
    assert waits.status is OperationStatus.UNKNOWN
    assert "its connector has run since" in waits.message
    assert "gitops-connect ledger resolve back" in waits.message
    assert [item.rule for item in made.diagnostics] == ["offsets/unfinished"]


def test_the_change_of_a_connector_that_is_no_longer_declared_waits_for_a_decision() -> None:
    made = planned("RUNNING", declared=False)
    assert made.steps == ()
    assert [one.status for one in made.operations] == [OperationStatus.UNKNOWN]


def test_a_pruned_connector_is_only_deleted() -> None:
    """Deleting the connector while its change is finished would be a race."""
    made = planned("STOPPED", declared=False, policy=Policy(prune=True))
    assert [step.action.value for step in made.steps] == ["delete"]
    assert len([one for one in made.connectors if one.name == ORDERS]) == 1


@pytest.mark.parametrize(
    ("version", "status"), [("3.6.0", OperationStatus.UNKNOWN), ("3.7.0", OperationStatus.UNFINISHED)]
)
def test_the_change_of_a_deleted_connector_is_finished_only_if_the_worker_can_create_it_stopped(
    version: str, status: OperationStatus
) -> None:
    """Otherwise it runs for a moment, and a change that had its effect would rewind it a second time."""
    begun = {BACK.name: Unfinished(BEGUN, current_offsets(a=20))}
    offsets = OffsetSituation(records={BACK.name: record(BACK, "in_progress")}, unfinished=begun)
    given = situation([wanted("orders")], [], owned=["orders"], offsets=offsets, changes=[BACK], version=version)
    (found,) = plan(given).operations
    assert found.status is status
