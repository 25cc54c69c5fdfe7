"""What is recorded without a lease: the history, what was observed of a cluster, and the plans that people reviewed.

No plan needs the observations to be complete, and they are not part of an export of the ledger. A process that has lost
its lease also records what it did. Reviews take effect when the next plan is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, not_, select

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.column_types import attributes
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.step_selection import conditions_of
from gitops_connect.ledger.tables import (
    APPROVALS,
    CONDITIONS,
    OFFSET_POSITIONS,
    REVIEWED_PLANS,
    STEPS,
    RecordedValues,
    upsert,
)
from gitops_connect.model.applied_effects import EffectApproval
from gitops_connect.model.history_filter import HistoryFilter
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.offset_changes import OffsetChange
from gitops_connect.model.outcomes import Actor, ActorKind, Actors, JournalEntry, ManualAction, Result, by_hand
from gitops_connect.model.plans import Action
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose, ReviewedConnector, ReviewedPlan, Reviews
from gitops_connect.model.status import Condition, ConditionKey
from gitops_connect.model.strimzi import reviewed_name

KEPT_STEPS = 100_000
"""Steps of each cluster that are kept. Older ones are removed."""
REMOVE_AFTER = 100
"""So many new steps of all clusters, too many old ones are removed: to find them, the database counts all."""
SEARCH_TIMEOUT = 5.0
"""Seconds that a database may search the history. A process that writes to SQLite waits 10s for those that read."""
_NARROW = "select fewer steps: name a cluster, a connector, or a time (`--cluster`, `--connector`, `--since`)"
_PAGE = 1000
_STOPS = (Action.STOP, Action.CREATE)
_ENDS = (Action.RESUME, Action.PAUSE, Action.DELETE)
_FIELDS = [one.name for one in fields(JournalEntry)]
_STEP = [name for name in _FIELDS if name != "id"]
_ADDED = insert(STEPS).returning(STEPS.c.id, sort_by_parameter_order=True)
_OF_CLUSTER = STEPS.c.cluster == bindparam("of")
_CHANGED = and_(STEPS.c.connector != "", STEPS.c.result != Result.SKIPPED)
_TOO_OLD = select(STEPS.c.id).where(_OF_CLUSTER).order_by(STEPS.c.id.desc()).offset(bindparam("kept")).limit(1)


class StatusStore:
    """The conditions, offset positions and steps in the ledger; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.conditions = RecordedValues[ConditionKey, Condition](
            database,
            database.write,
            CONDITIONS,
            Condition,
            attrgetter("status", "reason", "message", "since", "revision"),
        )
        """All conditions of the cluster and its connectors."""
        self.offset_positions = RecordedValues[ConnectorName, OffsetPosition](
            database,
            database.write,
            OFFSET_POSITIONS,
            OffsetPosition,
            attrgetter("digest", "since", "partitions", "distance"),
        )
        """The current offsets of connectors that must move within a time, and since when."""

    def record_steps(self, cluster: ClusterName, entries: Iterable[JournalEntry]) -> list[int]:
        """Add steps of this cluster, at least one, to the history, and return their ids in this order.

        The oldest are removed at `KEPT_STEPS`.
        """
        here = {"of": cluster}
        with self._database.write() as connection:
            numbers = list(connection.scalars(_ADDED, [attributes(entry, *_STEP) for entry in entries]))
            if any(divmod(one, REMOVE_AFTER)[1] == 0 for one in numbers):
                oldest = connection.scalar(_TOO_OLD, {**here, "kept": KEPT_STEPS})
                if oldest is not None:
                    connection.execute(delete(STEPS).where(_OF_CLUSTER, STEPS.c.id <= oldest), here)
        return numbers

    def remove_steps(self, before: datetime) -> int:
        """Remove the steps of all clusters before this time, and return how many."""
        with self._database.write() as connection:
            return connection.execute(delete(STEPS).where(STEPS.c.at < before)).rowcount

    def steps(
        self,
        cluster: ClusterName | None = None,
        connector: ConnectorName | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> list[JournalEntry]:
        """The last steps, the newest first; only those with a smaller id than `before`, if it is given."""
        chosen = HistoryFilter((cluster,) if cluster else (), (connector,) if connector else ())
        return self.history(chosen, before=before, limit=limit)

    def history(self, chosen: HistoryFilter, *, before: int | None = None, limit: int = 100) -> list[JournalEntry]:
        """The last steps that a filter selects, the newest first; only those with a smaller id than `before`."""
        query = select(*STEPS.c[tuple(_FIELDS)]).where(*conditions_of(chosen)).order_by(STEPS.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(STEPS.c.id < before)
        with self._reading_steps() as connection:
            return [JournalEntry(*tuple[Any, ...](row)) for row in connection.execute(query)]

    @contextmanager
    def _reading_steps(self) -> Iterator[Connection]:
        """Not all steps are checked when the ledger is opened."""
        try:
            with self._database.read_within(SEARCH_TIMEOUT, _NARROW) as connection:
                yield connection
        except (KeyError, ValueError) as error:
            raise LedgerUnusable(f"the ledger {self._database.place} is damaged: table steps: {error}") from error

    def whole_history(self, chosen: HistoryFilter) -> Iterator[JournalEntry]:
        """All steps that a filter selects, the newest first. They are read in pages: no transaction is long."""
        page = self.history(chosen, limit=_PAGE)
        while page:
            yield from page
            page = self.history(chosen, before=page[-1].id, limit=_PAGE) if len(page) == _PAGE else []

    def newest_step(self) -> int:
        with self._database.read() as connection:
            return connection.scalar(select(func.max(STEPS.c.id))) or 0

    def last_actors(self, cluster: ClusterName) -> Actors:
        """Who or what changed each connector of the cluster last. A skipped step changed nothing."""
        last = select(func.max(STEPS.c.id)).where(_CHANGED, STEPS.c.cluster == cluster).group_by(STEPS.c.connector)
        return self._actors(STEPS.c.id.in_(last))

    def later_actors(self, after: int) -> Actors:
        """Who or what changed each connector last, of all clusters, in the steps with a larger id."""
        return self._actors(and_(STEPS.c.id > after, _CHANGED))

    def _actors(self, chosen: ColumnElement[bool]) -> Actors:
        query = select(*STEPS.c["cluster", "connector", "actor"]).where(chosen).order_by(STEPS.c.id)
        with self._reading_steps() as connection:
            return {(row.cluster, row.connector): row.actor for row in connection.execute(query)}

    def author_of(self, cluster: ClusterName, revision: Revision) -> str:
        """The author of a commit that was reconciled before; empty if no step was recorded with it."""
        query = (
            select(STEPS.c.author).filter_by(cluster=cluster, revision=revision).where(STEPS.c.author != "").limit(1)
        )
        with self._database.read() as connection:
            return connection.scalar(query) or ""

    def failed_steps(self, cluster: ClusterName) -> dict[ConnectorName, str]:
        """Which step failed and why, of each connector whose last step has failed.

        What people did besides is no step. A restart that did not help is no failed change: the health shows it.
        """
        by_a_person = and_(STEPS.c.action == Action.RESTART, STEPS.c.actor == ActorKind.COMMAND)
        was_begun = and_(STEPS.c.action.in_(tuple(Action)), STEPS.c.result != Result.SKIPPED)
        of_plans = (STEPS.c.cluster == cluster, was_begun, not_(by_a_person))
        last = select(func.max(STEPS.c.id)).where(*of_plans).group_by(STEPS.c.connector)
        query = select(STEPS.c.connector, STEPS.c.action, STEPS.c.message)
        with self._database.read() as connection:
            failed = (STEPS.c.result == Result.FAILED, STEPS.c.action != Action.RESTART)
            rows = connection.execute(query.where(STEPS.c.id.in_(last), *failed))
            return {one.connector: f"{one.action.value} failed: {one.message}" for one in rows}

    def around(
        self, cluster: ClusterName, connector: ConnectorName, first: datetime, last: datetime
    ) -> tuple[JournalEntry | None, JournalEntry | None]:
        """The step that had stopped the connector at `first`, or created it, and the next one that ended this.

        None if the journal does not have it, or has another one instead.
        """
        query = select(*STEPS.c[tuple(_FIELDS)]).filter_by(cluster=cluster, connector=connector)
        query = query.where(STEPS.c.action.in_((*_STOPS, *_ENDS)), STEPS.c.result != Result.SKIPPED).limit(1)
        before = query.where(STEPS.c.at <= first).order_by(STEPS.c.id.desc())
        after = query.where(STEPS.c.at >= last).order_by(STEPS.c.id)
        with self._database.read() as connection:
            found = [connection.execute(one).one_or_none() for one in (before, after)]
        entries = [None if row is None else JournalEntry(*tuple[Any, ...](row)) for row in found]
        stop, end = (
            entry if entry is not None and entry.action in actions else None
            for entry, actions in zip(entries, (_STOPS, _ENDS), strict=True)
        )
        return stop, end

    def unproven(self, cluster: ClusterName, revision: Revision) -> frozenset[ConnectorName]:
        """The connectors whose last step for this revision has failed, or is not confirmed yet.

        The steps after a failed one are skipped, and count for nothing.
        """
        query = select(STEPS.c.connector, STEPS.c.result).filter_by(cluster=cluster, revision=revision)
        query = query.where(STEPS.c.result != Result.SKIPPED)
        with self._database.read() as connection:
            last = {one.connector: one.result for one in connection.execute(query.order_by(STEPS.c.id))}
        return frozenset(name for name, result in last.items() if result in (Result.FAILED, Result.UNCONFIRMED))


class ReviewStore:
    """The reviews in the ledger; its methods raise what those of `Ledger` raise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, plan: ReviewedPlan, purpose: PlanPurpose, at: datetime) -> None:
        """Record a plan that its pull request shows, instead of the earlier one of the same purpose."""
        row = {"pull_request": plan.pull_request, "purpose": purpose, "digest": plan.digest, "at": at, "plan": plan}
        with self._database.write() as connection:
            upsert(connection, REVIEWED_PLANS, [row])

    def plans(self, pull_requests: Collection[int], purpose: PlanPurpose) -> list[ReviewedPlan]:
        query = (
            select(REVIEWED_PLANS.c.plan)
            .where(REVIEWED_PLANS.c.pull_request.in_(pull_requests), REVIEWED_PLANS.c.purpose == purpose)
            .order_by(REVIEWED_PLANS.c.pull_request)
        )
        with self._database.read() as connection:
            return list(connection.scalars(query))

    def last(self, pull_request: int) -> ReviewedPlan | None:
        """The plan that a pull request has shown last, of either purpose; None if it has shown none."""
        query = select(REVIEWED_PLANS.c.plan).filter_by(pull_request=pull_request).order_by(REVIEWED_PLANS.c.at.desc())
        with self._database.read() as connection:
            return connection.scalars(query).first()

    def approve(self, approval: Approval) -> bool:
        """Record an approval; the first one of each person is kept.

        False if the pull request shows no plan with this digest.
        """
        key = attributes(approval, "pull_request", "digest")
        with self._database.write() as connection:
            shown = connection.execute(select(REVIEWED_PLANS).filter_by(**key)).first()
            if shown is None:
                return False
            own = {**key, "who": approval.who}
            if connection.execute(select(APPROVALS).filter_by(**own)).first() is None:
                values = {**own, **attributes(approval, "at", "place"), "plan": shown.plan}
                connection.execute(insert(APPROVALS).values(values))
                _add_to_history(connection, ManualAction.APPROVE, approval, shown.plan)
            return True

    def revoke(self, revocation: Approval) -> bool:
        """Remove all approvals of the plan that this person no longer wants to be applied. False if there is none."""
        these = attributes(revocation, "pull_request", "digest")
        with self._database.write() as connection:
            approved = connection.execute(select(APPROVALS).filter_by(**these)).first()
            if approved is None:
                return False
            connection.execute(delete(APPROVALS).filter_by(**these))
            _add_to_history(connection, ManualAction.REVOKE, revocation, approved.plan)
            return True

    def approved(self, pull_requests: Collection[int], needed: int = 1) -> list[ReviewedPlan]:
        """The plans of these pull requests that so many people have approved, also those that they no longer show."""
        query = select(APPROVALS).where(APPROVALS.c.pull_request.in_(pull_requests)).order_by(APPROVALS.c.at.desc())
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        people = Counter((row.pull_request, row.digest) for row in rows)
        plans = {(row.pull_request, row.digest): row.plan for row in rows}
        return [plan for key, plan in plans.items() if people[key] >= needed]

    def approvals(self, pull_request: int) -> list[Approval]:
        """Who has approved which plan of a pull request, the last first."""
        query = select(APPROVALS).filter_by(pull_request=pull_request).order_by(APPROVALS.c.at.desc())
        with self._database.read() as connection:
            return [Approval(*row[:-1]) for row in connection.execute(query)]

    def effect_approvals(
        self, reviews: Reviews, cluster: ClusterName, offset_change: OffsetChange
    ) -> tuple[EffectApproval, ...]:
        """Who has approved, or has merged, which destructive effects of the offset change."""
        key, found = (reviewed_name(offset_change.name), offset_change.digest), []
        for plan in (*reviews.approved, *(one for one in reviews.merged if one not in reviews.approved)):
            seen = plan.connectors.get(cluster, {}).get(offset_change.connector, ReviewedConnector())
            if effects := tuple(one.words for one in seen.effects if (one.offset_change, one.digest) == key):
                people = self.approvals(plan.pull_request) if plan in reviews.approved else []
                whose = [(one.who, one.at) for one in people if one.digest == plan.digest]
                merged: list[tuple[str, datetime | None]] = [("", None)]
                found += [
                    EffectApproval(plan.pull_request, plan.digest, who, at, effects) for who, at in whose or merged
                ]
        return tuple(found)

    def remove_before(self, at: datetime, kept: Collection[int]) -> None:
        """Remove older plans and approvals, except those of the pull requests that are `kept`, as they are needed."""
        with self._database.write() as connection:
            for table in (REVIEWED_PLANS, APPROVALS):
                connection.execute(delete(table).where(table.c.at < at, table.c.pull_request.not_in(kept)))


def _add_to_history(connection: Connection, action: ManualAction, decision: Approval, plan: ReviewedPlan) -> None:
    """Add what a person decided about a plan: once for each cluster of the plan."""
    actor = Actor(ActorKind.FORGE, decision.who, plan.head)
    for cluster in plan.connectors:
        entry = by_hand(actor, (cluster, ConnectorName("")), action, decision.at, decision.place)
        entry = replace(entry, pull_request=decision.pull_request, approved_digest=decision.digest)
        connection.execute(_ADDED, attributes(entry, *_STEP))
