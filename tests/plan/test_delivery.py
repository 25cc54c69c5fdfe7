"""The delivery guarantees of sources: what weakens them, what has to be acknowledged, and which sinks lose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.files.strimzi_resources import LABEL, kafka_connector, read
from support.files.tables import rows
from support.planner.situations import NOW, as_observed, digest_of, seen, situation, wanted

from gitops_connect.model.active_topics import ReadTopics
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.exactly_once import SUPPORT, Delivery, ExactlyOnceSupport, delivery
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ConnectorName, Digest, TopicName
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews, read_reviewed_plan
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.situation import Policy, Situation
from gitops_connect.report.plan_json import PlanOrigin, render
from gitops_connect.report.plan_view import view

ORDERS = ConnectorName("orders")
REQUIRED = {SUPPORT: "required"}
LINE = "delivery: exactly-once -> at-least-once"
ROLLED_BACK = RolledBack(Digest("bad"), situation().revision, "task 0 is FAILED", (SUPPORT,), NOW)


def weakened(desired: DesiredConnector | None = None, **more: Any) -> Situation:
    """The observed config guarantees exactly-once, and the document does not."""
    desired, observed = desired or wanted("orders"), seen("orders", config=REQUIRED)
    return situation([desired], [observed], owned=["orders"], exactly_once="enabled", **more)


def outcome(made: Situation) -> tuple[list[Action], list[HoldKind], bool]:
    """The actions that are applied, the holds, and whether the plan has errors."""
    planned = plan(made)
    holds = [hold.kind for one in planned.connectors for hold in one.holds]
    return [step.action for step in planned.steps], holds, bool(planned.diagnostics.errors)


def lines(planned: Plan) -> list[str]:
    return [line.text for one in view(planned, None).connectors for line in one.lines]


@pytest.mark.parametrize(("declared", "support", "guarantee"), rows(__file__, "guarantees"))
def test_the_guarantee_of_a_source(declared: str | None, support: str, guarantee: str) -> None:
    config = {} if declared is None else {SUPPORT: declared}
    assert delivery(config, ExactlyOnceSupport(support)) is Delivery(guarantee)


def test_the_plan_shows_the_change_and_the_error_names_what_to_add() -> None:
    planned = plan(weakened())
    assert LINE in lines(planned)
    (error,) = planned.diagnostics.errors
    assert error.rule == "connector/weaker-delivery"
    assert error.hint == "if this is intended, add `acknowledge: [delivery]` to `spec`"


def test_the_json_of_a_plan_has_the_guarantees() -> None:
    made = plan(weakened(wanted("orders", acknowledges_delivery=True)))
    (step,) = (step for one in made.connectors for step in one.steps)
    assert step.delivery is not None
    assert step.delivery.words == LINE
    assert '"delivery": {\n' in render([made], made.diagnostics, PlanOrigin(NOW, made.revision))


def test_a_config_that_waits_for_its_acknowledgement_blocks_no_stop() -> None:
    assert outcome(weakened(wanted("orders", "stopped"))) == ([Action.STOP], [HoldKind.UNACKNOWLEDGED], True)


def test_a_rollback_to_the_earlier_config_needs_no_acknowledgement_and_no_review() -> None:
    desired = wanted("orders", rolled_back=ROLLED_BACK)
    made = weakened(desired, reviews=Reviews(ReviewMode.REVIEWED))
    assert outcome(made) == ([Action.ROLL_BACK], [], False)
    assert LINE in lines(plan(made))


def test_the_earlier_config_of_a_rollback_is_in_effect_while_the_next_one_is_blocked() -> None:
    """The document has another config since the rollback, and its author did not acknowledge it."""
    earlier = wanted("orders", config={"topic": "old", **REQUIRED}, rolled_back=ROLLED_BACK)
    made = weakened(wanted("orders", config={"topic": "new"}), restored={ORDERS: earlier})
    assert outcome(made) == ([Action.ROLL_BACK], [HoldKind.UNACKNOWLEDGED], True)


def test_drift_is_corrected_without_an_acknowledgement_and_a_review() -> None:
    made = weakened(reviews=Reviews(ReviewMode.REVIEWED))
    record = remember(made, made.desired.connectors[0], Origin.CREATED, NOW)
    assert outcome(replace(made, ownership={ORDERS: record})) == ([Action.CONFIGURE], [], False)


def test_a_suspended_connector_is_not_asked_for_the_acknowledgement_yet() -> None:
    made = weakened(suspensions=Suspensions(connectors={ORDERS: Suspension(SuspendedBy.COMMAND, who="ana")}))
    assert outcome(made) == ([], [HoldKind.SUSPENDED], False)


def test_a_blocked_config_takes_no_place_in_a_rollout() -> None:
    other = wanted("payments", config={"topic": "new"})
    made = weakened(policy=Policy(rollout_size=1))
    desired = replace(made.desired, connectors=(*made.desired.connectors, other))
    owned = {**made.ownership, **situation(owned=["payments"]).ownership}
    observed = {**made.observed.connectors, other.name: seen("payments")}
    made = replace(made, desired=desired, ownership=owned, observed=replace(made.observed, connectors=observed))
    assert [step.connector for step in plan(made).steps] == ["payments"]


def test_a_weaker_guarantee_needs_a_review_besides_the_acknowledgement() -> None:
    before = weakened(wanted("orders", acknowledges_delivery=True))
    shown = reviewed_plan(7, before.revision, [plan(before)])
    asked = replace(before, reviews=Reviews(ReviewMode.REVIEWED, pull_request=7))
    assert outcome(asked) == ([], [HoldKind.UNREVIEWED], False)
    (hold,) = plan(asked).connectors[0].holds
    assert hold.message == "weaker delivery"
    assert outcome(replace(before, reviews=Reviews(ReviewMode.REVIEWED, (shown,)))) == ([Action.CONFIGURE], [], False)
    both = replace(asked, desired=weakened().desired)
    assert outcome(both) == ([], [HoldKind.UNREVIEWED, HoldKind.UNACKNOWLEDGED], True)


def test_a_reviewed_plan_of_a_weaker_guarantee_is_read_back() -> None:
    shown = reviewed_plan(7, weakened().revision, [plan(weakened())])
    assert read_reviewed_plan(shown.value()) == shown
    assert digest_of([plan(weakened())]) == shown.digest


@pytest.mark.parametrize(("annotation", "steps", "hint"), rows(__file__, "annotations"))
def test_a_strimzi_resource_acknowledges_with_an_annotation(annotation: str, steps: list[str], hint: str) -> None:
    metadata = f"{LABEL}  annotations: {{{annotation}}}\n"
    state, found = read(kafka_connector("  class: org.example.OrdersSource\n", metadata=metadata))
    assert not found.errors
    made = weakened()
    planned = plan(replace(made, desired=state))
    assert [step.action.value for step in planned.steps] == steps
    assert [f"{one.location.line}: {one.hint}" for one in planned.diagnostics.errors] == ([hint] if hint else [])


@pytest.mark.parametrize("case", rows(__file__, "sinks"))
def test_sinks_that_read_records_of_aborted_transactions(case: Mapping[str, Any]) -> None:
    sources = [
        wanted(name, config={"topic": "orders", **REQUIRED, **config}) for name, config in case["sources"].items()
    ]
    sinks = [
        wanted("copy", config={"connector.class": "org.example.Sink", **config}) for config in (case["sink"],) if config
    ]
    topics = {ConnectorName(name): frozenset(map(TopicName, some)) for name, some in case.get("active", {}).items()}
    made = situation(
        [*sources, *sinks],
        map(as_observed, [*sources, *sinks]),
        exactly_once=case.get("support", "enabled"),
        topics=ReadTopics(known=topics),
    )
    said = [one for one in plan(made).warnings if "aborted" in one]
    assert [one.partition(": ")[2].partition(";")[0] for one in said] == case["says"]
