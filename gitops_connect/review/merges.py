"""The pull requests that were merged as the revision in effect: what was reviewed of them, and what became of it.

If a change was not reviewed, a comment on the pull request says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from logging import WARNING

from gitops_connect.daemon import events
from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.errors import GitopsConnectError
from gitops_connect.forge.forge import Forge
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Plan
from gitops_connect.model.pull_requests import Comment, CommitState, CommitStatus, PullRequest, PullRequestPlan
from gitops_connect.model.reviewed_plans import (
    NO_REVIEWS,
    PlanPurpose,
    ReviewedPlan,
    ReviewMode,
    Reviews,
    UnreviewedChange,
)
from gitops_connect.model.revisions import is_commit, short
from gitops_connect.model.status import ConditionStatus
from gitops_connect.plan.conditions import HEALTHY
from gitops_connect.plan.reviewed import is_covered, reviewed_plan
from gitops_connect.report.comment_writer import CommentKind, released_comment
from gitops_connect.report.review_comment import blocked_comment
from gitops_connect.report.words import plural
from gitops_connect.review.comments import ForgeWriter, ReviewCommands
from gitops_connect.settings.sections import Settings

APPLY = "gitops-connect/apply"
"""The commit status of a merged commit."""
_REMEMBERED = 100
"""Pull requests whose reviewed plans count: a merge may not be applied completely yet when the next one follows."""
_MOST_COMMITS = 100
"""Commits before a revision of which the pull requests are looked up."""
_MOST_LEFT = 20
"""Commits, from the revision backwards, among which those are looked for that an earlier process has left pending."""
_KEPT = timedelta(days=90)
"""How long the ledger keeps the plans of pull requests that are neither open nor being applied."""


class MergedPlans:
    """The pull requests that were merged as the revisions in effect. `reviews` is safe for several threads."""

    def __init__(self, forge: Forge, ledger: Ledger, settings: Settings, clock: Clock) -> None:
        self._forge = forge
        self._ledger = ledger
        self._store = ledger.reviews
        self._clusters = tuple(settings.clusters)
        self._mode, self._needed = settings.forge.review, settings.forge.approvals
        self._clock = clock
        self.earlier: Mapping[Revision, PullRequest] = {}
        """The commits before the revision, of the last look-up, as which other pull requests were merged."""
        self._merged: tuple[PullRequest, ...] = ()
        self._revision: Revision | None = None
        self._is_found = False
        self._is_applied = False

    @property
    def last(self) -> PullRequest | None:
        """The pull request that was merged last; None if none is known."""
        return self._merged[-1] if self._merged else None

    @property
    def authors(self) -> frozenset[str]:
        """Those of all pull requests that count."""
        return frozenset(one.author for one in self._merged)

    def reviews(self, revision: Revision) -> Reviews:
        """What the planner must know. Until the revision was looked up, nothing of it counts as reviewed."""
        if self._mode is ReviewMode.AUTO:
            return NO_REVIEWS
        numbers = [one.number for one in self._merged] if revision == self._revision else []
        if not numbers:
            return Reviews(self._mode)
        shown = tuple(self._store.plans(numbers, PlanPurpose.REVIEW))
        return Reviews(self._mode, shown, self._approved(numbers), numbers[-1])

    def _approved(self, numbers: Collection[int]) -> tuple[ReviewedPlan, ...]:
        return tuple(self._store.approved(numbers, self._needed))

    def look_up(self, revision: Revision) -> bool:
        """Find the pull requests that were merged up to this revision, and return whether the result is another one.

        A revision without a pull request is looked up at each call: forges may know the commit earlier than the merge.
        Once a revision was applied, its reviews no longer count: a later commit may make the same change for another
        reason. Raises the errors of the forge and the ledger.
        """
        is_new = revision != self._revision
        if not is_new and self._is_found:
            return False
        found = {commit: self._forge.merged_as(commit) for commit in self._new_commits(revision)}
        if not is_new and not found[revision]:
            return False
        merged = {} if self._is_applied else {one.number: one for one in self._merged}
        for pull_requests in found.values():
            merged |= {one.number: one for one in pull_requests if one.number not in merged}
        last = {one.number: commit for commit, all_ in found.items() for one in all_}  # of a rebase
        self.earlier = {last[number]: one for number, one in merged.items() if last.get(number, revision) != revision}
        self._merged = tuple(merged.values())[-_REMEMBERED:]
        self._is_applied, self._is_found = False, bool(found[revision])
        self._revision = revision
        return True

    def _new_commits(self, revision: Revision) -> list[Revision]:
        """The commits of the branch since the last look-up, or since the last applied revisions; the oldest first.

        Only the revision itself if the earlier ones are unknown, or are not among its last predecessors.
        """
        if self._revision is not None:
            earlier = {self._revision}
        else:  # what was applied on the clusters, also by an earlier process
            marks = [self._ledger.revisions(cluster).applied for cluster in self._clusters]
            earlier = {mark.revision for mark in marks if mark is not None and is_commit(mark.revision)}
        missing, commits, new = earlier - {revision}, [revision], 1
        while missing and len(commits) <= _MOST_COMMITS:
            parent = self._forge.first_parent(commits[-1])
            if parent is None:
                break
            if parent in missing:
                missing.remove(parent)
                new = len(commits)
            commits.append(parent)
        return commits[new - 1 :: -1]

    def applied(self) -> None:
        """The revision that was looked up is applied on every cluster."""
        self._is_applied = True

    def is_applied(self) -> bool:
        """Whether the ledger has the revision that was looked up as applied on every cluster."""
        marks = (self._ledger.revisions(cluster).applied for cluster in self._clusters)
        return all(mark is not None and mark.revision == self._revision for mark in marks)

    def unproven(self, revision: Revision) -> Mapping[ClusterName, frozenset[ConnectorName]]:
        """The connectors that a step for this revision has changed, and that were not seen to work at its end."""
        return {cluster: self._ledger.status.unproven(cluster, revision) for cluster in self._clusters}

    def remove_old(self) -> None:
        """Remove the plans of pull requests that were merged or closed long ago."""
        self._store.remove_before(self._clock.now() - _KEPT, [one.number for one in self._merged])

    def last_shown(self, number: int) -> ReviewedPlan | None:
        """The plan that the comment on a pull request shows; None if there is no comment with a plan."""
        return self._store.last(number)

    def is_changed(self, plan: ReviewedPlan) -> bool:
        """Whether the plan has destructive effects beyond those that its pull request showed or that were approved.

        False for a plan that is shown for the first time, and for that of a cluster that could not be planned before.
        """
        shown = next(iter(self._store.plans([plan.pull_request], PlanPurpose.REVIEW)), None)
        if self._mode is ReviewMode.AUTO or shown is None:
            return False
        planned = {cluster: one for cluster, one in plan.connectors.items() if cluster in shown.connectors}
        return not is_covered(replace(plan, connectors=planned), [shown, *self._approved([plan.pull_request])])

    def is_news(self, plan: ReviewedPlan) -> bool:
        """Whether the plan has destructive effects beyond those that the comment on its pull request shows."""
        last = self.last_shown(plan.pull_request)
        return last is None or not is_covered(plan, [last])

    def record(self, plan: ReviewedPlan, purpose: PlanPurpose) -> None:
        """Record the plan that a comment shows. Who merges an open pull request has reviewed it."""
        self._store.record(plan, purpose, self._clock.now())


def unreviewed(snapshot: Snapshot) -> tuple[tuple[Plan, ...], tuple[UnreviewedChange, ...]]:
    """The plans of all clusters for the revision in effect, and the changes that are blocked in them."""
    revision = snapshot.repository.revision
    plans = tuple(view.plan for view in snapshot.clusters.values() if view.plan and view.plan.revision == revision)
    return plans, tuple(one for plan in plans for one in plan.unreviewed)


Unproven = Mapping[ClusterName, Collection[ConnectorName]]
"""The connectors of each cluster that were not seen to work after the last step for a revision."""


def apply_status(snapshot: Snapshot, unproven: Unproven, url: str | None) -> CommitStatus:
    """Whether the revision in effect was applied on every cluster, and its connectors work."""
    views = snapshot.clusters.values()
    health = {view.cluster: Counter(_healths(view, unproven.get(view.cluster, ()))) for view in views}
    problems = [problem for view in views for problem in _problems(view)]
    problems += [
        f"{plural(found[ConditionStatus.FALSE], 'changed connector')} not working on {cluster}"
        for cluster, found in health.items()
        if found[ConditionStatus.FALSE]
    ]
    if problems:
        return CommitStatus(APPLY, CommitState.FAILURE, "; ".join(problems), url)
    left = [view.cluster for view in views if view.applied != snapshot.repository.revision]
    if left:
        return CommitStatus(APPLY, CommitState.PENDING, f"not yet applied on {', '.join(left)}", url)
    if open_ := [cluster for cluster, found in health.items() if found[ConditionStatus.UNKNOWN]]:
        said = f"applied, and not confirmed yet on {', '.join(open_)}"
        return CommitStatus(APPLY, CommitState.PENDING, said, url)
    return CommitStatus(APPLY, CommitState.SUCCESS, f"applied on {', '.join(snapshot.clusters)}", url)


def _healths(view: ClusterView, unproven: Collection[ConnectorName]) -> Iterator[ConditionStatus]:
    """Whether these connectors work: unknown until they were observed after their last step."""
    changed = {one.step.connector for one in view.steps}
    for one in view.connectors:
        if one.name in unproven:
            yield ConditionStatus.UNKNOWN if one.name in changed else HEALTHY[one.health]


Ended = tuple[bool, int, tuple[str, ...], tuple[UnreviewedChange, ...]]
"""Whether the revision in effect is applied on a cluster, the number of steps, the problems, and what is blocked."""


def ended(snapshot: Snapshot) -> dict[ClusterName, Ended]:
    """How the last reconciliation of each cluster ended, except of those in progress."""
    return {
        view.cluster: (
            view.applied == snapshot.repository.revision,
            len(view.steps),
            tuple(_problems(view)),
            view.plan.unreviewed if view.plan else (),
        )
        for view in snapshot.clusters.values()
        if view.next is not None
    }


def _problems(view: ClusterView) -> Iterator[str]:
    """Why the revision is not applied, without texts of errors, which can quote a config."""
    if view.plan is not None and view.plan.unreviewed:
        yield f"blocked on {view.cluster}: not reviewed"
    if failed := sum(one.result is Result.FAILED for one in view.steps):
        yield f"{failed} of {len(view.steps)} steps failed on {view.cluster}"
    if view.plan is not None:
        back = sum(one.revision == view.plan.revision for one in view.plan.rolled_back.values())
        if back:
            yield f"{plural(back, 'config')} rolled back on {view.cluster}"
    if view.error:
        yield f"{view.error.partition(':')[0]} on {view.cluster}"
    if errors := len(view.diagnostics.errors):
        yield f"{errors} errors in documents for {view.cluster}"


@dataclass(slots=True)
class MergeReports:
    """The reports about the revision in effect, and the pull request that was merged as it."""

    writer: ForgeWriter
    merged: MergedPlans
    commands: ReviewCommands
    daemon: Daemon
    _request: int = 0
    _revision: Revision | None = None
    _reported: Mapping[ClusterName, Ended] = field(default_factory=dict)
    _pending: dict[Revision, PullRequest | None] = field(default_factory=dict)
    """The commits before the revision in effect, or itself, whose status is not final yet."""
    _knows_left: bool = False
    """Whether the commits were found that an earlier process has left pending."""
    _closed: set[int] = field(default_factory=set)
    """Pull requests without a comment that says that something is blocked."""

    def has_news(self) -> bool:
        """Whether `report` or `follow` was not called since there is a new revision, or another result on a cluster.

        The changes of a new revision wait until it is looked up. An error of the forge does not count: it may last. A
        process that is not the leader reports no results.
        """
        snapshot = self._snapshot()
        is_reported = not snapshot.is_leader or ended(snapshot).items() <= self._reported.items()
        return snapshot.repository.revision != self._revision or not is_reported

    def _snapshot(self) -> Snapshot:
        """The state without what was done on clusters before the look-up: no review was known then."""
        results, clusters = self.daemon.reconciliations.result, self.daemon.state.snapshot.clusters
        unaware = {cluster: ClusterView(cluster) for cluster in clusters if results(cluster, self._request) is None}
        snapshot = self.daemon.state.snapshot  # not an earlier one, which could be from before the results
        return replace(snapshot, clusters={**snapshot.clusters, **unaware})

    def report(self) -> Iterator[Exception]:
        """Look up the pull request of the revision in effect, and report what became of it. Returns the errors."""
        snapshot = self._snapshot()
        revision = snapshot.repository.revision
        self._reported = {**(self._reported if revision == self._revision else {}), **ended(snapshot)}
        self._revision = revision
        try:
            if revision is not None and self.merged.look_up(revision):
                self.merged.remove_old()
                self._request = self.daemon.reconcile_now(snapshot.clusters)
                snapshot = self._snapshot()
        except GitopsConnectError as error:
            yield error
            return
        if revision is not None:
            for work in (self._find_pending, self._report):
                try:
                    work(revision, snapshot)
                except GitopsConnectError as error:
                    yield error

    def _find_pending(self, revision: Revision, snapshot: Snapshot) -> None:
        """Find the earlier commits without a final status: merged together with others, or left by another process."""
        if not self._knows_left and any(one.applied for one in snapshot.clusters.values()):
            commit: Revision | None = revision
            for _ in range(_MOST_LEFT):
                state = commit and self.writer.forge.status(commit, APPLY)
                if commit is None or state is CommitState.SUCCESS:
                    break
                if state is CommitState.PENDING and commit != revision:
                    self._pending.setdefault(commit, None)
                commit = self.writer.forge.first_parent(commit)
            self._knows_left = True
        for earlier, one in [*self.merged.earlier.items()]:
            if earlier not in self._pending and self.writer.forge.status(earlier, APPLY) is None:
                pending = CommitStatus(APPLY, CommitState.PENDING, f"waits for commit {short(revision)}", one.url)
                self.writer.set_status(one, earlier, pending)
                self._pending[earlier] = one
        self.merged.earlier = {}

    def follow(self) -> Iterator[Exception]:
        """Look up what was reviewed, so that a process that is not the leader shows the same plans. Changes nothing."""
        snapshot = self._snapshot()
        revision = self._revision = snapshot.repository.revision
        try:
            if revision is not None and self.merged.look_up(revision):
                self.daemon.reconcile_now(snapshot.clusters)
            if self.merged.is_applied():
                self.merged.applied()
        except GitopsConnectError as error:
            yield error

    def _report(self, revision: Revision, snapshot: Snapshot) -> None:
        pull_request = self.merged.last
        url = pull_request.url if pull_request else self.writer.status_page
        status = apply_status(snapshot, self.merged.unproven(revision), url)
        self._pending.pop(revision, None)
        if status.state is CommitState.SUCCESS:
            # The commits that were still pending when the next one followed are applied, too. If this process is killed
            # before the status of the revision, the next one finds those that are left.
            applied = f"applied with commit {short(revision)}"
            for earlier, one in [*self._pending.items()]:
                done = CommitStatus(APPLY, CommitState.SUCCESS, applied, one.url if one else url)
                self.writer.set_status(one, earlier, done)
                del self._pending[earlier]
        self.writer.set_status(pull_request, revision, status)
        if status.state is CommitState.PENDING:
            self._pending[revision] = pull_request
        if all(one.applied == revision for one in snapshot.clusters.values()):
            self.merged.applied()
        if pull_request is not None:
            if status.state is CommitState.SUCCESS:
                self._close_blocked(pull_request)
            self._report_blocked(pull_request, revision, snapshot)

    def _close_blocked(self, pull_request: PullRequest) -> None:
        """Say in the comment about a blocked change that it is applied now. It is looked for once in each process."""
        if pull_request.number in self._closed:
            return
        comments = self.writer.forge.comments(pull_request.number)
        own = self.writer.own_comment(CommentKind.BLOCKED, comments)
        if own is not None:
            self.writer.forge.write_comment(pull_request.number, released_comment(), own.id)
        self._closed.add(pull_request.number)

    def _report_blocked(self, pull_request: PullRequest, revision: Revision, snapshot: Snapshot) -> None:
        plans, changes = unreviewed(snapshot)
        if not changes:
            return
        self._closed.discard(pull_request.number)
        asked = reviewed_plan(pull_request.number, revision, plans)
        plan = PullRequestPlan(pull_request.number, revision, pull_request.target, plans, digest=asked.digest)
        comments = self.writer.forge.comments(pull_request.number)
        body = blocked_comment(plan, changes, self.writer.options(pull_request, self.writer.status_page))
        if self.writer.write(pull_request, CommentKind.BLOCKED, body, comments):
            events.say(WARNING, "changes_not_reviewed", pull_request=pull_request.number, blocked=len(changes))
        self.merged.record(asked, PlanPurpose.APPROVAL)
        self.carry_out_commands(pull_request, comments)

    def carry_out_commands(self, pull_request: PullRequest, comments: Sequence[Comment]) -> None:
        """Carry out the commands in these comments. A plan that was approved is applied at once.

        What is blocked of all merged pull requests is approved at the last one.
        """
        is_last = self.merged.last is not None and pull_request.number == self.merged.last.number
        if self.commands.carry_out(pull_request, comments, self.merged.authors if is_last else ()):
            self.daemon.reconcile_now(self.daemon.state.snapshot.clusters)
