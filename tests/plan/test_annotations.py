"""Requests of Strimzi's annotations in a plan: what is due, and the conditions of what is not done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import (
    CLUSTER,
    DOCUMENT,
    REVISION,
    change,
    current_offsets,
    record,
    seen,
    situation,
    wanted,
)

from gitops_connect.model.desired import DesiredOffsetChange
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.restart_records import RequestKind, RestartRequest
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.model.status import ConditionType
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, RequestedListing
from gitops_connect.plan.annotation_warnings import CLUSTER as OF_CLUSTER
from gitops_connect.plan.annotation_warnings import annotation_conditions
from gitops_connect.plan.conditions import connector_conditions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation

ORDERS = ConnectorName("orders")
NAME = "orders.alter.0123456789ab"
OFFSETS = current_offsets(a=4)
LISTS = Policy(lists_offsets=True)
STOPPED = "the connector not being stopped: set `state: stopped` in the resource"
LISTING = RequestedListing(
    OffsetChangeName("orders.list.0123456789ab"), ORDERS, CLUSTER, "found", "", "offsets.json", DOCUMENT.location
)


def altered(problem: str = "", **more: Any) -> DesiredOffsetChange:
    made = change(NAME, "orders", acknowledge=[one.value for one in Acknowledgement])
    return replace(made, annotation=AnnotationAction.ALTER, problem=problem, **more)


def given(offset_change: DesiredOffsetChange, state: str = "stopped", **more: Any) -> Situation:
    offsets = OffsetSituation(
        current={ORDERS: current_offsets(a=8)}, manifests={offset_change.name: OFFSETS}, **more.pop("offsets", {})
    )
    observed = seen("orders", more.pop("observed", "STOPPED"))
    return situation(
        [wanted("orders", state)], [observed], owned=["orders"], changes=[offset_change], offsets=offsets, **more
    )


def warnings_of(made: Plan, at: Situation) -> list[tuple[str, str, str]]:
    """The conditions: connector, reason and message."""
    found = connector_conditions({}, (), made, at.now)
    return [(name, one.reason, one.message) for (name, kind, _), one in found.items() if kind is ConditionType.WARNING]


@pytest.mark.parametrize("observed", ["RUNNING", "STOPPED"])
def test_a_declared_stop_comes_first_and_the_connector_stays_stopped(observed: str) -> None:
    made = plan(given(altered(), observed=observed))
    stop = [Action.STOP] if observed == "RUNNING" else []
    assert [step.action for step in made.steps] == [*stop, Action.ALTER]
    assert made.annotation_warnings == ()


@pytest.mark.parametrize(("problem", "state", "why"), [("", "running", STOPPED), ("missing x", "stopped", "missing x")])
def test_what_cannot_be_done_is_a_warning_and_holds_nothing_back(problem: str, state: str, why: str) -> None:
    at = given(altered(problem), state, observed="PAUSED")
    made = plan(at)
    assert [step.action for step in made.steps] == [Action.RESUME if state == "running" else Action.STOP]
    message = f"Failed to alter the connector offsets for orders due to {why}."
    assert warnings_of(made, at) == [(ORDERS, "AlterOffsets", message)]
    assert [(one.severity, one.rule, one.summary) for one in made.diagnostics] == [
        (Severity.WARNING, "strimzi/annotation", message)
    ]


def test_a_change_that_was_applied_has_no_problem_any_more() -> None:
    before = altered()
    done = {"records": {before.name: record(before, "applied")}}
    for now in (altered("missing ConfigMap found"), altered(digest=Digest("edited"))):
        at = given(now, "running", observed="RUNNING", offsets=done)
        made = plan(at)
        assert (made.is_empty, len(made.diagnostics), warnings_of(made, at)) == (True, 0, [])


def test_the_answer_of_connect_is_in_the_message() -> None:
    """It is tried in each reconciliation, as in Strimzi, and once an hour after ten tries."""
    message = 'Failed to alter the connector offsets for orders due to "400 from PATCH: no such file".'
    for failures, final, steps in ((1, False, [Action.ALTER]), (9, True, [Action.ALTER]), (10, True, [])):
        answer = "400 from PATCH: no such file"
        failed = record(altered(), "failed", failures=failures, final=final, message=answer)
        at = given(altered(), offsets={"records": {failed.name: failed}})
        made = plan(at)
        assert [step.action for step in made.steps] == steps
        assert warnings_of(made, at) == [(ORDERS, "AlterOffsets", message)]
        (shown,) = made.diagnostics
        assert (shown.severity, shown.rule) == (Severity.WARNING, "strimzi/annotation")
        assert shown.summary == message + ("" if steps else " Next retry at 10:30:00 UTC.")


def test_a_failed_request_is_a_condition_at_once_and_ends_once_it_is_carried_out() -> None:
    (task,) = [RestartRequest(RequestKind.TASKS, "0123456789ab", tasks=(7,), annotation="strimzi.io/restart-task: 7")]
    at = situation([wanted("orders", restarts=(task,))], [seen("orders")], owned=["orders"])
    made = plan(at)
    (step,) = made.steps
    assert step.reason == "task 7: the annotation strimzi.io/restart-task: 7, which commit 0123456789ab added"
    missing = [StepOutcome(step, Result.FAILED, "404 from POST: no task 7")]
    found = annotation_conditions({}, made, missing, at.now)
    ((key, condition),) = found.items()
    message = 'Failed to restart the connector task due to "404 from POST: no task 7".'
    assert (condition.reason, condition.message) == ("RestartConnectorTask", message)
    later = replace(at, conditions=found)
    again = plan(later)
    assert [one.summary for one in again.diagnostics] == [message]
    assert connector_conditions(found, (), again, at.now) == {key: condition}
    assert annotation_conditions(found, again, [StepOutcome(step, Result.APPLIED)], at.now) == {}
    whole = RestartRequest(RequestKind.CONNECTOR, "fedcba987654", annotation="strimzi.io/restart: true")
    (connector,) = situation([wanted("orders", restarts=(whole, task))], []).desired.connectors
    both = plan(replace(later, desired=replace(later.desired, connectors=(connector,))))
    assert [one.summary for one in both.diagnostics] == [message], "the other restart did not fail"


def test_a_task_that_does_not_exist_is_a_warning_before_the_restart_fails() -> None:
    request = RestartRequest(RequestKind.TASKS, "0123456789ab", tasks=(7,), annotation="strimzi.io/restart-task: 7")

    def messages(tasks: int, **more: Any) -> list[str]:
        observed = seen("orders", tasks=["RUNNING"] * tasks, **more)
        return [one.summary for one in plan(situation([desired], [observed], owned=["orders"])).diagnostics]

    desired = wanted("orders", restarts=(request,))
    missing = "Failed to restart the connector task due to the missing task 7: the connector has {}."
    assert messages(1) == [missing.format("1 task")]
    assert messages(7) == [missing.format("7 tasks")]
    assert messages(8) == []
    assert messages(0) == [], "no worker runs its tasks yet"
    assert messages(1, config={"topic": "other"}) == [], "the new config may have more tasks"


def test_several_warnings_of_a_connector_are_conditions_of_their_own() -> None:
    at = given(altered("missing x"))
    more = AnnotationWarning(AnnotationAction.RESTART, "Failed to restart …", DOCUMENT.location, "r", CLUSTER, ORDERS)
    at = replace(at, desired=replace(at.desired, annotation_warnings=(more,)))
    assert {reason for _, reason, _ in warnings_of(plan(at), at)} == {"RestartConnector", "AlterOffsets"}


@pytest.mark.parametrize(
    ("state", "there", "why"),
    [
        ("stopped", "STOPPED", "is STOPPED"),
        ("paused", "RUNNING", "is declared paused"),
        ("running", "STOPPED", None),
        ("running", "RUNNING", None),
    ],
)
def test_a_restart_of_a_connector_that_does_not_run_waits(state: str, there: str, why: str | None) -> None:
    asked = RestartRequest(RequestKind.CONNECTOR, "0123456789ab", annotation="strimzi.io/restart: true")
    at = situation([wanted("orders", state, restarts=(asked,))], [seen("orders", there)], owned=["orders"])
    made = plan(at)
    by = "the annotation strimzi.io/restart: true, which commit 0123456789ab added"
    notes = (f"a restart waits until the connector runs, which {why}: {by}",) if why else ()
    assert [one.notes for one in made.connectors] == [notes]
    assert (Action.RESTART in [step.action for step in made.steps]) is (why is None)
    done = replace(at, restart_requests={(ORDERS, asked.kind): asked.id})
    assert not any(one.notes for one in plan(done).connectors)


def test_the_same_change_of_a_commit_that_was_replaced_asks() -> None:
    at = given(altered(), offsets={"replaced": {OffsetChangeName(NAME): OffsetChangeName("orders.alter.fedcba987654")}})
    made = plan(at)
    assert made.is_empty
    ((_, _, message),) = warnings_of(made, at)
    assert "recorded as orders.alter.fedcba987654" in message
    assert f"gitops-connect ledger resolve {NAME}" in message


def listed(
    record_state: str | None = None, *, state: str = "running", policy: Policy = LISTS, **more: Any
) -> Situation:
    one = DesiredOffsetChange(LISTING.name, ORDERS, OffsetChangeKind.LIST, Digest("d"), DOCUMENT, ("spec",))
    records = {one.name: record(one, record_state, failures=3, message="disk full")} if record_state else {}
    at = situation(
        [wanted("orders", state)], [seen("orders", state.upper())], owned=["orders"], policy=policy,
        offsets=OffsetSituation(records=records), version=more.pop("version", "4.3.1"),
    )  # fmt: skip
    return replace(at, desired=replace(at.desired, listings=(replace(LISTING, **more),)))


@pytest.mark.parametrize("state", ["running", "paused", "stopped"])
def test_a_list_needs_no_stop_and_is_done_once(state: str) -> None:
    (step,) = plan(listed(state=state)).steps
    assert (step.action, step.listing) == (Action.LIST, LISTING)
    assert step.offset_change is not None
    assert (step.offset_change.name, step.offset_change.kind) == (LISTING.name, OffsetChangeKind.LIST)
    assert plan(listed("applied")).is_empty
    (again,) = plan(listed("failed")).steps
    assert again.action is Action.LIST


@pytest.mark.parametrize(
    ("at", "why"),
    [
        (listed(problem="missing property listOffsets in KafkaConnector CR"), "missing property listOffsets"),
        (listed(policy=Policy()), "no destination for ConfigMaps in the settings"),
        (listed(version="3.4.1"), "Kafka Connect 3.4.1 cannot "),
        (listed("failed"), '"disk full"'),
    ],
)
def test_a_list_that_is_not_done_is_a_warning(at: Situation, why: str) -> None:
    made = plan(at)
    ((name, reason, message),) = warnings_of(made, at)
    assert (name, reason) == (ORDERS, "ListOffsets")
    assert message.startswith(f"Failed to list the connector offsets for orders due to {why}")


def test_a_warning_without_a_known_connector_is_a_condition_of_the_cluster() -> None:
    at = situation([wanted("orders")], [seen("orders")], owned=["orders"])
    warning = AnnotationWarning(AnnotationAction.RESET, "Failed to reset …", DOCUMENT.location, "r", CLUSTER)
    at = replace(at, desired=replace(at.desired, annotation_warnings=(warning,)))
    assert warnings_of(plan(at), at) == [(OF_CLUSTER, "ResetOffsets", "Failed to reset …")]


def test_a_review_covers_the_change_whatever_commit_the_merge_gives_it() -> None:
    merged = replace(altered(), name=OffsetChangeName("orders.alter.ba9876543210"))
    seen_before = reviewed_plan(7, REVISION, [plan(given(altered()))])
    reviews = Reviews(ReviewMode.REVIEWED, merged=(seen_before,), pull_request=7)
    assert [step.action for step in plan(given(merged, reviews=reviews)).steps] == [Action.ALTER]
    unseen = replace(merged, digest=Digest("other offsets"))
    assert plan(given(unseen, reviews=reviews)).unreviewed
