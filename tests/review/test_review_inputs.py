"""A pull request is planned and its comments are read again only if something of it has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from support.cluster.manual_clock import START
from support.forge.memory_forge import MemoryForge
from support.forge.review_queue import Queue, pull_request, rewind
from support.planner.plans_of_steps import plan, step

from gitops_connect.daemon.state import ClusterView
from gitops_connect.errors import ForgeRefused, ForgeUnavailable
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.model.pull_requests import Comment, CommentChange, PullRequest

pytestmark = pytest.mark.slow

LOCAL, ORDERS = ClusterName("local"), ConnectorName("orders")
HELD = Hold(HoldKind.SUSPENDED, "suspended by ann", "resume it")
HELD_FOR_A_TIME = replace(HELD, until=START)
ROLLED_OUT = Hold(HoldKind.ROLLOUT, "at most 1 connector at a time", "it follows")


class Counted:
    """Counts the calls of each method of a forge."""

    def __init__(self, forge: MemoryForge) -> None:
        self.calls: Counter[str] = Counter()
        self._forge = forge

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._forge, name)
        return partial(self._call, name, found) if callable(found) else found

    def _call(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        self.calls[name] += 1
        return method(*arguments)


def reviewed_once(*numbers: int, **more: Any) -> Queue:
    """Pull requests that were reviewed, and whose own comments are no news any more."""
    queue = Queue(*numbers, **more)
    show(queue, plan())
    queue.review()
    queue.review()
    later(queue, 200)
    queue.review()
    later(queue, 200)
    assert queue.review() == []
    return queue


def show(queue: Queue, of_branch: Plan | None) -> None:
    """The daemon has made this plan of the branch."""
    queue.state.snapshot = replace(queue.state.snapshot, clusters={LOCAL: ClusterView(LOCAL, of_branch)})


def later(queue: Queue, seconds: float) -> None:
    queue.clock.seconds += seconds


def say(queue: Queue, number: int, body: str = "gitops-connect plan") -> None:
    written = queue.forge.comments_of.setdefault(number, [])
    written.append(Comment(len(written), "wendy", body, is_edited=False))


def edit(queue: Queue, number: int) -> None:
    written = queue.forge.comments_of[number]
    written[0] = replace(written[0], body="gitops-connect help", is_edited=True)


def test_nothing_is_planned_or_read_if_nothing_has_changed() -> None:
    queue = reviewed_once(1, 2)
    forge: Any = Counted(queue.forge)
    queue.reviews.inputs.forge = queue.reviews.writer.forge = forge
    assert queue.review() == []
    assert forge.calls == {"changed_comments": 1, "open_pull_requests": 1}


BRANCH: Mapping[str, Plan | None] = {
    "another commit": replace(plan(), revision=Revision("b" * 40)),
    "another config or state on the cluster": replace(plan(), fingerprint=Digest("g")),
    "other steps": replace(plan(), digest=Digest("e")),
    "an unmanaged connector": replace(plan(), unmanaged=(ORDERS,)),
    "a connector that cannot be read": replace(plan(), unread=(ORDERS,)),
    "a suspension": replace(plan(), connectors=(ConnectorPlan(ORDERS, holds=(HELD,)),)),
    "an offset change": replace(plan(), connectors=(rewind("orders"),)),
    "a failure": replace(plan(), unhealthy=(UnhealthyConnector(ORDERS, WorkerState.FAILED),)),
    "a cluster that was never planned": None,
}


@pytest.mark.parametrize("of_branch", BRANCH.values(), ids=[*BRANCH])
def test_all_are_planned_again_if_the_branch_or_the_cluster_has_changed(of_branch: Plan | None) -> None:
    queue = reviewed_once(1, 2)
    show(queue, of_branch)
    assert sorted(queue.review()) == [1, 2]


OWN: Mapping[str, Callable[[Queue], None]] = {
    "a push": lambda queue: queue.push(1, 11),
    "another title": lambda queue: queue.forge.open.__setitem__(0, replace(pull_request(1), title="Other")),
    "a new comment": lambda queue: say(queue, 1),
    "an edited comment": lambda queue: edit(queue, 1),
}


@pytest.mark.parametrize("change", OWN.values(), ids=[*OWN])
def test_one_is_planned_again_if_it_has_changed(change: Callable[[Queue], None]) -> None:
    queue = reviewed_once(1, 2)
    change(queue)
    assert queue.review() == [1]


def test_after_two_hours_all_are_planned_again() -> None:
    queue = reviewed_once(1, 2)
    later(queue, 7200)
    assert sorted(queue.review()) == [1, 2]


def test_one_that_changes_offsets_or_reads_another_cluster_state_is_always_planned() -> None:
    queue = Queue(1, 2, 3)
    queue.planner.changes = {1: ("orders",)}
    show(queue, replace(plan(), fingerprint=Digest("g")))
    for _ in range(3):
        later(queue, 200)
        assert sorted(queue.review()) == [1, 2, 3]
    show(queue, plan())
    for planned in ([1, 2, 3], [1], [1]):
        later(queue, 200)
        assert sorted(queue.review()) == planned


@pytest.mark.parametrize("hold", [HELD_FOR_A_TIME, ROLLED_OUT])
def test_one_with_a_hold_that_ends_by_itself_is_always_planned(hold: Hold) -> None:
    queue = Queue(1)
    show(queue, plan())
    queue.planner.holds = (hold,)
    for _ in range(4):
        queue.review()
        later(queue, 200)
    assert queue.review() == [1], "the trials of a rollout of others end, and nothing else changes"
    queue.planner.holds = (HELD,)
    for _ in range(3):
        queue.review()
        later(queue, 200)
    assert queue.review() == []


def test_one_that_could_not_be_published_is_planned_again_however_late_the_forge_answers() -> None:
    queue = reviewed_once(1)
    say(queue, 1)

    def fail(method: str) -> None:
        if method == "comments":
            raise ForgeUnavailable("nobody")

    queue.forge.before = fail
    for _ in range(3):
        assert queue.review() == [1]
        later(queue, 200)
    queue.forge.before = lambda _: None
    assert queue.review() == [1]
    assert queue.review() == []


def test_all_are_reviewed_if_the_forge_refuses_to_list_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone who may comment could otherwise stop all reviews, with more comments than a list may have."""
    queue = reviewed_once(1, 2)
    asked: list[datetime] = []

    def refuse(since: datetime) -> Sequence[CommentChange]:
        asked.append(since)
        raise ForgeRefused("more than 10,000 results")

    monkeypatch.setattr(queue.forge, "changed_comments", refuse)
    for _ in range(2):
        assert sorted(queue.review()) == [1, 2]
        assert [str(error) for error in queue.errors] == ["more than 10,000 results"]
        later(queue, 60)
    assert asked[1] == queue.clock.now() - timedelta(seconds=120), "the next list begins later"
    monkeypatch.undo()
    queue.review()
    later(queue, 200)
    queue.review()
    assert queue.review() == []


def test_a_second_comment_that_the_forge_does_not_date_is_read() -> None:
    """GitLab does not change the time of a merge request twice in one minute."""
    queue = reviewed_once(1)
    at, shown = queue.clock.now(), queue.forge
    shown.changed_comments = lambda since: [CommentChange(1, at)]  # type: ignore[method-assign]
    assert queue.review() == [1]
    for seconds, planned in ((60, [1]), (80, [1]), (20, []), (60, [])):
        later(queue, seconds)
        assert queue.review() == planned


@pytest.mark.parametrize("skew", [timedelta(minutes=50), timedelta(minutes=-50), timedelta(days=-3000)])
def test_a_comment_is_found_if_the_clock_of_the_forge_is_another(skew: timedelta) -> None:
    queue = Queue(1)
    queue.forge.now = lambda: queue.clock.now() - skew
    show(queue, plan())
    for _ in range(3):
        queue.review()
        later(queue, 200)
    say(queue, 1)
    assert queue.review() == [1]


def test_80_pull_requests_take_less_than_300_requests_in_an_hour() -> None:
    queue = reviewed_once(*range(1, 81))
    forge: Any = Counted(queue.forge)
    queue.reviews.inputs.forge = queue.reviews.writer.forge = forge
    for _ in range(120):
        later(queue, 60)
        queue.review()
    assert forge.calls.total() / 2 < 300


def test_the_newest_push_comes_before_2000_that_wait() -> None:
    queue = Queue(*range(1, 2001))
    seen: list[int] = []

    def push(one: PullRequest) -> None:
        seen.append(one.number)
        later(queue, 1)
        if len(seen) == 20:
            queue.push(5, 5005)
            queue.reviews.review_now()

    queue.planner.before = push
    queue.review()
    assert seen[20] == 5


def test_a_step_of_the_pull_request_alone_changes_nothing_of_that() -> None:
    queue = Queue(1)
    queue.planner.steps = (step("orders", Action.CREATE),)
    show(queue, plan())
    for _ in range(3):
        queue.review()
        later(queue, 200)
    assert queue.review() == []
