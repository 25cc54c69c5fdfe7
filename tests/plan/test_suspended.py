"""Suspended connectors and clusters: every step is shown, none is applied, except to finish an offset change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.planner.situations import CLASS, NOW, REVISION, change, current_offsets, record, seen, situation, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeState, clear_name
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetChangeStatus, Plan
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

ORDERS = ConnectorName("orders")
BY_HAND = Suspension(SuspendedBy.COMMAND, who="ana@ops-1", since=NOW - timedelta(hours=1), reason="INC-4711")
ALONE = Suspensions(connectors={ORDERS: BY_HAND})
WHOLE = Suspensions(Suspension(SuspendedBy.SETTINGS, whole_cluster=True))
EVERYWAY = [ALONE, WHOLE]
FAILED = seen("orders", tasks=["java.lang.Boom: no"])


def planned(*observed: ObservedConnector, suspensions: Suspensions = ALONE, **more: Any) -> Plan:
    desired = more.pop("desired", [wanted("orders")])
    return plan(situation(desired, observed, owned=["orders"], suspensions=suspensions, **more))


def only(made: Plan) -> ConnectorPlan:
    (one,) = made.connectors
    return one


@pytest.mark.parametrize("suspensions", EVERYWAY)
@pytest.mark.parametrize("observed", [[seen("orders", "PAUSED")], [seen("orders", config={"a": "b"})], []])
def test_steps_are_shown_and_not_applied(suspensions: Suspensions, observed: list[ObservedConnector]) -> None:
    made = planned(*observed, suspensions=suspensions)
    assert made.is_empty
    assert only(made).steps


@pytest.mark.parametrize("suspensions", EVERYWAY)
def test_a_failed_connector_is_not_restarted(suspensions: Suspensions) -> None:
    made = planned(FAILED, suspensions=suspensions, policy=Policy(concurrent_restarts=5))
    assert made.is_empty
    (unhealthy,) = made.unhealthy
    assert unhealthy.restarts is not None
    assert "suspended by " in unhealthy.restarts.why_not


@pytest.mark.parametrize("suspensions", EVERYWAY)
def test_nothing_is_pruned(suspensions: Suspensions) -> None:
    more = [wanted("other")]
    made = planned(seen("orders"), seen("other"), desired=more, suspensions=suspensions, policy=Policy(prune=True))
    assert Action.DELETE not in {step.action for step in made.steps}
    (orders,) = [one for one in made.connectors if one.name == ORDERS]
    assert [step.action.value for step in orders.steps] == ["delete"]


def test_a_deletion_in_progress_is_not_finished() -> None:
    begun = change(clear_name(ORDERS), "orders", "reset")
    records = {begun.name: record(begun, OffsetChangeState.OPEN.value)}
    made = planned(seen("orders", "STOPPED"), desired=[], offsets=OffsetSituation(records=records))
    assert made.is_empty
    assert [step.action.value for step in only(made).steps] == ["reset", "delete"]


@pytest.mark.parametrize("more", [{}, {"desired": []}, {"desired": [], "held": [ORDERS]}])
def test_a_connector_in_sync_or_undeclared_is_shown_as_suspended(more: dict[str, Any]) -> None:
    made = planned(seen("orders"), **more)
    assert only(made).suspension == BY_HAND
    assert BY_HAND.words == "suspended by ana@ops-1 since 2026-11-21 08:30:00 UTC (INC-4711)"


def test_a_suspended_cluster_does_not_list_connectors_in_sync() -> None:
    made = planned(seen("orders"), suspensions=WHOLE)
    assert (made.connectors, made.suspension) == ((), WHOLE.cluster)


def test_other_connectors_go_on() -> None:
    made = planned(seen("orders", "PAUSED"), desired=[wanted("orders"), wanted("other")])
    assert [step.connector for step in made.steps] == ["other"]


class TestAnOffsetChangeInProgress:
    """gitops-connect has stopped the connector for it, so it finishes the change, and starts the connector again."""

    BACK = change("back", "orders", acknowledge=["rewind"])
    BEGUN = OffsetChange(BACK.name, ORDERS, OffsetChangeKind.ALTER, BACK.digest, REVISION, current_offsets(a=4))
    LATER = change("later", "orders", acknowledge=["rewind"])

    def planned(self, state: str = "STOPPED", **more: Any) -> ConnectorPlan:
        shape = BUILT_IN.shape({"connector.class": CLASS})
        assert shape is not None
        offsets = OffsetSituation(
            records={self.BACK.name: record(self.BACK, OffsetChangeState.OPEN.value)},
            unfinished={self.BACK.name: Unfinished(self.BEGUN, current_offsets(a=20))},
            manifests={self.LATER.name: current_offsets(a=2)},
            current={ORDERS: current_offsets(a=20)},
            shapes={ORDERS: shape},
        )
        return only(planned(seen("orders", state), offsets=offsets, changes=[self.BACK, self.LATER], **more))

    @pytest.mark.parametrize("suspensions", EVERYWAY)
    def test_is_finished_and_nothing_else_is_done(self, suspensions: Suspensions) -> None:
        one = self.planned(suspensions=suspensions, desired=[wanted("orders", config={"a": "b"})])
        assert one.applicable
        assert [step.action.value for step in one.steps] == ["alter", "resume"]
        back, later = one.offset_changes
        assert (back.name, back.status) == ("back", OffsetChangeStatus.UNFINISHED)
        assert later.status is OffsetChangeStatus.WAITING
        assert "suspended by " in later.message

    def test_that_was_about_to_begin_is_not_begun_and_the_connector_starts_again(self) -> None:
        made = planned(seen("orders", "STOPPED"), stopped={ORDERS: TargetState.RUNNING})
        assert [step.action.value for step in made.steps] == ["resume"]
        assert planned(seen("orders", "STOPPED")).is_empty, "someone else stopped it"

    def test_ends_in_the_declared_state(self) -> None:
        one = self.planned(desired=[wanted("orders", "paused")])
        assert [step.action.value for step in one.steps] == ["alter", "pause"]

    def test_is_not_finished_in_mode_observe(self) -> None:
        assert not self.planned(policy=Policy(enforce=False)).applicable
        assert not self.planned(desired=[wanted("orders", mode="observe", suspend=True)]).applicable

    def test_is_not_finished_if_somebody_started_the_connector(self) -> None:
        one = self.planned("RUNNING")
        assert not one.applicable
        assert one.offset_changes[0].status is OffsetChangeStatus.UNKNOWN
