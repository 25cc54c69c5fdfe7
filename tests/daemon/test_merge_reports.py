"""What is reported on a forge in memory about the revision in effect, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from manual_clock import START, ManualClock
from memory_forge import PULL_REQUEST, MemoryForge
from server_parts.made_up import MadeUpDaemon
from situations import CLUSTER, REVISION, change, current_offsets, seen, situation, wanted

from gitops_connect.daemon.forge_writer import ForgeWriter
from gitops_connect.daemon.merge_reports import MergeReports
from gitops_connect.daemon.merged_plans import APPLY, MergedPlans
from gitops_connect.daemon.review_commands import ReviewCommands
from gitops_connect.daemon.state import ClusterView, DaemonState, RepositoryView
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import Revision
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, PlanPurpose
from gitops_connect.plan.planner import plan
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.situation import OffsetSituation, Situation
from gitops_connect.settings.sections import Settings

LATER = Revision("b" * 40)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open("sqlite:///state.db", tmp_path, b"k" * 32)
    yield opened
    opened.close()


class Merge:
    """A daemon whose polls and reconciliations are made by the test, and the reports about them."""

    def __init__(self, ledger: Ledger) -> None:
        self.forge, clock = MemoryForge(), ManualClock()
        self.state = DaemonState({CLUSTER: ClusterView(CLUSTER)})
        self.daemon = MadeUpDaemon(self.state)
        self.store = ledger.reviews
        self.merged = MergedPlans(self.forge, ledger, Settings(Path()), clock)
        commands = ReviewCommands(self.forge, self.store, clock)
        self.reports = MergeReports(ForgeWriter(self.forge, None), self.merged, commands, self.daemon)

    def merge(self, revision: Revision) -> None:
        """Pull request 7 is merged, and the daemon sees the commit."""
        self.forge.merged[revision] = PULL_REQUEST
        self.poll(revision)

    def poll(self, revision: Revision) -> None:
        self.state.set_repository(RepositoryView(revision))

    def plan(self, revision: Revision) -> Plan:
        """The reset of a connector, which is blocked unless it was reviewed."""
        return replace(plan(replace(self._situation(), reviews=self.merged.reviews(revision))), revision=revision)

    def _situation(self) -> Situation:
        reset = change("again", "orders", "reset", acknowledge=["reset"])
        offsets = OffsetSituation(current={seen("orders").name: current_offsets(orders=5)})
        return situation([wanted("orders")], [seen("orders")], owned=["orders"], changes=[reset], offsets=offsets)

    def show(self) -> None:
        """The comment on the pull request shows the plan before the merge."""
        made = replace(self._situation(), reviews=NO_REVIEWS)
        self.store.record(reviewed_plan(7, PULL_REQUEST.head, [plan(made)]), PlanPurpose.REVIEW, START)

    def begin(self, revision: Revision) -> None:
        """A reconciliation has made its plan."""
        self.number = self.daemon.reconciliations.last
        self.daemon.reconciliations.poll_ended(self.number)
        self.state.update_cluster(CLUSTER, plan=self.plan(revision), next=None)

    def end(self, revision: Revision | None) -> None:
        """The reconciliation has ended, and this revision is applied."""
        self.state.update_cluster(CLUSTER, applied=revision, next=START)
        self.daemon.reconciliations.end(CLUSTER, self.number, AssertionError("not read"), 0.0)

    def reconcile(self, revision: Revision) -> None:
        self.begin(revision)
        self.end(revision if not self.plan(revision).unreviewed else None)

    def report(self) -> list[str]:
        """The errors."""
        return [str(error) for error in self.reports.report()]

    def states(self, revision: Revision = REVISION) -> list[str]:
        return self.forge.states(revision, APPLY)


@pytest.fixture
def merge(ledger: Ledger) -> Merge:
    return Merge(ledger)


def test_the_end_of_a_reconciliation_is_news_until_it_is_reported(merge: Merge) -> None:
    assert not merge.reports.has_news()
    merge.merge(REVISION)
    assert merge.reports.has_news()
    merge.report()
    assert not merge.reports.has_news()
    merge.begin(REVISION)
    assert not merge.reports.has_news(), "it may apply more"
    merge.end(None)
    assert merge.reports.has_news()
    merge.report()
    assert (merge.states()[-1], merge.reports.has_news()) == ("failure", False)
    merge.reconcile(REVISION)
    assert not merge.reports.has_news(), "it ended as before"


def test_a_forge_that_does_not_answer_is_no_news(merge: Merge) -> None:
    merge.forge.answers = False
    merge.merge(REVISION)
    assert merge.report() == ["the forge does not answer"]
    assert not merge.reports.has_news(), "otherwise it would be asked without a pause"
    merge.merge(LATER)
    assert merge.reports.has_news()


def test_a_plan_from_before_the_look_up_is_not_reported(merge: Merge) -> None:
    """It is blocked only because it was not known yet what was reviewed."""
    merge.show()
    merge.merge(REVISION)
    merge.begin(REVISION)
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (1, ["pending"])
    merge.end(None)
    merge.report()
    assert (merge.states(), merge.forge.comments(7)) == (["pending"], [])
    merge.reconcile(REVISION)
    merge.report()
    assert (merge.states(), merge.forge.comments(7)) == (["pending", "success"], [])


def test_a_commit_is_looked_up_until_its_pull_request_is_known(merge: Merge) -> None:
    """Gitea sends the webhook for the push before the pull request counts as merged."""
    merge.show()
    merge.poll(REVISION)
    merge.report()
    merge.reconcile(REVISION)
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (1, [])
    merge.merge(REVISION)
    merge.report()
    merge.reconcile(REVISION)
    merge.report()
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (2, ["pending", "success"])


def test_a_plan_that_nobody_has_reviewed_is_reported(merge: Merge) -> None:
    merge.merge(REVISION)
    merge.report()
    merge.reconcile(REVISION)
    merge.report()
    assert merge.states() == ["pending", "failure"]
    assert "Blocked" in merge.forge.comments(7)[0].body
