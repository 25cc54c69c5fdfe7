"""Reviews the open pull requests: one comment and one commit status for each, which follow every push.

A thread of its own does so, and only in the daemon that is the leader. A forge that does not answer delays nothing
else. What was written is compared with the comment on the forge, so that nothing is written twice after a restart.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from gitops_connect.daemon import review_events
from gitops_connect.daemon.events import NewItems
from gitops_connect.daemon.pull_request_plans import PullRequestPlanner, offset_changes
from gitops_connect.daemon.state import DaemonState
from gitops_connect.errors import GitopsConnectError
from gitops_connect.forge.forge import Forge
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.reviews import Annotation, CommitState, CommitStatus, PullRequest
from gitops_connect.report.pull_request_plan import CommentOptions, OtherPullRequest, PullRequestPlan
from gitops_connect.report.review_comment import review_comment
from gitops_connect.report.review_marker import CommentKind, find_marker
from gitops_connect.report.summary import summary_line

PLAN = "gitops-connect/plan"
"""The commit status of a pull request. Branch protection can require it."""
_END = 5.0
"""Seconds that the review in progress has when the daemon ends."""


@dataclass(slots=True)
class Reviews:
    """The reviews of all open pull requests. `interval` is in seconds, `status_page` the URL of the whole plans."""

    forge: Forge
    planner: PullRequestPlanner
    state: DaemonState
    status_page: str | None
    interval: float
    _due: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _statuses: dict[int, tuple[str, CommitStatus]] = field(default_factory=dict)
    _errors: NewItems = field(default_factory=NewItems)

    def review_now(self) -> None:
        """Review at once, for example because a webhook says that a pull request has changed."""
        self._due.set()

    def run(self) -> None:
        """Review until `end`: at once, after each interval, and when asked to."""
        while not self._ended.is_set():
            self._due.clear()
            if self.state.snapshot.is_leader:
                self._review_and_log()
            self._due.wait(self.interval)

    def end(self) -> None:
        """Let `run` return."""
        self._ended.set()
        self._due.set()

    def _review_and_log(self) -> None:
        errors = list(self.review_all())
        for text in self._errors.of(f"{type(error).__name__}: {error}" for error in errors):
            review_events.failed(text)

    def review_all(self) -> Iterator[Exception]:
        """Review every open pull request once. Returns the errors: one pull request does not prevent the others."""
        try:
            pull_requests = self.forge.open_pull_requests()
        except GitopsConnectError as error:
            yield error
            return
        planned = dict[int, PullRequestPlan]()
        for one in pull_requests:
            try:
                planned[one.number] = self.planner.plan(one)
            except GitopsConnectError as error:
                yield error
        for one in pull_requests:
            if one.number in planned and not self._ended.is_set():
                try:
                    self._publish(one, replace(planned[one.number], others=_others(one, pull_requests, planned)))
                except GitopsConnectError as error:
                    yield error

    def _publish(self, pull_request: PullRequest, plan: PullRequestPlan) -> None:
        options = CommentOptions(pull_request.files_url, self.status_page, self.forge.longest_comment)
        body = review_comment(plan, options)
        own = self._own_comment(pull_request.number)
        if own is None or own[1] != body:
            self.forge.write_comment(pull_request.number, body, own[0] if own else None)
            self.forge.annotate(pull_request, _annotations(plan))
            review_events.commented(pull_request, plan)
        status = CommitStatus(PLAN, _state(plan), _description(plan), pull_request.url)
        if self._statuses.get(pull_request.number) != (plan.head, status):
            self.forge.set_status(plan.head, status)
            self._statuses[pull_request.number] = (plan.head, status)

    def _own_comment(self, number: int) -> tuple[int, str] | None:
        """The id and the text of the comment with the plan, if there is one. Only our own account's is replaced."""
        user = self.forge.user()
        for comment in self.forge.comments(number):
            marker = find_marker(comment.body) if comment.author == user else None
            if marker is not None and marker.kind is CommentKind.REVIEW:
                return comment.id, comment.body
        return None


def _others(
    one: PullRequest, pull_requests: Sequence[PullRequest], planned: Mapping[int, PullRequestPlan]
) -> tuple[OtherPullRequest, ...]:
    """The other pull requests that change offsets of the same connectors."""
    ours, found = offset_changes(planned[one.number]), []
    for other in pull_requests:
        if other.number != one.number and other.number in planned:
            theirs = offset_changes(planned[other.number])
            common = {name for cluster, names in ours.items() for name in names & theirs.get(cluster, frozenset())}
            if common:
                found.append(OtherPullRequest(other.number, other.url, tuple(sorted(common))))
    return tuple(found)


def _state(plan: PullRequestPlan) -> CommitState:
    """A merge is prevented by errors, by a conflict, by what guards reject, and by a cluster that was not planned."""
    is_rejected = any(one.refusals for one in plan.plans)
    if plan.diagnostics.errors or plan.unread or plan.not_planned is not None or is_rejected:
        return CommitState.FAILURE
    return CommitState.SUCCESS


def _description(plan: PullRequestPlan) -> str:
    if plan.not_planned is not None:
        return f"not planned: {plan.not_planned.value}"
    if plan.unread:
        return f"could not be planned for {', '.join(plan.unread)}"
    return summary_line(plan.plans, len(plan.diagnostics.errors))


def _annotations(plan: PullRequestPlan) -> list[Annotation]:
    return [
        Annotation(one.location.file, one.location.line, one.summary, one.severity is Severity.ERROR)
        for one in plan.diagnostics
    ]


@contextmanager
def reviewing(reviews: Reviews) -> Iterator[Reviews]:
    """Review pull requests while the block runs."""
    thread = threading.Thread(target=reviews.run, name="reviews", daemon=True)
    thread.start()
    try:
        yield reviews
    finally:
        reviews.end()
        thread.join(_END)
