"""The journal of steps, and reviews in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.files.tables import table
from support.planner.offset_change_values import LATER, LOCAL, NOON
from support.planner.offset_change_values import SKIP as CHANGE

from gitops_connect.ledger import status_store
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.applied_effects import EffectApproval
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offsets import PartitionText
from gitops_connect.model.outcomes import JournalEntry, Result
from gitops_connect.model.plans import Action
from gitops_connect.model.reviewed_plans import (
    Approval,
    DestructiveEffect,
    DestructiveKind,
    PlanPurpose,
    ReviewedConnector,
    ReviewedPlan,
    Reviews,
)
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType

pytestmark = pytest.mark.slow

ORDERS = ConnectorName("orders")
SKIP = DestructiveEffect(
    DestructiveKind.SKIP, OffsetChangeName("x"), Digest("m"), 1, (PartitionText('{"p":1}'),), 5, "5 records"
)
PLAN = ReviewedPlan(7, Revision("r1"), Digest("d1"), {LOCAL: {ConnectorName("ördérs"): ReviewedConnector((), (SKIP,))}})
OTHER = ReviewedPlan(8, Revision("r1"), Digest("d8"))
NEXT = replace(PLAN, digest=Digest("d2"), connectors={})
ANA = Approval(7, Digest("d1"), "ana", NOON, "https://git.example/7#1")


def step(number: int, cluster: ClusterName = LOCAL, connector: str = "orders") -> JournalEntry:
    at = NOON + timedelta(seconds=number)
    names = (cluster, at, Revision("r1"), "Ann", ConnectorName(connector))
    return JournalEntry(*names, Action.ALTER, "back", Result.APPLIED, "declared", f"number {number}", 0.5)


def test_the_journal_returns_the_newest_steps_first_in_pages_and_keeps_a_limited_number_of_each_cluster(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_store, "KEPT_STEPS", 6)
    monkeypatch.setattr(status_store, "REMOVE_AFTER", 1)
    ledger.status.record_steps(ClusterName("another"), [step(7, ClusterName("another"))])
    ledger.status.record_steps(LOCAL, [*map(step, range(6)), step(6, connector="payments")])
    page = ledger.status.steps(LOCAL, ORDERS, limit=3)
    assert [one.message for one in page] == ["number 5", "number 4", "number 3"]
    following = ledger.status.steps(LOCAL, ORDERS, before=page[-1].id, limit=3)
    assert [one.message for one in following] == ["number 2", "number 1"], "number 0 is removed"
    assert [one.cluster for one in ledger.status.steps()] == [*[LOCAL] * 6, "another"]
    assert page[0].author == "Ann"


def test_conditions_of_one_reconciliation_share_their_time_and_their_revision_in_memory(ledger: Ledger) -> None:
    condition = Condition(ConditionType.READY, ConditionStatus.TRUE, "Ready", "", NOON, Revision("r1"))
    recorded = {(ConnectorName(name), ConditionType.READY, ""): condition for name in ("orders", "payments")}
    ledger.status.conditions.record(LOCAL, recorded)
    found = ledger.status.conditions.of(LOCAL)
    assert found == recorded
    orders, payments = found.values()
    assert orders.since is payments.since
    assert orders.revision is payments.revision


@pytest.mark.parametrize("case", table(__file__, "around"), ids=lambda case: case["case"])
def test_the_steps_around_a_change_are_those_that_stopped_its_connector_and_started_it(
    ledger: Ledger, case: Mapping[str, Any]
) -> None:
    steps = [replace(step(at), action=Action(name), result=Result(result)) for at, name, result in case["steps"]]
    others = [replace(one, connector=ConnectorName("payments"), action=Action.RESUME) for one in steps]
    ledger.status.record_steps(LOCAL, [*steps, *others])
    first, last = (NOON + timedelta(seconds=at) for at in (10, 20))
    found = ledger.status.around(LOCAL, ORDERS, first, last)
    assert [one and (one.at - NOON).seconds for one in found] == case["found"]


def test_the_approvals_of_an_effect_are_those_of_the_same_change(ledger: Ledger) -> None:
    change = replace(CHANGE, name=SKIP.offset_change, connector=ConnectorName("ördérs"), digest=SKIP.digest)
    ledger.reviews.record(PLAN, PlanPurpose.APPROVAL, NOON)
    for who in ("ana", "bob"):
        ledger.reviews.approve(replace(ANA, who=who))
    merged = replace(PLAN, pull_request=6)
    reviews = Reviews(merged=(merged, OTHER), approved=(PLAN, NEXT))
    effects = ("skip of 1 partition by 5 records (offset change x)",)
    assert sorted(ledger.reviews.effect_approvals(reviews, LOCAL, change), key=lambda one: one.who) == [
        EffectApproval(6, PLAN.digest, "", None, effects),
        EffectApproval(7, PLAN.digest, "ana", NOON, effects),
        EffectApproval(7, PLAN.digest, "bob", NOON, effects),
    ]
    assert ledger.reviews.effect_approvals(reviews, LOCAL, replace(change, digest=Digest("other"))) == ()
    assert ledger.reviews.effect_approvals(reviews, ClusterName("another"), change) == ()


def test_a_plan_replaces_the_earlier_one_of_its_pull_request_and_purpose(ledger: Ledger) -> None:
    for plan in (PLAN, OTHER):
        ledger.reviews.record(plan, PlanPurpose.REVIEW, NOON)
    assert ledger.reviews.plans([7, 8, 9], PlanPurpose.REVIEW) == [PLAN, OTHER]
    ledger.reviews.record(NEXT, PlanPurpose.APPROVAL, LATER)
    assert ledger.reviews.plans([7], PlanPurpose.REVIEW) == [PLAN]
    assert (ledger.reviews.last(7), ledger.reviews.last(9)) == (NEXT, None)
    ledger.reviews.record(NEXT, PlanPurpose.REVIEW, LATER)
    assert ledger.reviews.plans([7], PlanPurpose.REVIEW) == ledger.reviews.plans([7], PlanPurpose.APPROVAL) == [NEXT]
    assert ledger.reviews.plans([], PlanPurpose.REVIEW) == []


def test_only_a_plan_that_is_shown_can_be_approved_and_it_stays_approved(ledger: Ledger) -> None:
    assert not ledger.reviews.approve(ANA)
    ledger.reviews.record(PLAN, PlanPurpose.APPROVAL, NOON)
    assert not ledger.reviews.approve(replace(ANA, pull_request=8)), "the digest of another pull request"
    assert ledger.reviews.approve(ANA)
    assert ledger.reviews.approve(replace(ANA, at=LATER)), "the first approval of a person is kept"
    assert ledger.reviews.approved([7], 2) == []
    bob = replace(ANA, who="bob", at=LATER)
    assert ledger.reviews.approve(bob)
    assert ledger.reviews.approved([7], 2) == [PLAN]
    ledger.reviews.record(NEXT, PlanPurpose.APPROVAL, LATER)
    assert not ledger.reviews.approve(replace(ANA, digest=Digest("d3")))
    assert ledger.reviews.approved([7, 8]) == [PLAN]
    assert not ledger.reviews.revoke(replace(ANA, pull_request=8)), "it was approved on another pull request"
    assert ledger.reviews.approved([7, 8]) == [PLAN]
    assert ledger.reviews.approvals(7) == [bob, ANA]
    assert ledger.reviews.approvals(8) == []


def test_old_reviews_are_removed_unless_they_are_needed(ledger: Ledger) -> None:
    for plan in (PLAN, OTHER):
        ledger.reviews.record(plan, PlanPurpose.REVIEW, NOON)
    assert ledger.reviews.approve(ANA)
    ledger.reviews.remove_before(NOON, [])
    assert ledger.reviews.plans([7, 8], PlanPurpose.REVIEW) == [PLAN, OTHER]
    ledger.reviews.remove_before(NOON + timedelta(seconds=1), [8])
    assert ledger.reviews.plans([7, 8], PlanPurpose.REVIEW) == [OTHER]
    assert ledger.reviews.approved([7]) == []
