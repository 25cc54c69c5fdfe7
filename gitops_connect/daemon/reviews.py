"""Reviews the open pull requests: one comment and one commit status for each, which follow every push.

A thread of its own does so, and only in the daemon that is the leader. A forge that does not answer delays nothing
else. What was written is compared with the comment on the forge, so that nothing is written twice after a restart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from gitops_connect.daemon import review_events
from gitops_connect.daemon.events import NewItems
from gitops_connect.daemon.merged_plans import MergedPlans, apply_status, unreviewed
from gitops_connect.daemon.pull_request_plans import PullRequestPlanner, offset_changes
from gitops_connect.daemon.review_commands import ReviewCommands
from gitops_connect.daemon.state import DaemonState, PullRequestView, Snapshot
from gitops_connect.errors import ForgeUnavailable, GitopsConnectError
from gitops_connect.forge.forge import Forge
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.reviews import Annotation, Comment, CommitState, CommitStatus, PullRequest
from gitops_connect.plan.reviewed import review_digest
from gitops_connect.report.blocked_comment import blocked_comment
from gitops_connect.report.pull_request_plan import CommentOptions, OtherPullRequest, PullRequestPlan
from gitops_connect.report.review_comment import review_comment
from gitops_connect.report.review_marker import CommentKind, find_marker
from gitops_connect.report.summary import summary_line

PLAN = "gitops-connect/plan"
"""The commit status of a pull request. Branch protection can require it."""
_END = 5.0
"""Seconds that the review in progress has when the daemon ends."""
_LOOK = 0.2
"""Seconds between two looks at the revision in effect."""
_LONGEST_PAUSE = timedelta(hours=1)
"""The longest time without reviews after a rate limit, whatever the forge says. GitHub's limits are for one hour."""


class ReviewedDaemon(Protocol):
    """The part of `Daemon` that is used here."""

    @property
    def state(self) -> DaemonState:
        """The snapshots."""

    def reconcile_now(self, clusters: Collection[ClusterName]) -> int:
        """Poll the repository at once, then reconcile these clusters."""


@dataclass(slots=True)
class PullRequestReviews:
    """The reviews of all open pull requests. `interval` is in seconds, `status_page` the URL of the server, if any."""

    forge: Forge
    planner: PullRequestPlanner
    merged: MergedPlans
    commands: ReviewCommands
    daemon: ReviewedDaemon
    clock: Clock
    status_page: str | None
    interval: float
    _has_reviewed: bool = False
    _due: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _statuses: dict[tuple[int, str], tuple[Revision, CommitStatus]] = field(default_factory=dict)
    _errors: NewItems = field(default_factory=NewItems)

    def review_now(self) -> None:
        """Review at once, for example because a webhook says that a pull request has changed."""
        self._due.set()

    def run(self) -> None:
        """Review until `end`: at once, after each interval, and when asked to."""
        while not self._ended.is_set():
            self._due.clear()
            not_before = self._review_and_log() if self.daemon.state.snapshot.is_leader else None
            if not_before is None:
                self._wait()
            else:
                self._ended.wait(min(not_before - self.clock.now(), _LONGEST_PAUSE).total_seconds())

    def end(self) -> None:
        """Let `run` return."""
        self._ended.set()
        self._due.set()

    def _wait(self) -> None:
        """Until the next review is due. A new revision is looked up at once: its changes wait for that."""
        until = time.monotonic() + self.interval
        while not self._due.wait(min(_LOOK, max(0.0, until - time.monotonic()))) and time.monotonic() < until:
            if self.merged.is_new(self.daemon.state.snapshot.repository.revision):
                return

    def _review_and_log(self) -> datetime | None:
        """Review once. Returns the end of a rate limit that the forge has named."""
        errors = [*self.review_merged(), *self.review_all()]
        for text in self._errors.of(f"{type(error).__name__}: {error}" for error in errors):
            review_events.failed(text)
        limits = (error.retry_at for error in errors if isinstance(error, ForgeUnavailable))
        return max((one for one in limits if one is not None), default=None)

    def review_merged(self) -> Iterator[Exception]:
        """The revision in effect: its pull request, whether it was applied, and what is blocked in it."""
        snapshot = self.daemon.state.snapshot
        revision = snapshot.repository.revision
        try:
            if revision is not None and self.merged.is_new(revision):
                self.merged.look_up(revision)
                self.daemon.reconcile_now(snapshot.clusters)
            elif revision is not None and self.merged.last is not None:
                status = apply_status(snapshot, self.merged.last.url)
                self._set_status(self.merged.last, revision, status)
                if status.state is CommitState.SUCCESS:
                    self.merged.applied()
                self._report_blocked(self.merged.last, revision, snapshot)
        except GitopsConnectError as error:
            yield error

    def _report_blocked(self, pull_request: PullRequest, revision: Revision, snapshot: Snapshot) -> None:
        plans, changes = unreviewed(snapshot)
        if not changes:
            return
        target, digest = pull_request.target, review_digest(plans)
        plan = PullRequestPlan(pull_request.number, revision, target, plans, digest=digest)
        comments = self.forge.comments(pull_request.number)
        body = blocked_comment(plan, changes, self._options(pull_request, self.status_page))
        if self._write(pull_request, CommentKind.BLOCKED, body, comments):
            review_events.blocked(pull_request, len(changes))
        self.merged.record_blocked(plan)
        self._carry_out_commands(pull_request, comments)

    def _carry_out_commands(self, pull_request: PullRequest, comments: Sequence[Comment]) -> None:
        if self.commands.carry_out(pull_request, comments):
            self.daemon.reconcile_now(self.daemon.state.snapshot.clusters)

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
                self._announce(one)
                planned[one.number] = self.planner.plan(one)
            except GitopsConnectError as error:
                yield error
        views = []
        for one in pull_requests:
            if one.number in planned and not self._ended.is_set():
                plan = replace(planned[one.number], others=_others(one, pull_requests, planned))
                view = self._view(one, plan)
                views.append(view)
                try:
                    self._publish(view)
                except GitopsConnectError as error:
                    yield error
        self.daemon.state.set_pull_requests(tuple(views))
        self._has_reviewed = True

    def _announce(self, pull_request: PullRequest) -> None:
        """A commit that was pushed since the last review is pending until it is planned. It may not be merged before.

        At the first review after a start, the forge may have the status of an earlier process.
        """
        known = {one.plan.head for one in self.daemon.state.snapshot.pull_requests}
        if self._has_reviewed and pull_request.head not in known:
            self._set_plan_status(pull_request, pull_request.head, CommitState.PENDING, "not planned yet")

    def _view(self, pull_request: PullRequest, plan: PullRequestPlan) -> PullRequestView:
        """What the status page shows. A review with the same result as the last one keeps the time of that one."""
        comment = review_comment(plan, self._options(pull_request, self._page(pull_request)))
        view = PullRequestView(pull_request, plan, _state(plan), _description(plan), comment, self.clock.now())
        before = self.daemon.state.snapshot.pull_requests
        known = next((one for one in before if one.pull_request.number == pull_request.number), view)
        return known if replace(view, reviewed=known.reviewed) == known else view

    def _publish(self, view: PullRequestView) -> None:
        """Write what has changed. A plan counts as reviewed only after its comment was written."""
        pull_request, plan = view.pull_request, view.plan
        self._set_plan_status(pull_request, plan.head, view.state, view.summary)
        comments = self.forge.comments(pull_request.number)
        if self._write(pull_request, CommentKind.REVIEW, view.comment, comments):
            review_events.commented(pull_request, plan)
            self.forge.annotate(pull_request, _annotations(plan))
        if plan.digest is not None:
            self.merged.record_shown(plan)
        self._carry_out_commands(pull_request, comments)

    def _options(self, pull_request: PullRequest, page: str | None) -> CommentOptions:
        return CommentOptions(pull_request.files_url, page, self.forge.longest_comment)

    def _page(self, pull_request: PullRequest) -> str | None:
        """The page of the whole plan."""
        return self.status_page and f"{self.status_page.rstrip('/')}/pull-requests/{pull_request.number}"

    def _set_plan_status(self, pull_request: PullRequest, commit: Revision, state: CommitState, said: str) -> None:
        url = self._page(pull_request) or pull_request.url
        self._set_status(pull_request, commit, CommitStatus(PLAN, state, said, url))

    def _set_status(self, pull_request: PullRequest, commit: Revision, status: CommitStatus) -> None:
        """Set a status, unless it is the last one that this process has set for the pull request."""
        key = pull_request.number, status.context
        if self._statuses.get(key) != (commit, status):
            self.forge.set_status(commit, status)
            self._statuses[key] = commit, status

    def _write(self, pull_request: PullRequest, kind: CommentKind, body: str, comments: Sequence[Comment]) -> bool:
        """Write the comment of this kind, or replace it. Returns False if it is there already.

        Only comments of our own account are replaced: others can write the same marker.
        """
        user = self.forge.user()
        markers = ((one, find_marker(one.body)) for one in comments if one.author == user)
        own = next((one for one, marker in markers if marker is not None and marker.kind is kind), None)
        if own is not None and own.body == body:
            return False
        self.forge.write_comment(pull_request.number, body, own.id if own else None)
        return True


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
def reviewing(reviews: PullRequestReviews) -> Iterator[PullRequestReviews]:
    """Review pull requests while the block runs."""
    thread = threading.Thread(target=reviews.run, name="reviews", daemon=True)
    thread.start()
    try:
        yield reviews
    finally:
        reviews.end()
        thread.join(_END)
