"""Which pull requests were merged since the revision before, and whose reviewed plans count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, Digest, Revision
from gitops_connect.model.pull_requests import PullRequest
from gitops_connect.model.reviewed_plans import PlanPurpose, ReviewedPlan
from gitops_connect.review.merges import MergedPlans
from gitops_connect.settings.sections import ClusterSettings, Settings

CLOCK = ManualClock()
LOCAL, OTHER = ClusterName("local"), ClusterName("other")
MERGES = {"b": 1, "c": 2, "d": 3}


def commit(letter: str) -> Revision:
    return Revision(letter * 40)


class History:
    """A forge with a branch: its commits as letters, the oldest first, some of which are merges."""

    def __init__(self, branch: str, merges: Mapping[str, int] = MERGES) -> None:
        self.branch, self.merges, self.asked = branch, merges, 0

    def first_parent(self, revision: Revision) -> Revision | None:
        self.asked += 1
        at = self.branch.index(revision[0])
        return commit(self.branch[at - 1]) if at else None

    def merged_as(self, revision: Revision) -> list[PullRequest]:
        found = self.merges.get(revision[0])
        return [] if found is None else [PullRequest(found, "", "", revision, "", "main", "", "", False, False)]


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    for number in MERGES.values():
        ledger.reviews.record(ReviewedPlan(number, commit("0"), Digest("0")), PlanPurpose.REVIEW, CLOCK.now())
    return ledger


def merged_plans(forge: Any, ledger: Ledger) -> MergedPlans:
    clusters = {name: ClusterSettings(name, ("http://127.0.0.1:1",)) for name in (LOCAL, OTHER)}
    return MergedPlans(forge, ledger, Settings(Path(), clusters=clusters), CLOCK)


def looked_up(plans: MergedPlans, letter: str) -> tuple[list[int], int | None]:
    """The pull requests whose plans count after the revision was looked up, and the last one of them."""
    plans.look_up(commit(letter))
    reviews = plans.reviews(commit(letter))
    return [one.pull_request for one in reviews.merged], reviews.pull_request


def test_all_pull_requests_since_the_revision_before_count_until_they_are_applied(ledger: Ledger) -> None:
    plans = merged_plans(History("abcde"), ledger)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "c") == ([1, 2], 2)
    assert looked_up(plans, "e") == ([1, 2, 3], 3), "nothing says that c is applied"
    plans = merged_plans(History("abcd"), ledger)
    assert looked_up(plans, "b") == ([1], 1)
    plans.applied()
    assert looked_up(plans, "d") == ([2, 3], 3)


def test_a_pull_request_that_was_merged_as_several_commits_counts_once(ledger: Ledger) -> None:
    plans = merged_plans(History("abcd", {"b": 2, "c": 2, "d": 1}), ledger)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "d") == ([1, 2], 1)


@pytest.mark.parametrize(("applied", "expected"), rows(__file__, "applied"))
def test_after_a_restart_the_ledger_knows_what_was_applied(
    ledger: Ledger, applied: Mapping[ClusterName, str], expected: list[int]
) -> None:
    for cluster, letter in applied.items():
        ledger.record_applied(cluster, commit(letter), CLOCK.now())
    assert looked_up(merged_plans(History("abcd"), ledger), "d") == (expected, 3)


def test_a_directory_that_was_applied_is_not_searched_for(ledger: Ledger) -> None:
    ledger.record_applied(LOCAL, Revision("worktree-1"), CLOCK.now())
    forge = History("abcd")
    assert looked_up(merged_plans(forge, ledger), "d") == ([3], 3)
    assert forge.asked == 0


def test_of_a_branch_that_was_rewritten_only_the_last_commit_counts(ledger: Ledger) -> None:
    letters = "".join(map(chr, range(0x1000, 0x1000 + 200)))
    forge = History(f"{letters}bcd")
    plans = merged_plans(forge, ledger)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "d") == ([3], 3)
    assert forge.asked == 100
