"""The plans that pull requests have shown, and who has approved which plan.

They need no lease: they take effect when the next plan is made.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, select

from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import APPROVALS, REVIEWED_PLANS, upsert
from gitops_connect.model.canonical import canonical
from gitops_connect.model.names import Digest
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose, ReviewedPlan, read_reviewed_plan


class ReviewStore:
    """The reviews in the ledger; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, plan: ReviewedPlan, purpose: PlanPurpose, at: datetime) -> None:
        """Record a plan that its pull request shows, instead of the earlier one of the same purpose."""
        key = {"pull_request": plan.pull_request, "purpose": purpose.value}
        values = {"digest": plan.digest, "at": at, "plan": _text(plan)}
        with self._database.write() as connection:
            upsert(connection, REVIEWED_PLANS, key, values)

    def plans(self, pull_requests: Collection[int], purpose: PlanPurpose) -> list[ReviewedPlan]:
        """The last plans that these pull requests have shown for that purpose."""
        query = (
            select(REVIEWED_PLANS.c.plan)
            .where(REVIEWED_PLANS.c.pull_request.in_(pull_requests), REVIEWED_PLANS.c.purpose == purpose.value)
            .order_by(REVIEWED_PLANS.c.pull_request)
        )
        with self._database.read() as connection:
            return [_plan(row.plan) for row in connection.execute(query)]

    def approve(self, approval: Approval) -> bool:
        """Record that someone has approved the plan with this digest; the first approval of a plan is kept.

        Returns False, and records nothing, if the pull request does not show a plan with this digest.
        """
        shown = (
            select(REVIEWED_PLANS.c.plan)
            .where(REVIEWED_PLANS.c.pull_request == approval.pull_request)
            .where(REVIEWED_PLANS.c.digest == approval.digest)
        )
        with self._database.write() as connection:
            plan = connection.scalars(shown).first()
            if plan is None:
                return False
            same = (APPROVALS.c.pull_request == approval.pull_request) & (APPROVALS.c.digest == approval.digest)
            if connection.execute(select(APPROVALS.c.who).where(same)).first() is None:
                key = {"pull_request": approval.pull_request, "digest": approval.digest}
                values = {"who": approval.who, "at": approval.at, "place": approval.place, "plan": plan}
                upsert(connection, APPROVALS, key, values)
            return True

    def approved(self, pull_requests: Collection[int]) -> list[ReviewedPlan]:
        """The approved plans of these pull requests, also those that they no longer show."""
        query = (
            select(APPROVALS.c.plan).where(APPROVALS.c.pull_request.in_(pull_requests)).order_by(APPROVALS.c.at.desc())
        )
        with self._database.read() as connection:
            return [_plan(row.plan) for row in connection.execute(query)]

    def approvals(self, pull_request: int) -> list[Approval]:
        """Who has approved which plan of a pull request, the last first."""
        query = select(APPROVALS).where(APPROVALS.c.pull_request == pull_request).order_by(APPROVALS.c.at.desc())
        with self._database.read() as connection:
            return [_approval(row) for row in connection.execute(query)]

    def remove_before(self, at: datetime, kept: Collection[int]) -> None:
        """Remove older plans and approvals, except those of the pull requests that are `kept`, as they are needed."""
        with self._database.write() as connection:
            for table in (REVIEWED_PLANS, APPROVALS):
                connection.execute(delete(table).where(table.c.at < at, table.c.pull_request.not_in(kept)))


def is_stored_plan(text: Any) -> bool:
    """Whether the text is what `record` has written."""
    try:
        _plan(text)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _text(plan: ReviewedPlan) -> str:
    return canonical(plan.value()).decode()


def _plan(text: str) -> ReviewedPlan:
    return read_reviewed_plan(json.loads(text))


def _approval(row: Row[Any]) -> Approval:
    return Approval(row.pull_request, Digest(row.digest), row.who, row.at, row.place)
