"""Reviews the open pull requests: one comment and one commit status for each, which follow every push.

A thread of its own does so, and only in the daemon that is the leader. A forge that does not answer delays nothing
else. What was written is compared with the comment on the forge, so that nothing is written twice after a restart.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from logging import ERROR

from gitops_connect.daemon import events
from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.events import NewItems
from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.daemon.state import PullRequestView
from gitops_connect.errors import ForgeUnavailable, GitopsConnectError, SourceRefused
from gitops_connect.forge.forge import Forge
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.pull_requests import (
    Annotation,
    CommitState,
    CommitStatus,
    NotPlanned,
    OtherPullRequest,
    PullRequest,
    PullRequestPlan,
)
from gitops_connect.model.reviewed_plans import PlanPurpose
from gitops_connect.report.comment_writer import CommentKind
from gitops_connect.report.printable import one_line
from gitops_connect.report.review_comment import review_comment
from gitops_connect.report.summary import summary_line
from gitops_connect.review.comments import ForgeWriter, ReviewCommands
from gitops_connect.review.merges import MergedPlans, MergeReports
from gitops_connect.review.pull_request_plans import PullRequestPlanner, as_reviewed, offset_changes
from gitops_connect.review.review_inputs import ReviewInputs
from gitops_connect.runtime import Runtime

# The result of a review: the commit status, and the annotations at lines.


def commit_state(plan: PullRequestPlan) -> CommitState:
    """A merge is prevented by errors, by a conflict, by what guards reject, and by a cluster that was not planned."""
    is_rejected = any(one.refusals for one in plan.plans)
    if plan.diagnostics.errors or plan.unread or plan.not_planned is not None or is_rejected:
        return CommitState.FAILURE
    return CommitState.PENDING if plan.is_changed else CommitState.SUCCESS


def description(plan: PullRequestPlan) -> str:
    """The description of the status."""
    if plan.not_planned is not None:
        return f"not planned: {plan.not_planned.value}"
    if plan.unread:
        return f"could not be planned for {', '.join(plan.unread)}"
    said = summary_line(plan.own_plans, len(plan.diagnostics.errors))
    return f"changed since it was shown: approve it, or push. {said}" if plan.is_changed else said


# Which open pull requests change the offsets of the same connectors.

Changed = tuple[ClusterName, ConnectorName]
"""A connector whose offsets a pull request would change."""


@dataclass(slots=True)
class OffsetConflicts:
    """The pull requests as far as they were planned. The newest plan of each counts."""

    _changed: dict[int, Set[Changed]] = field(default_factory=dict)
    _numbers: defaultdict[Changed, set[int]] = field(default_factory=lambda: defaultdict(set))

    def record(self, number: int, changed: Mapping[ClusterName, Collection[ConnectorName]]) -> None:
        self.forget([number])
        found = {(cluster, name) for cluster, names in changed.items() for name in names}
        self._changed[number] = found
        for one in found:
            self._numbers[one].add(number)

    def forget(self, numbers: Collection[int]) -> None:
        for number in numbers:
            for one in self._changed.pop(number, ()):
                self._numbers[one].discard(number)

    def others(self, number: int) -> Mapping[int, tuple[ConnectorName, ...]]:
        """The other pull requests, by number, each with the connectors that both change."""
        common = defaultdict[int, set[ConnectorName]](set)
        for one in self._changed.get(number, ()):
            for other in self._numbers[one] - {number}:
                common[other].add(one[1])
        return {other: tuple(sorted(common[other])) for other in sorted(common)}


PLAN = "gitops-connect/plan"
"""The commit status of a pull request. Branch protection can require it."""
_END = 5.0
"""Seconds that the review in progress has when the daemon ends."""
_LOOK = 0.2
"""Seconds between two looks at the revision in effect."""
_LIST_AGAIN = 10.0
"""Seconds between two lists of the open pull requests while they are reviewed, if a webhook says that one has changed.
Our own comments cause webhooks, too."""
_MOST_REVIEWS = 2
"""How often a pull request is reviewed before all others were."""
_UNANSWERED = 3
"""How many pull requests in a row the forge may leave without an answer."""
_LONGEST_PAUSE = timedelta(hours=1)
"""The longest time without reviews after a rate limit, whatever the forge says. GitHub's limits are for one hour."""


@dataclass(slots=True)
class PullRequestReviews:
    """The reviews of all open pull requests. `plan_timeout`: how long the plan of one of them may take, in seconds."""

    writer: ForgeWriter
    inputs: ReviewInputs
    planner: PullRequestPlanner
    merges: MergeReports
    daemon: Daemon
    clock: Clock
    schedule: PollSchedule
    plan_timeout: float
    _has_reviewed: bool = False
    _unanswered: int = 0
    _views: Mapping[int, PullRequestView] = field(default_factory=dict)
    _attempts: dict[int, tuple[Revision, int]] = field(default_factory=dict)
    _heads: Mapping[int, tuple[Revision, int]] = field(default_factory=dict)
    """The heads that were listed last, each with the number of the list in which it was new."""
    _counter: Iterator[int] = field(default_factory=lambda: count(1))
    _conflicts: OffsetConflicts = field(default_factory=OffsetConflicts)
    _due: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _errors: NewItems = field(default_factory=NewItems)

    @staticmethod
    def of(runtime: Runtime, daemon: Daemon, forge: Forge, planner: PullRequestPlanner) -> PullRequestReviews:
        """The reviews of a daemon, which plans with what they know, and asks them for a review."""
        settings, ledger, clock = runtime.settings, runtime.ledger, runtime.clock
        merged, commands = (
            MergedPlans(forge, ledger, settings, clock),
            ReviewCommands(forge, ledger.reviews, clock, settings.forge.author_may_approve, settings.forge.approvals),
        )
        writer = ForgeWriter(forge, settings.server.public_url)
        merges = MergeReports(writer, merged, commands, daemon)
        limit = settings.forge.plan_timeout
        inputs = ReviewInputs(forge, daemon.state, clock)
        reviews = PullRequestReviews(writer, inputs, planner, merges, daemon, clock, daemon.schedule, limit)
        daemon.reviews, daemon.review_now = merged.reviews, reviews.review_now
        return reviews

    def review_now(self) -> None:
        """Review at once, for example because a webhook says that a pull request has changed."""
        self._due.set()

    def run(self) -> None:
        """Review until `end`: at once, after each interval, and when asked to. After a failure it is tried earlier."""
        failures = 0
        while not self._ended.is_set():
            self._due.clear()
            errors = self._review_and_log()
            failures = failures + 1 if errors else 0
            limits = (error.retry_at for error in errors if isinstance(error, ForgeUnavailable))
            not_before = max((one for one in limits if one is not None), default=None)
            if not_before is None:
                self._wait(self.schedule.next(failures))
            else:
                pause = min(not_before - self.clock.now(), _LONGEST_PAUSE).total_seconds()
                self._ended.wait(max(pause, self.schedule.next(failures)))

    def end(self) -> None:
        """Let `run` return."""
        self._ended.set()
        self._due.set()

    def _wait(self, seconds: float) -> None:
        """Until the next review is due. What became of the revision in effect is reported at once."""
        until = self.clock.monotonic() + seconds
        while not self._ended.is_set() and (left := until - self.clock.monotonic()) > 0:
            if self._due.wait(min(_LOOK, left)) or self.merges.has_news():
                return

    def _review_and_log(self) -> list[Exception]:
        if self.daemon.state.snapshot.is_leader:
            errors = [*_contained(self.merges.report), *_contained(self.review_all)]
        else:
            errors = [*_contained(self.merges.follow)]
        found = {f"{type(error).__name__}: {error}": error for error in errors}
        for text in self._errors.of(found):
            if isinstance(found[text], GitopsConnectError):
                events.say(ERROR, "review_failed", message=text)
            else:
                events.bug(found[text])
        return errors

    def review_all(self) -> Iterator[Exception]:
        """Review every open pull request once, and return the errors: one pull request does not prevent the others.

        Each is published before the next one is planned. Commits that were not reviewed yet come first, the newest push
        at the very first, also those that are pushed meanwhile; then what was reviewed the longest time ago. A pull
        request is left out if nothing has changed on which its review depends.
        """
        reviewed = defaultdict[int, set[Revision]](set)
        is_complete, self._unanswered = False, 0
        while not is_complete:
            self._due.clear()
            try:
                yield from self.inputs.read_comment_changes()
                waiting = self._waiting(reviewed)
            except GitopsConnectError as error:
                yield error
                return
            listed = self.clock.monotonic()
            while waiting and not self._is_outdated(listed):
                one = waiting.pop()
                reviewed[one.number].add(one.head)
                errors = [*self._review(one)]
                yield from errors
                if self._must_stop(errors):
                    return
                if self.merges.has_news():
                    yield from self.merges.report()
            is_complete = not waiting
        yield from self._correct_conflicts()
        self._has_reviewed = True

    def _waiting(self, reviewed: Mapping[int, Set[Revision]]) -> list[PullRequest]:
        """The open pull requests that must be reviewed, the next one last. Forgets those that are closed.

        Each is reviewed twice at most: one with pushes without an end must not delay the others.
        """
        found = {one.number: one for one in self.writer.forge.open_pull_requests()}
        basis, number = self.inputs.basis(), next(self._counter)
        before = self._heads
        self._heads = {
            one.number: known if (known := before.get(one.number)) and known[0] == one.head else (one.head, number)
            for one in found.values()
        }
        closed = self._views.keys() - found.keys()
        self._conflicts.forget(closed)
        self.inputs.forget(closed)
        self._attempts = {number: one for number, one in self._attempts.items() if number in found}
        self._set_views({number: view for number, view in self._views.items() if number in found})

        def urgency(one: PullRequest) -> tuple[int, int]:
            head, attempt = self._attempts.get(one.number, (None, 0))
            return (-attempt if head == one.head else self._heads[one.number][1], one.number)

        def is_waiting(one: PullRequest) -> bool:
            heads = reviewed.get(one.number, frozenset())
            may_review = one.head not in heads and len(heads) < _MOST_REVIEWS
            return may_review and self.inputs.must_review(one, basis)

        return sorted(filter(is_waiting, found.values()), key=urgency)

    def _is_outdated(self, listed: float) -> bool:
        age = self.clock.monotonic() - listed
        return age >= self.schedule.interval or (self._due.is_set() and age >= _LIST_AGAIN)

    def _must_stop(self, errors: Sequence[Exception]) -> bool:
        unavailable = [error for error in errors if isinstance(error, ForgeUnavailable)]
        self._unanswered = self._unanswered + 1 if unavailable else 0
        is_limited = any(error.retry_at is not None for error in unavailable)
        has_ended = self._ended.is_set() or not self.daemon.state.snapshot.is_leader
        return has_ended or is_limited or self._unanswered >= _UNANSWERED

    def _review(self, one: PullRequest) -> Iterator[Exception]:
        self._attempts[one.number] = one.head, next(self._counter)
        basis = self.inputs.basis()
        try:
            self._announce(one)
            views = self.daemon.state.snapshot.clusters.values()
            plan = self.planner.plan(one, self.plan_timeout, [view.plan for view in views if view.plan])
            plan = as_reviewed(plan, self.merges.merged.last_shown(one.number))
        except GitopsConnectError as error:
            if isinstance(error, SourceRefused):
                said = f"{type(error).__name__}: {mask(str(error))}"
                self._set_plan_status(one, one.head, CommitState.FAILURE, said)
            yield error
            return
        except Exception as error:  # a bug: the other pull requests are reviewed anyway
            error.add_note(f"while pull request {one.number} was planned")
            yield error
            plan = PullRequestPlan(one.number, one.head, one.target, not_planned=NotPlanned.INTERNAL_ERROR)
        self._conflicts.record(one.number, offset_changes(plan))
        errors = [*self._show(one, plan)]
        yield from errors
        if not errors:
            self.inputs.reviewed(one, plan, basis)

    def _show(self, one: PullRequest, plan: PullRequestPlan) -> Iterator[Exception]:
        try:
            is_changed = plan.reviewed is not None and self.merges.merged.is_changed(plan.reviewed)
            view = self._view(one, replace(plan, others=self._others(one.number), is_changed=is_changed))
            self._set_views({**self._views, one.number: view})
            self._publish(view)
        except GitopsConnectError as error:
            yield error
        except Exception as error:  # a bug: the other pull requests are reviewed anyway
            error.add_note(f"while the plan of pull request {one.number} was published")
            yield error

    def _correct_conflicts(self) -> Iterator[Exception]:
        for view in [*self._views.values()]:
            if view.plan.others != self._others(view.plan.number):
                errors = [*self._show(view.pull_request, view.plan)]
                yield from errors
                if self._must_stop(errors):
                    return

    def _others(self, number: int) -> tuple[OtherPullRequest, ...]:
        found = self._conflicts.others(number)
        return tuple(
            OtherPullRequest(other, self._views[other].pull_request.url, names)
            for other, names in found.items()
            if other in self._views
        )

    def _set_views(self, views: Mapping[int, PullRequestView]) -> None:
        self._views = views
        self.daemon.state.set_pull_requests(tuple(views[number] for number in sorted(views)))

    def _announce(self, pull_request: PullRequest) -> None:
        """A commit that was pushed since the last review is pending until it is planned. It may not be merged before.

        At the first review after a start, the forge may have the status of an earlier process.
        """
        view = self._views.get(pull_request.number)
        if self._has_reviewed and (view is None or view.plan.head != pull_request.head):
            self._set_plan_status(pull_request, pull_request.head, CommitState.PENDING, "not planned yet")

    def _view(self, pull_request: PullRequest, plan: PullRequestPlan) -> PullRequestView:
        """What the status page shows. A review with the same result as the last one keeps the time of that one."""
        comment = review_comment(plan, self.writer.options(pull_request, self._page(pull_request)))
        view = PullRequestView(pull_request, plan, commit_state(plan), description(plan), comment, self.clock.now())
        known = self._views.get(pull_request.number, view)
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
        afresh = plan.is_changed and plan.reviewed is not None and self.merges.merged.is_news(plan.reviewed)
        is_written = self.writer.write(pull_request, CommentKind.REVIEW, view.comment, comments, afresh=afresh)
        if is_written:
            events.commented(pull_request, plan)
        if plan.reviewed is not None and not (is_written and self._was_closed(pull_request)):
            purpose = PlanPurpose.APPROVAL if plan.is_changed else PlanPurpose.REVIEW
            self.merges.merged.record(plan.reviewed, purpose)
        self._set_plan_status(pull_request, plan.head, view.state, view.summary)
        if is_written:
            annotations = [
                Annotation(one.location.file, one.location.line, one_line(one.summary), one.severity is Severity.ERROR)
                for one in plan.diagnostics
            ]
            self.writer.forge.annotate(pull_request, annotations)
        self.merges.carry_out_commands(pull_request, comments)

    def _was_closed(self, pull_request: PullRequest) -> bool:
        """Whether someone has merged or closed it while it was planned: nobody has seen the plan before."""
        return not self.writer.forge.is_open(pull_request.number)

    def _page(self, pull_request: PullRequest) -> str | None:
        status_page = self.writer.status_page
        return status_page and f"{status_page.rstrip('/')}/pull-requests/{pull_request.number}"

    def _set_plan_status(self, pull_request: PullRequest, commit: Revision, state: CommitState, said: str) -> None:
        url = self._page(pull_request) or pull_request.url
        self.writer.set_status(pull_request, commit, CommitStatus(PLAN, state, said, url))


def _contained(work: Callable[[], Iterator[Exception]]) -> Iterator[Exception]:
    try:
        yield from work()
    except Exception as error:  # a bug: the reviews continue later
        yield error


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
