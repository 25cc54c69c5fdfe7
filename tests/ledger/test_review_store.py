"""Reviewed plans and approvals in the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from support.planner.operation_values import LATER, LOCAL, NOON

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.offsets import PartitionText
from gitops_connect.model.reviewed_plans import (
    Approval,
    DestructiveEffect,
    DestructiveKind,
    PlanPurpose,
    ReviewedConnector,
    ReviewedPlan,
)

SKIP = DestructiveEffect(
    DestructiveKind.SKIP, OperationName("x"), Digest("m"), 1, (PartitionText('{"p":1}'),), 5, "5 records"
)
PLAN = ReviewedPlan(7, Revision("r1"), Digest("d1"), {LOCAL: {ConnectorName("ördérs"): ReviewedConnector((), (SKIP,))}})
OTHER = ReviewedPlan(8, Revision("r1"), Digest("d8"))
NEXT = replace(PLAN, digest=Digest("d2"), connectors={})
ANA = Approval(7, Digest("d1"), "ana", NOON, "https://git.example/7#1")


def test_a_plan_replaces_the_earlier_one_of_its_pull_request_and_purpose(ledger: Ledger) -> None:
    for plan in (PLAN, OTHER):
        ledger.reviews.record(plan, PlanPurpose.REVIEW, NOON)
    assert ledger.reviews.plans([7, 8, 9], PlanPurpose.REVIEW) == [PLAN, OTHER]
    ledger.reviews.record(NEXT, PlanPurpose.APPROVAL, NOON)
    assert ledger.reviews.plans([7], PlanPurpose.REVIEW) == [PLAN]
    ledger.reviews.record(NEXT, PlanPurpose.REVIEW, LATER)
    assert ledger.reviews.plans([7], PlanPurpose.REVIEW) == ledger.reviews.plans([7], PlanPurpose.APPROVAL) == [NEXT]
    assert ledger.reviews.plans([], PlanPurpose.REVIEW) == []


def test_only_a_plan_that_is_shown_can_be_approved_and_it_stays_approved(ledger: Ledger) -> None:
    assert not ledger.reviews.approve(ANA)
    ledger.reviews.record(PLAN, PlanPurpose.APPROVAL, NOON)
    assert not ledger.reviews.approve(replace(ANA, pull_request=8)), "the digest of another pull request"
    assert ledger.reviews.approve(ANA)
    assert ledger.reviews.approve(replace(ANA, who="bob", at=LATER))
    ledger.reviews.record(NEXT, PlanPurpose.APPROVAL, LATER)
    assert not ledger.reviews.approve(replace(ANA, digest=Digest("d3")))
    assert ledger.reviews.approved([7, 8]) == [PLAN]
    assert ledger.reviews.approvals(7) == [ANA]
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
