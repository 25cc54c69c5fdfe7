"""Reports on the forge whether the revision in effect was applied, and what of it is blocked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from gitops_connect.daemon import events
from gitops_connect.daemon.state import ClusterView, DaemonState, Reconciliations, Snapshot
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.pull_requests import Comment, CommitState, CommitStatus, PullRequest, PullRequestPlan
from gitops_connect.model.revisions import short
from gitops_connect.plan.reviewed import review_digest
from gitops_connect.report.comment_writer import CommentKind
from gitops_connect.report.review_comment import blocked_comment
from gitops_connect.review.forge_writer import ForgeWriter
from gitops_connect.review.merged_plans import APPLY, Ended, MergedPlans, apply_status, ended, unreviewed
from gitops_connect.review.review_commands import ReviewCommands


class ReviewedDaemon(Protocol):
    """The part of `Daemon` that is used here."""

    @property
    def state(self) -> DaemonState:
        """The snapshots."""

    @property
    def reconciliations(self) -> Reconciliations:
        """The results of what was requested."""

    def reconcile_now(self, clusters: Collection[ClusterName]) -> int:
        """Poll the repository at once, then reconcile these clusters."""


@dataclass(slots=True)
class MergeReports:
    """The reports about the pull request that was merged as the revision in effect."""

    writer: ForgeWriter
    merged: MergedPlans
    commands: ReviewCommands
    daemon: ReviewedDaemon
    _request: int = 0
    _revision: Revision | None = None
    _reported: Mapping[ClusterName, Ended] = field(default_factory=dict)
    _pending: dict[Revision, PullRequest] = field(default_factory=dict)

    def has_news(self) -> bool:
        """Whether `report` was not called since there is a new revision, or another result on a cluster.

        The changes of a new revision wait until it is looked up. An error of the forge is no news: it may last.
        """
        snapshot = self._snapshot()
        is_reported = ended(snapshot).items() <= self._reported.items()
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
                self._request = self.daemon.reconcile_now(snapshot.clusters)
                snapshot = self._snapshot()
            if revision is not None and self.merged.last is not None:
                self._report(self.merged.last, revision, snapshot)
        except GitopsConnectError as error:
            yield error

    def _report(self, pull_request: PullRequest, revision: Revision, snapshot: Snapshot) -> None:
        status = apply_status(snapshot, pull_request.url)
        self.writer.set_status(pull_request, revision, status)
        self._pending.pop(revision, None)
        if status.state is CommitState.PENDING:
            self._pending[revision] = pull_request
        elif status.state is CommitState.SUCCESS:
            self.merged.applied()
            self._report_earlier(short(revision))
        self._report_blocked(pull_request, revision, snapshot)

    def _report_earlier(self, commit: str) -> None:
        """The commits that were still pending when the next one followed are applied, too."""
        for earlier, one in [*self._pending.items()]:
            status = CommitStatus(APPLY, CommitState.SUCCESS, f"applied with commit {commit}", one.url)
            self.writer.set_status(one, earlier, status)
            del self._pending[earlier]

    def _report_blocked(self, pull_request: PullRequest, revision: Revision, snapshot: Snapshot) -> None:
        plans, changes = unreviewed(snapshot)
        if not changes:
            return
        target, digest = pull_request.target, review_digest(plans)
        plan = PullRequestPlan(pull_request.number, revision, target, plans, digest=digest)
        comments = self.writer.forge.comments(pull_request.number)
        body = blocked_comment(plan, changes, self.writer.options(pull_request, self.writer.status_page))
        if self.writer.write(pull_request, CommentKind.BLOCKED, body, comments):
            events.blocked(pull_request, len(changes))
        self.merged.record_blocked(plan)
        self.carry_out_commands(pull_request, comments)

    def carry_out_commands(self, pull_request: PullRequest, comments: Sequence[Comment]) -> None:
        """Carry out the commands in these comments. A plan that was approved is applied at once."""
        if self.commands.carry_out(pull_request, comments):
            self.daemon.reconcile_now(self.daemon.state.snapshot.clusters)
