"""The order in which pull requests are planned and published on a forge in memory, and what none can stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.cluster.manual_clock import START, ManualClock
from support.forge.memory_forge import PULL_REQUEST, MemoryForge
from support.forge.review_queue import Queue, pull_request, revision
from support.planner.plans_of_steps import step
from support.server.made_up import MadeUpDaemon

from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.daemon.state import ClusterView, DaemonState
from gitops_connect.errors import ForgeUnavailable, SourceRefused, SourceUnavailable
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import Revision
from gitops_connect.model.plans import Action
from gitops_connect.model.pull_requests import PullRequest
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.review.comments import ForgeWriter, ReviewCommands
from gitops_connect.review.merges import MergedPlans, MergeReports
from gitops_connect.review.pull_request_plans import PullRequestPlanner
from gitops_connect.review.review_inputs import ReviewInputs
from gitops_connect.review.reviews import PLAN, PullRequestReviews
from gitops_connect.runtime import open_runtime
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings


@pytest.mark.slow
def test_each_of_2000_pull_requests_is_published_before_the_next_one_is_planned() -> None:
    queue = Queue(*range(1, 2001))
    seen: list[tuple[int, int]] = []
    queue.planner.before = lambda _: seen.append(
        (len(queue.forge.comments_of), len(queue.state.snapshot.pull_requests))
    )
    assert queue.review() == [*range(2000, 0, -1)]
    assert queue.errors == []
    assert seen == [(number, number) for number in range(2000)]
    assert [one.pull_request.number for one in queue.state.snapshot.pull_requests] == [*range(1, 2001)]


def test_a_push_comes_first_and_then_what_was_reviewed_the_longest_time_ago() -> None:
    queue = Queue(1, 2, 3, 4)
    assert queue.review() == [4, 3, 2, 1]
    queue.push(2, 22)
    queue.forge.open.append(pull_request(5))
    assert queue.review() == [5, 2, 4, 3, 1]
    assert queue.forge.states(revision(22), PLAN) == ["pending", "success"]


def test_a_push_or_a_merge_during_a_review_does_not_wait_for_all_others() -> None:
    queue = Queue(1, 2, 3, 4)

    def push(one: PullRequest) -> None:
        queue.clock.seconds += 11  # a list of the pull requests is not read after each of our own webhooks
        if one.number == 3:
            queue.push(4, 44)
            queue.forge.open.append(pull_request(9))
            queue.reviews.review_now()

    queue.planner.before = push
    assert queue.review() == [4, 3, 9, 4, 2, 1]
    queue.planner.before = lambda _: setattr(queue.clock, "seconds", queue.clock.seconds + 61)
    queue.forge.open = [one for one in queue.forge.open if one.number != 3]
    assert sorted(queue.review()) == [1, 2, 4, 9]
    reports = queue.merges.reports
    queue.planner.before = lambda one: setattr(queue.merges, "news", one.number == 4)
    queue.review()
    assert queue.merges.reports == reports + 1


def test_pushes_without_an_end_do_not_delay_the_others() -> None:
    queue = Queue(1, 2, 3)

    def push(one: PullRequest) -> None:
        queue.clock.seconds += 61
        queue.push(3, 1000 + int(queue.clock.seconds))

    queue.planner.before = push
    assert queue.review() == [3, 3, 2, 1]


def test_a_bug_in_one_pull_request_is_contained_and_said() -> None:
    queue = Queue(1, 2, 3)

    def fail_later(method: str) -> None:
        if method == "write_comment" and queue.planner.planned[-1] == 3:
            raise KeyError("x")

    queue.planner.fails, queue.forge.before = {2: KeyError("x")}, fail_later
    assert queue.review() == [3, 2, 1]
    assert [type(error) for error in queue.errors] == [KeyError, KeyError]
    notes = ["while the plan of pull request 3 was published", "while pull request 2 was planned"]
    assert [error.__notes__ for error in queue.errors] == [[note] for note in notes]
    assert "Not planned: gitops-connect failed with an internal error." in queue.body(2)
    assert queue.forge.states(revision(2), PLAN) == ["failure"]
    assert queue.forge.states(revision(1), PLAN) == ["success"]


def test_a_bug_anywhere_else_does_not_end_the_reviews(caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue(1)

    def fail() -> list[Exception]:
        queue.reviews.end()
        raise KeyError("x")

    queue.merges.report = fail  # type: ignore[method-assign]
    queue.reviews.run()
    assert queue.planner.planned == [1]
    (record,) = [one for one in caplog.records if one.getMessage() == "bug"]
    assert record.exc_info is not None


def test_documents_that_git_refuses_fail_the_check_with_the_reason() -> None:
    queue = Queue(1)
    queue.planner.fails = {1: SourceRefused("the tree has more than 100,000 files")}
    queue.review()
    (status,) = queue.forge.statuses[pull_request(1).head, PLAN]
    assert (status.state.value, status.description) == (
        "failure",
        "SourceRefused: the tree has more than 100,000 files",
    )


def test_a_repository_that_cannot_be_read_for_one_does_not_stop_the_others() -> None:
    queue = Queue(1, 2, 3)
    queue.planner.fails = {3: SourceUnavailable("no refs/pull/3/head")}
    assert queue.review() == [3, 2, 1]
    assert [str(error) for error in queue.errors] == ["no refs/pull/3/head"]
    assert queue.review() == [3, 2, 1]


@pytest.mark.parametrize(
    ("error", "planned"),
    [
        (ForgeUnavailable("limit", START + timedelta(minutes=9)), [[6], [5]]),
        (ForgeUnavailable("HTTP 502"), [[6, 5, 4], [3, 2, 1]]),
    ],
)
def test_a_forge_that_does_not_answer_ends_a_review_and_the_next_one_continues(
    error: Exception, planned: list[list[int]]
) -> None:
    queue = Queue(*range(1, 7))

    def fail(method: str) -> None:
        if method == "write_comment":
            raise error

    queue.forge.before = fail
    assert [queue.review(), queue.review()] == planned


def test_a_comment_names_the_pull_requests_that_change_the_same_offsets_as_far_as_they_are_known() -> None:
    queue = Queue(1, 2, 3)
    queue.planner.changes = {1: ("orders",), 2: ("payments",), 3: ("orders", "payments")}
    named: list[bool] = []
    queue.planner.before = lambda one: named.append("also changes offsets" in queue.body(3)) if one.number < 3 else None
    queue.review()
    assert named == [False, False], "the others were not planned yet"
    for number, others in ((1, [3]), (2, [3]), (3, [1, 2])):
        assert [other for other in (1, 2, 3) if f"https://git.example/pulls/{other})" in queue.body(number)] == others
    queue.planner.before = lambda _: None
    before = queue.forge.comments_of[3]
    queue.review()
    assert queue.forge.comments_of[3] == before
    queue.forge.open = [one for one in queue.forge.open if one.number != 1]
    queue.planner.changes[2] = ()
    queue.review()
    assert "also changes offsets" not in queue.body(3)


class Reviewed:
    """Pull request 7, which creates a connector, and one review of it."""

    def __init__(self, at: Workplace, planner: PullRequestPlanner) -> None:
        settings, ledger = planner.runtime.settings, planner.runtime.ledger
        self.forge, self.store, clock = MemoryForge(open=[PULL_REQUEST]), ledger.reviews, ManualClock()
        daemon = MadeUpDaemon(DaemonState({name: ClusterView(name) for name in settings.clusters}))
        merged = MergedPlans(self.forge, ledger, settings, clock)
        writer = ForgeWriter(self.forge, None)
        reports = MergeReports(writer, merged, ReviewCommands(self.forge, self.store, clock), daemon)
        inputs = ReviewInputs(self.forge, daemon.state, clock)
        self.reviews = PullRequestReviews(
            writer, inputs, planner, reports, daemon, clock, PollSchedule(1, 1, 1, 0), 600
        )
        at.git("switch", "--quiet", "--create", "topic")
        at.commit("orders.yaml", at.source("orders"))
        at.git("update-ref", PULL_REQUEST.head_ref, "HEAD")
        self.head = Revision(at.git("rev-parse", "HEAD"))

    def review(self) -> None:
        assert [*self.reviews.review_all()] == []

    def shown(self) -> set[str]:
        """The connectors in the plan that is recorded."""
        (plan,) = self.store.plans([7], PlanPurpose.REVIEW)
        return {*plan.connectors["local"]}

    def is_recorded(self) -> bool:
        return [one.head for one in self.store.plans([7], PlanPurpose.REVIEW)] == [self.head]


@pytest.fixture
def reviewed(at: Workplace) -> Iterator[Reviewed]:
    settings = load_settings(at.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(PullRequestPlanner.of(runtime)) as planner:
        yield Reviewed(at, planner)


@pytest.mark.slow
def test_a_commit_may_be_merged_only_after_its_plan_is_shown_and_recorded(reviewed: Reviewed) -> None:
    seen = []
    reviewed.forge.before = lambda method: seen.append((method, reviewed.is_recorded()))
    reviewed.review()
    assert seen == [("comments", False), ("write_comment", False), ("set_status", True)]
    assert reviewed.forge.states(reviewed.head, PLAN) == ["success"]


@pytest.mark.slow
def test_a_plan_that_was_shown_after_the_merge_was_not_reviewed(reviewed: Reviewed) -> None:
    """Planning takes time, and someone may merge meanwhile."""
    reviewed.forge.before = lambda method: reviewed.forge.open.clear() if method == "write_comment" else None
    reviewed.review()
    assert not reviewed.is_recorded()


@pytest.mark.slow
def test_the_comment_shows_what_was_reviewed_after_the_merge(reviewed: Reviewed, at: Workplace) -> None:
    reviewed.review()
    (before,) = reviewed.forge.comments(7)
    at.commit("more.yaml", at.source("more"))
    at.git("update-ref", PULL_REQUEST.head_ref, "HEAD")
    reviewed.forge.before = lambda method: reviewed.forge.open.clear() if method == "comments" else None
    reviewed.review()
    assert [*reviewed.forge.comments(7)] == [before]
    assert reviewed.is_recorded(), "the plan that was shown"


@pytest.mark.slow
def test_the_plan_of_a_pull_request_ends_after_its_time(reviewed: Reviewed, standin: StandIn) -> None:
    standin.hang("GET", r"/connectors\?.*", times=99)
    planned = reviewed.reviews.planner.plan(PULL_REQUEST, 0.5, [])
    assert [*planned.unread] == ["local"]
    assert "ConnectUnavailable" in planned.unread["local"]
    asked = len(standin.calls)
    planned = reviewed.reviews.planner.plan(PULL_REQUEST, 0, [])
    assert "took longer than [forge] plan_timeout" in planned.unread["local"]
    assert len(standin.calls) == asked


@pytest.mark.slow
def test_what_the_branch_changes_anyway_is_not_reviewed_also_before_the_daemon_has_planned_it(
    reviewed: Reviewed, at: Workplace
) -> None:
    at.git("switch", "--quiet", "main")
    at.commit("more.yaml", at.source("more"))
    reviewed.review()
    assert reviewed.shown() == {at.name("orders")}
    planner = reviewed.reviews.planner
    (more,) = planner.plan(PULL_REQUEST, 600, []).branch
    assert [one.name for one in more.connectors] == [at.name("more")]
    of_the_daemon = replace(more, connectors=())
    assert planner.plan(PULL_REQUEST, 600, [of_the_daemon]).branch == (of_the_daemon,)
    earlier = replace(of_the_daemon, revision=reviewed.head)
    assert planner.plan(PULL_REQUEST, 600, [earlier]).branch == (more,)


def test_destructive_changes_that_were_not_shown_before_are_said_in_a_new_comment_and_block_the_merge() -> None:
    queue = Queue(1)
    queue.review()
    assert queue.forge.states(pull_request(1).head, PLAN)[-1] == "success"
    queue.planner.steps, queue.merges.merged.is_new = (step("orders", Action.DELETE),), True
    queue.review()
    old, new = queue.bodies(1)
    assert "Outdated: the plan has changed." in old
    assert "The plan has destructive changes that were not shown before." in new
    assert queue.forge.states(pull_request(1).head, PLAN)[-1] == "pending"
    assert queue.merges.merged.plans == [(1, PlanPurpose.REVIEW), (1, PlanPurpose.APPROVAL)]
    queue.review()
    assert len(queue.bodies(1)) == 2, "once for each digest"


@pytest.mark.parametrize("fails", ["", "comments", "write_comment"])
def test_a_plan_counts_as_shown_only_if_its_comment_was_written(fails: str) -> None:
    """The cluster cannot be read at the second review: what the comment showed before counts, and nothing else."""
    queue, no_answer = Queue(1), ForgeUnavailable("no answer")

    def fail(method: str) -> None:
        if method == fails:
            raise no_answer

    queue.planner.steps, queue.forge.before = (step("orders", Action.DELETE),), fail
    queue.review()
    queue.planner.is_unread, queue.forge.before = True, lambda _: None
    queue.review()
    shown = queue.merges.merged.last
    assert shown is not None
    assert bool(shown.connectors) is not bool(fails)


def test_destructive_changes_that_the_last_comment_shows_are_not_said_in_a_new_comment(ledger: Ledger) -> None:
    """Another connector is restarted: the comment is updated, also with the digest."""
    queue = Queue(1)
    merges: Any = queue.merges
    merges.merged = MergedPlans(queue.forge, ledger, Settings(Path()), queue.clock)
    deletion, restart = step("orders", Action.DELETE), step("other", Action.RESTART)
    for steps in ((), (deletion,), (deletion, restart), (deletion,)):
        queue.planner.steps = steps
        queue.review()
        assert ("restart" in queue.bodies(1)[-1]) is (restart in steps)
    assert len(queue.bodies(1)) == 2
