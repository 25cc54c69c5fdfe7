"""The order in which a review is published on a forge in memory: a plan that someone may merge was shown before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.cluster.manual_clock import ManualClock
from support.forge.memory_forge import PULL_REQUEST, MemoryForge
from support.server.made_up import MadeUpDaemon

from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.daemon.state import ClusterView, DaemonState
from gitops_connect.model.names import Revision
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.review.comments import ForgeWriter, ReviewCommands
from gitops_connect.review.merges import MergedPlans, MergeReports
from gitops_connect.review.pull_request_plans import PullRequestPlanner
from gitops_connect.review.reviews import PLAN, PullRequestReviews
from gitops_connect.runtime import open_runtime
from gitops_connect.settings.settings_file import load_settings

pytestmark = pytest.mark.slow


class Reviewed:
    """Pull request 7, which creates a connector, and one review of it."""

    def __init__(self, at: Workplace, planner: PullRequestPlanner) -> None:
        settings, ledger = planner.runtime.settings, planner.runtime.ledger
        self.forge, self.store, clock = MemoryForge(open=[PULL_REQUEST]), ledger.reviews, ManualClock()
        daemon = MadeUpDaemon(DaemonState({name: ClusterView(name) for name in settings.clusters}))
        merged = MergedPlans(self.forge, ledger, settings, clock)
        writer = ForgeWriter(self.forge, None)
        reports = MergeReports(writer, merged, ReviewCommands(self.forge, self.store, clock), daemon)
        self.reviews = PullRequestReviews(writer, planner, reports, daemon, clock, PollSchedule(1, 1, 1, 0), 600)
        at.git("switch", "--quiet", "--create", "topic")
        at.commit("orders.yaml", at.source("orders"))
        at.git("update-ref", PULL_REQUEST.head_ref, "HEAD")
        self.head = Revision(at.git("rev-parse", "HEAD"))

    def review(self) -> None:
        assert [*self.reviews.review_all()] == []

    def is_recorded(self) -> bool:
        return [one.head for one in self.store.plans([7], PlanPurpose.REVIEW)] == [self.head]


@pytest.fixture
def reviewed(at: Workplace) -> Iterator[Reviewed]:
    settings = load_settings(at.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(PullRequestPlanner.of(runtime)) as planner:
        yield Reviewed(at, planner)


def test_a_commit_may_be_merged_only_after_its_plan_is_shown_and_recorded(reviewed: Reviewed) -> None:
    seen = []
    reviewed.forge.before = lambda method: seen.append((method, reviewed.is_recorded()))
    reviewed.review()
    assert seen == [("comments", False), ("write_comment", False), ("set_status", True)]
    assert reviewed.forge.states(reviewed.head, PLAN) == ["success"]


def test_a_plan_that_was_shown_after_the_merge_was_not_reviewed(reviewed: Reviewed) -> None:
    """Planning takes time, and someone may merge meanwhile."""
    reviewed.forge.before = lambda method: reviewed.forge.open.clear() if method == "write_comment" else None
    reviewed.review()
    assert not reviewed.is_recorded()


def test_the_comment_shows_what_was_reviewed_after_the_merge(reviewed: Reviewed, at: Workplace) -> None:
    reviewed.review()
    (before,) = reviewed.forge.comments(7)
    at.commit("more.yaml", at.source("more"))
    at.git("update-ref", PULL_REQUEST.head_ref, "HEAD")
    reviewed.forge.before = lambda method: reviewed.forge.open.clear() if method == "comments" else None
    reviewed.review()
    assert [*reviewed.forge.comments(7)] == [before]
    assert reviewed.is_recorded(), "the plan that was shown"


def test_the_plan_of_a_pull_request_ends_after_its_time(reviewed: Reviewed, standin: StandIn) -> None:
    standin.hang("GET", r"/connectors\?.*", times=99)
    planned = reviewed.reviews.planner.plan(PULL_REQUEST, timeout=0.5)
    assert [*planned.unread] == ["local"]
    assert "ConnectUnavailable" in planned.unread["local"]
    asked = len(standin.calls)
    planned = reviewed.reviews.planner.plan(PULL_REQUEST, timeout=0)
    assert "took longer than [forge] plan_timeout" in planned.unread["local"]
    assert len(standin.calls) == asked
