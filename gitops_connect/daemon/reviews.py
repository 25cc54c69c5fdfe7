"""Reviews the open pull requests: one comment and one commit status for each, which follow every push.

A thread of its own does so, and only in the daemon that is the leader. A forge that does not answer delays nothing
else. What was written is compared with the comment on the forge, so that nothing is written twice after a restart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from gitops_connect.daemon import review_events
from gitops_connect.daemon.events import NewItems
from gitops_connect.daemon.forge_writer import ForgeWriter
from gitops_connect.daemon.merge_reports import MergeReports, ReviewedDaemon
from gitops_connect.daemon.poll_schedule import PollSchedule
from gitops_connect.daemon.pull_request_plans import PullRequestPlanner, offset_changes
from gitops_connect.daemon.state import PullRequestView
from gitops_connect.errors import ForgeUnavailable, GitopsConnectError
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.names import Revision
from gitops_connect.model.reviews import Annotation, CommitState, CommitStatus, PullRequest
from gitops_connect.report.printable import one_line
from gitops_connect.report.pull_request_plan import OtherPullRequest, PullRequestPlan
from gitops_connect.report.review_comment import review_comment
from gitops_connect.report.review_marker import CommentKind
from gitops_connect.report.summary import summary_line

PLAN = "gitops-connect/plan"
"""The commit status of a pull request. Branch protection can require it."""
_END = 5.0
"""Seconds that the review in progress has when the daemon ends."""
_LOOK = 0.2
"""Seconds between two looks at the revision in effect."""
_LONGEST_PAUSE = timedelta(hours=1)
"""The longest time without reviews after a rate limit, whatever the forge says. GitHub's limits are for one hour."""


@dataclass(slots=True)
class PullRequestReviews:
    """The reviews of all open pull requests."""

    writer: ForgeWriter
    planner: PullRequestPlanner
    merges: MergeReports
    daemon: ReviewedDaemon
    clock: Clock
    schedule: PollSchedule
    _has_reviewed: bool = False
    _due: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _errors: NewItems = field(default_factory=NewItems)

    def review_now(self) -> None:
        """Review at once, for example because a webhook says that a pull request has changed."""
        self._due.set()

    def run(self) -> None:
        """Review until `end`: at once, after each interval, and when asked to. After a failure it is tried earlier."""
        failures = 0
        while not self._ended.is_set():
            self._due.clear()
            errors = self._review_and_log() if self.daemon.state.snapshot.is_leader else []
            failures = failures + 1 if errors else 0
            limits = (error.retry_at for error in errors if isinstance(error, ForgeUnavailable))
            not_before = max((one for one in limits if one is not None), default=None)
            if not_before is None:
                self._wait(self.schedule.next(failures))
            else:
                self._ended.wait(min(not_before - self.clock.now(), _LONGEST_PAUSE).total_seconds())

    def end(self) -> None:
        """Let `run` return."""
        self._ended.set()
        self._due.set()

    def _wait(self, seconds: float) -> None:
        """Until the next review is due. What became of the revision in effect is reported at once."""
        until = time.monotonic() + seconds
        while not self._due.wait(min(_LOOK, max(0.0, until - time.monotonic()))) and time.monotonic() < until:
            if self.merges.has_news():
                return

    def _review_and_log(self) -> list[Exception]:
        """Review once. Returns the errors."""
        errors = [*self.merges.report(), *self.review_all()]
        for text in self._errors.of(f"{type(error).__name__}: {error}" for error in errors):
            review_events.failed(text)
        return errors

    def review_all(self) -> Iterator[Exception]:
        """Review every open pull request once. Returns the errors: one pull request does not prevent the others."""
        try:
            pull_requests = self.writer.forge.open_pull_requests()
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
        comment = review_comment(plan, self.writer.options(pull_request, self._page(pull_request)))
        view = PullRequestView(pull_request, plan, _state(plan), _description(plan), comment, self.clock.now())
        before = self.daemon.state.snapshot.pull_requests
        known = next((one for one in before if one.pull_request.number == pull_request.number), view)
        return known if replace(view, reviewed=known.reviewed) == known else view

    def _publish(self, view: PullRequestView) -> None:
        """Write what has changed. Only after that, the status allows to merge.

        A plan counts as reviewed if its comment was written while the pull request was open. After a merge, the comment
        still shows what was reviewed.
        """
        pull_request, plan = view.pull_request, view.plan
        comments = self.writer.forge.comments(pull_request.number)
        own = self.writer.own_comment(CommentKind.REVIEW, comments)
        if (own is None or own.body != view.comment) and self._was_closed(pull_request):
            return
        is_written = self.writer.write(pull_request, CommentKind.REVIEW, view.comment, comments)
        if is_written:
            review_events.commented(pull_request, plan)
        if plan.digest is not None and not (is_written and self._was_closed(pull_request)):
            self.merges.merged.record_shown(plan)
        self._set_plan_status(pull_request, plan.head, view.state, view.summary)
        if is_written:
            self.writer.forge.annotate(pull_request, _annotations(plan))
        self.merges.carry_out_commands(pull_request, comments)

    def _was_closed(self, pull_request: PullRequest) -> bool:
        """Whether someone has merged or closed it while it was planned: nobody has seen the plan before."""
        return all(one.number != pull_request.number for one in self.writer.forge.open_pull_requests())

    def _page(self, pull_request: PullRequest) -> str | None:
        """The page of the whole plan."""
        status_page = self.writer.status_page
        return status_page and f"{status_page.rstrip('/')}/pull-requests/{pull_request.number}"

    def _set_plan_status(self, pull_request: PullRequest, commit: Revision, state: CommitState, said: str) -> None:
        url = self._page(pull_request) or pull_request.url
        self.writer.set_status(pull_request, commit, CommitStatus(PLAN, state, said, url))


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
        Annotation(one.location.file, one.location.line, one_line(one.summary), one.severity is Severity.ERROR)
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
