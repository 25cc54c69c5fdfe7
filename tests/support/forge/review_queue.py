"""Reviews of pull requests on a forge in memory, with everything around them made up."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.daemon.state import DaemonState
from gitops_connect.model.hold import Hold
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange, Step
from gitops_connect.model.pull_requests import PullRequest, PullRequestPlan
from gitops_connect.model.reviewed_plans import PlanPurpose, ReviewedPlan
from gitops_connect.review.comments import ForgeWriter
from gitops_connect.review.review_inputs import ReviewInputs
from gitops_connect.review.reviews import PullRequestReviews
from support.cluster.manual_clock import ManualClock
from support.forge.memory_forge import PULL_REQUEST, MemoryForge
from support.planner.plans_of_steps import plan
from support.server.made_up import MadeUpDaemon


def revision(number: int) -> Revision:
    return Revision(f"{number:040x}")


def pull_request(number: int, head: int | None = None) -> PullRequest:
    return replace(
        PULL_REQUEST, number=number, head=revision(head or number), url=f"https://git.example/pulls/{number}"
    )


@dataclass
class Planner:
    """Plans nothing but offset changes of the connectors in `changes`. `before` is called with each pull request."""

    changes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    before: Callable[[PullRequest], None] = lambda _: None
    fails: dict[int, Exception] = field(default_factory=dict)
    planned: list[int] = field(default_factory=list)
    steps: tuple[Step, ...] = ()
    holds: tuple[Hold, ...] = ()
    is_unread: bool = False

    def plan(self, one: PullRequest, timeout: float, _known: Collection[Plan]) -> PullRequestPlan:
        assert timeout == 600
        self.planned.append(one.number)
        self.before(one)
        if one.number in self.fails:
            raise self.fails[one.number]
        if self.is_unread:
            return PullRequestPlan(one.number, one.head, one.target, unread={ClusterName("local"): "it is down"})
        rewinds = [rewind(name) for name in self.changes.get(one.number, ())]
        made = plan(*self.steps)
        held = [ConnectorPlan(ConnectorName("held"), holds=self.holds)] if self.holds else []
        made = replace(made, connectors=(*made.connectors, *rewinds, *held))
        return PullRequestPlan(one.number, one.head, one.target, (made,))


def rewind(name: str) -> ConnectorPlan:
    offset_change = PlannedOffsetChange(
        OffsetChangeName("back"), ConnectorName(name), OffsetChangeKind.ALTER, OffsetChangeStatus.PLANNED
    )
    return ConnectorPlan(ConnectorName(name), (), offset_changes=(offset_change,))


@dataclass
class Recorded:
    """The plans that were shown, as the ledger has them."""

    is_new: bool = False
    plans: list[tuple[int, PlanPurpose]] = field(default_factory=list)
    last: ReviewedPlan | None = None

    def last_shown(self, number: int) -> ReviewedPlan | None:
        return self.last

    def is_changed(self, plan: ReviewedPlan) -> bool:
        return self.is_new

    def is_news(self, plan: ReviewedPlan) -> bool:
        return self.is_new

    def record(self, plan: ReviewedPlan, purpose: PlanPurpose) -> None:
        self.plans.append((plan.pull_request, purpose))
        self.last = plan


@dataclass
class Merges:
    """What is reported about merges: nothing, but it counts how often."""

    news: bool = False
    reports: int = 0
    merged: Recorded = field(default_factory=Recorded)

    def has_news(self) -> bool:
        return self.news

    def report(self) -> list[Exception]:
        self.reports, self.news = self.reports + 1, False
        return []

    def carry_out_commands(self, *_: object) -> None:
        """There are no commands."""


class Queue:
    """The reviews, with everything around them made up."""

    def __init__(self, *numbers: int) -> None:
        self.forge, self.planner, self.merges = MemoryForge(), Planner(), Merges()
        self.forge.open = [pull_request(number) for number in numbers]
        self.clock, self.state = ManualClock(), DaemonState({})
        daemon: Any = MadeUpDaemon(self.state)
        inputs = ReviewInputs(self.forge, self.state, self.clock)
        self.forge.now = self.clock.now
        parts: Any = (ForgeWriter(self.forge, None), inputs, self.planner, self.merges, daemon, self.clock)
        self.reviews = PullRequestReviews(*parts, PollSchedule(60, 1, 1, 0), plan_timeout=600)

    def review(self) -> list[int]:
        """Review once. Returns the numbers in the order in which they were planned."""
        self.planner.planned = []
        self.errors = [*self.reviews.review_all()]
        return self.planner.planned

    def push(self, number: int, head: int) -> None:
        self.forge.open = [pull_request(number, head) if one.number == number else one for one in self.forge.open]

    def bodies(self, number: int) -> list[str]:
        return [one.body for one in self.forge.comments(number)]

    def body(self, number: int) -> str:
        (comment,) = self.forge.comments(number)
        return comment.body
