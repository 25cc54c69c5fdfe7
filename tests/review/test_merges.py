"""Which merges count, what is reported about them on a forge in memory, and which comments are commands."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import START, ManualClock
from support.files.tables import rows
from support.forge.memory_forge import PULL_REQUEST, MemoryForge
from support.planner.plans_of_steps import plan, step
from support.server.made_up import MadeUpDaemon

from gitops_connect.daemon.state import ClusterView, DaemonState, RepositoryView
from gitops_connect.errors import ForgeRefused
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.health import HealthReason
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.outcomes import JournalEntry, Result, StepOutcome
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.pull_requests import Comment, CommitState, CommitStatus, PullRequest, PullRequestPlan
from gitops_connect.model.reviewed_plans import NO_REVIEWS, Approval, PlanPurpose, ReviewedPlan, Reviews
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.model.verdicts import IS_OK
from gitops_connect.plan.reviewed import missing_review, reviewed_plan, unreviewed
from gitops_connect.report.comment_writer import CommentKind, Marker, answered_command
from gitops_connect.review.comments import ForgeWriter, ReviewCommands
from gitops_connect.review.merges import APPLY, MergedPlans, MergeReports
from gitops_connect.review.pull_request_plans import as_reviewed
from gitops_connect.settings.sections import ClusterSettings, Settings

pytestmark = pytest.mark.slow

LOCAL = ClusterName("local")
REVISION, LATER = Revision("a" * 40), Revision("b" * 40)
START_OF_BRANCH, EARLIER = Revision("1" * 40), Revision("2" * 40)


class Merge:
    """A daemon whose polls and reconciliations are made by the test, and the reports about them."""

    def __init__(self, ledger: Ledger) -> None:
        self.forge, clock = MemoryForge(), ManualClock()
        self.state = DaemonState({LOCAL: ClusterView(LOCAL)})
        self.daemon = MadeUpDaemon(self.state)
        self.store = ledger.reviews
        settings = Settings(Path(), clusters={LOCAL: ClusterSettings(LOCAL, ("http://127.0.0.1:1",))})
        self.merged = MergedPlans(self.forge, ledger, settings, clock)
        commands = ReviewCommands(self.forge, self.store, clock)
        self.reports = MergeReports(ForgeWriter(self.forge, None), self.merged, commands, self.daemon)

    def show(self) -> None:
        """The comment on the pull request shows the plan before the merge."""
        shown = reviewed_plan(7, PULL_REQUEST.head, [_deletion(NO_REVIEWS)])
        self.store.record(shown, PlanPurpose.REVIEW, START)

    def merge(self, revision: Revision) -> None:
        """Pull request 7 is merged, and the daemon sees the commit."""
        self.forge.merged[revision] = PULL_REQUEST
        self.poll(revision)

    def poll(self, revision: Revision) -> None:
        self.state.set_repository(RepositoryView(revision))

    def begin(self) -> None:
        """A reconciliation has made its plan."""
        self.number, self.revision = self.daemon.reconciliations.last, self.state.snapshot.repository.revision
        assert self.revision is not None
        self.daemon.reconciliations.poll_ended(self.number)
        made = replace(_deletion(self.merged.reviews(self.revision)), revision=self.revision)
        self.state.update_cluster(LOCAL, plan=made, next=None)
        self.is_blocked = bool(made.unreviewed)

    def end(self) -> None:
        """The reconciliation has ended."""
        self.state.update_cluster(LOCAL, applied=None if self.is_blocked else self.revision, next=START)
        self.daemon.reconciliations.end(LOCAL, self.number, AssertionError("not read"), 0.0)

    def reconcile(self) -> None:
        self.begin()
        self.end()

    def report(self) -> list[str]:
        """The errors."""
        return [str(error) for error in self.reports.report()]

    def follow(self, revision: Revision) -> None:
        """Pull request 7 is merged, looked up, reconciled and reported."""
        self.merge(revision)
        self.report()
        self.reconcile()
        self.report()

    def states(self) -> list[str]:
        return self.forge.states(REVISION, APPLY)


def _deletion(reviews: Reviews) -> Plan:
    """The deletion of a connector, which is blocked unless it was reviewed."""
    made = plan(step("orders", Action.DELETE))
    (connector,) = made.connectors
    change = missing_review(reviews, LOCAL, connector, connector.steps)
    if change is None:
        return made
    held = replace(connector, applicable=False, unreviewed=change, holds=(unreviewed(change, reviews),))
    return replace(made, connectors=(held,))


@pytest.fixture
def merge(ledger: Ledger) -> Merge:
    return Merge(ledger)


def test_the_end_of_a_reconciliation_is_news_until_it_is_reported(merge: Merge) -> None:
    assert not merge.reports.has_news()
    merge.merge(REVISION)
    assert merge.reports.has_news()
    merge.report()
    assert not merge.reports.has_news()
    merge.begin()
    assert not merge.reports.has_news(), "it may apply more"
    merge.end()
    assert merge.reports.has_news()
    merge.report()
    assert (merge.states()[-1], merge.reports.has_news()) == ("failure", False)
    merge.reconcile()
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
    merge.begin()
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (1, ["pending"])
    merge.end()
    merge.report()
    assert (merge.states(), merge.forge.comments(7)) == (["pending"], [])
    merge.reconcile()
    merge.report()
    assert (merge.states(), merge.forge.comments(7)) == (["pending", "success"], [])


def test_a_commit_is_looked_up_until_its_pull_request_is_known(merge: Merge) -> None:
    """Gitea sends the webhook for the push before the pull request counts as merged."""
    merge.show()
    merge.poll(REVISION)
    merge.report()
    merge.reconcile()
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (1, ["pending", "failure"])
    merge.follow(REVISION)
    merge.report()
    assert (merge.daemon.reconciliations.last, merge.states()) == (2, ["pending", "failure", "pending", "success"])


def test_a_commit_that_was_pending_when_the_next_one_followed_is_applied_with_it(merge: Merge) -> None:
    for revision in (REVISION, LATER):
        merge.show()
        merge.merge(revision)
        merge.report()
    assert merge.states() == ["pending"]
    merge.reconcile()
    merge.report()
    assert merge.states() == ["pending", "success"]
    assert merge.forge.states(LATER, APPLY) == ["pending", "success"]


def test_a_direct_push_has_its_status_at_its_last_commit(merge: Merge) -> None:
    """Two pushes, the second one of two commits."""
    merge.forge.parents = {EARLIER: START_OF_BRANCH, REVISION: EARLIER, LATER: REVISION}
    for pushed in (EARLIER, LATER):
        merge.poll(pushed)
        merge.report()
        merge.begin()
        merge.is_blocked = False
        merge.state.update_cluster(LOCAL, plan=plan())
        merge.end()
        merge.report()
        assert (merge.forge.states(pushed, APPLY), merge.states()) == (["pending", "success"], [])


def test_each_pull_request_that_was_merged_while_no_daemon_ran_has_its_status(merge: Merge, ledger: Ledger) -> None:
    ledger.record_applied(LOCAL, EARLIER, START)
    other = replace(PULL_REQUEST, number=8)
    merge.forge.parents, merge.forge.merged = {LATER: REVISION, REVISION: EARLIER}, {REVISION: other}
    merge.show()
    merge.merge(LATER)
    merge.report()
    assert (merge.states(), merge.forge.states(LATER, APPLY)) == (["pending"], ["pending"])
    merge.reconcile()
    merge.report()
    assert (merge.states()[-1], merge.forge.states(LATER, APPLY)[-1]) == ("success", "success")


def test_a_status_that_an_earlier_process_has_left_pending_gets_its_end(merge: Merge) -> None:
    for commit_, state in (
        (START_OF_BRANCH, CommitState.PENDING),
        (EARLIER, CommitState.SUCCESS),
        (REVISION, CommitState.PENDING),
    ):
        merge.forge.set_status(commit_, CommitStatus(APPLY, state, ""))
    merge.forge.parents = {EARLIER: START_OF_BRANCH, REVISION: EARLIER, LATER: REVISION}
    merge.show()
    merge.follow(LATER)
    assert (merge.states(), merge.forge.states(LATER, APPLY)) == (["pending", "success"], ["pending", "success"])
    assert merge.forge.states(START_OF_BRANCH, APPLY) == ["pending"], "not behind a commit that has succeeded"


def test_a_step_that_is_not_confirmed_is_pending_until_the_connector_is_seen_to_work_or_not(
    merge: Merge, ledger: Ledger
) -> None:
    merge.show()
    merge.merge(REVISION)
    merge.report()
    merge.begin()
    about = (LOCAL, START, REVISION, "ana", ConnectorName("orders"), Action.RESUME, "")
    for result in (Result.UNCONFIRMED, Result.FAILED):
        ledger.status.record_steps(LOCAL, [JournalEntry(*about, result, "", "", 0.0)])
        outcome = StepOutcome(step("orders", Action.RESUME), result)
        merge.state.update_cluster(LOCAL, steps=(outcome,), connectors=(health(Health.HEALTHY),))
        merge.end()
        merge.report()
        assert merge.states()[-1] == ("pending" if result is Result.UNCONFIRMED else "failure"), "seen before the step"
        merge.state.update_cluster(LOCAL, steps=())
        for seen, state in (
            (Health.PROGRESSING, "pending"),
            (Health.DEGRADED, "failure"),
            (Health.UNKNOWN, "pending"),
            (Health.HEALTHY, "success"),
        ):
            merge.state.update_cluster(LOCAL, connectors=(health(seen), replace(health(Health.DEGRADED), name="other")))
            merge.report()
            assert merge.states()[-1] == state
    assert {one.description for one in merge.forge.statuses[REVISION, APPLY]} == {
        "not yet applied on local",
        "applied, and not confirmed yet on local",
        "1 changed connector not working on local",
        "1 of 1 steps failed on local",
        "applied on local",
    }


def test_a_config_that_was_applied_and_rolled_back_later_is_a_failure_of_its_commit(merge: Merge) -> None:
    merge.show()
    merge.follow(REVISION)
    for revision, state in ((LATER, "success"), (REVISION, "failure")):
        back = RolledBack(Digest("d"), revision, "task 0 is FAILED", ("file",), START)
        rolled_back = replace(plan(), revision=REVISION, rolled_back={ConnectorName("orders"): back})
        merge.state.update_cluster(LOCAL, plan=rolled_back)
        merge.report()
        assert merge.states()[-1] == state
    assert merge.forge.statuses[REVISION, APPLY][-1].description == "1 config rolled back on local"


def health(found: Health) -> ConnectorStatus:
    return ConnectorStatus(
        LOCAL, ConnectorName("orders"), Sync.SYNCED, found, "RUNNING", "1/1", HealthReason.RUNNING, IS_OK
    )


def test_a_plan_that_nobody_has_reviewed_is_reported_and_remains_failed(merge: Merge) -> None:
    merge.follow(REVISION)
    assert merge.states() == ["pending", "failure"]
    assert "Blocked" in merge.forge.comments(7)[0].body
    merge.show()
    merge.follow(LATER)
    assert (merge.states(), merge.forge.states(LATER, APPLY)) == (["pending", "failure"], ["pending", "success"])


def test_a_process_that_is_not_the_leader_knows_what_was_reviewed_and_reports_nothing(reviewed: Ledger) -> None:
    follower = Merge(reviewed)
    follower.show()
    follower.merge(REVISION)
    assert [*follower.reports.follow()] == []
    assert [one.pull_request for one in follower.merged.reviews(REVISION).merged] == [7]
    assert (follower.states(), follower.daemon.reconciliations.last) == ([], 1)
    reviewed.record_applied(LOCAL, REVISION, START)
    assert [*follower.reports.follow()] == []
    follower.poll(LATER)
    assert [*follower.reports.follow()] == []
    assert follower.merged.reviews(LATER).merged == (), "the review was of a commit that is applied"


def test_a_process_that_is_not_the_leader_asks_the_forge_once_for_each_revision(merge: Merge) -> None:
    """The look-up of a direct push finds no pull request, and the forge must not be asked for it without a pause."""
    merge.state.set_leader(is_leader=False)
    for revision in (REVISION, LATER):
        merge.poll(revision)
        assert merge.reports.has_news()
        assert [*merge.reports.follow()] == []
        merge.reconcile()
        assert not merge.reports.has_news()
    merge.state.set_leader(is_leader=True)
    assert merge.reports.has_news(), "the leader has to report the result"


def test_what_was_shown_or_approved_may_be_shown_again_and_more_is_a_change(reviewed: Ledger) -> None:
    merged = MergedPlans(MemoryForge(), reviewed, Settings(Path()), ManualClock())
    nothing = reviewed_plan(9, REVISION, [plan()])
    deletion = reviewed_plan(9, REVISION, [plan(step("orders", Action.DELETE))])
    assert not merged.is_changed(deletion), "it is shown for the first time"
    merged.record(nothing, PlanPurpose.REVIEW)
    assert merged.is_changed(deletion)
    merged.record(deletion, PlanPurpose.APPROVAL)
    assert merged.is_changed(deletion), "that it was shown does not mean that somebody has seen it"
    assert reviewed.reviews.approve(Approval(9, deletion.digest, "grace", START, "comment 1"))
    assert not merged.is_changed(deletion)
    assert not merged.is_changed(nothing)


@pytest.mark.parametrize(("plans", "unread"), [((), ""), ((plan(),), "orders")], ids=["cluster", "connector"])
def test_what_was_shown_needs_no_approval_after_it_could_not_be_read(
    reviewed: Ledger, plans: tuple[Plan, ...], unread: str
) -> None:
    merged = MergedPlans(MemoryForge(), reviewed, Settings(Path()), ManualClock())
    whole = PullRequestPlan(9, REVISION, "main", (plan(step("orders", Action.DELETE)),))
    failed = replace(whole, plans=tuple(replace(one, unread=(ConnectorName(unread),)) for one in plans))
    for planned in (whole, failed, whole):
        found = as_reviewed(planned, merged.last_shown(9)).reviewed
        assert found is not None
        assert not merged.is_changed(found)
        merged.record(found, PlanPurpose.REVIEW)


def test_a_cluster_that_could_not_be_planned_before_is_shown_for_the_first_time(reviewed: Ledger) -> None:
    merged = MergedPlans(MemoryForge(), reviewed, Settings(Path()), ManualClock())
    merged.record(reviewed_plan(9, REVISION, []), PlanPurpose.REVIEW)
    assert not merged.is_changed(reviewed_plan(9, REVISION, [plan(step("orders", Action.DELETE))]))


def test_an_edited_comment_approves_nothing_and_a_new_one_does(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    shown = reviewed_plan(7, PULL_REQUEST.head, [plan()])
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    commands = ReviewCommands(MemoryForge(), ledger.reviews, ManualClock())
    edited = Comment(1, "wendy", f"gitops-connect approve {shown.digest}", is_edited=True)
    with caplog.at_level(logging.INFO):
        assert not commands.carry_out(PULL_REQUEST, [edited])
        assert list(ledger.reviews.approved([7])) == []
        (record,) = caplog.records
        assert record.getMessage() == "command_rejected"
        assert record.fields["message"].endswith("write a new one")  # type: ignore[attr-defined]
        assert commands.carry_out(PULL_REQUEST, [edited, replace(edited, id=2, is_edited=False)])
    assert len(list(ledger.reviews.approved([7]))) == 1


def test_the_comment_about_a_blocked_change_is_closed_when_it_is_applied(merge: Merge) -> None:
    merge.follow(REVISION)
    (blocked,) = (one for one in merge.forge.comments(7) if "Blocked" in one.body)
    merge.is_blocked = False
    merge.state.update_cluster(LOCAL, plan=plan())
    merge.end()
    for _ in range(2):
        merge.report()
    assert "Released" in merge.forge.comments(7)[blocked.id].body
    assert not any("Blocked" in one.body for one in merge.forge.comments(7))


def test_each_command_is_answered_once_even_after_a_restart(ledger: Ledger) -> None:
    shown, forge = reviewed_plan(7, PULL_REQUEST.head, [plan()]), MemoryForge()
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    approve = "gitops-connect approve"
    bodies = ["gitops-connect plan", "gitops-connect apply", f"{approve} {shown.digest}", f"{approve} {'0' * 64}"]
    texts = ["Looks good to me.", *bodies, "gitops-connect help"]
    forge.comments_of[7] = [Comment(number, "ana", body, is_edited=False) for number, body in enumerate(texts)]
    for commands in (ReviewCommands(forge, ledger.reviews, ManualClock()) for _ in range(2)):
        commands.carry_out(PULL_REQUEST, forge.comments(7))
        commands.carry_out(PULL_REQUEST, forge.comments(7))
    written = [one.body for one in forge.comments(7)[len(texts) :]]
    answers = {command.comment: body for body in written if (command := answered_command(body)) is not None}
    said = [body.partition(". ")[2].partition(":")[0].partition(".")[0] for _, body in sorted(answers.items())]
    assert [f"{number}{reaction.value}" for number, reaction in forge.reactions] == [
        "1+1",
        "2confused",
        "3+1",
        "4-1",
        "5+1",
    ]
    assert said == ["Done", "Unknown command", "Approved", "Refused", "Done"]
    assert (sorted(answers), len(written)) == ([1, 2, 3, 4, 5], 6), "the sixth has the list of commands"


def test_the_same_command_on_two_pull_requests_is_answered_on_both(ledger: Ledger) -> None:
    """Also if a forge counts the comments of each from 1."""
    forge, other = MemoryForge(), replace(PULL_REQUEST, number=8)
    commands = ReviewCommands(forge, ledger.reviews, ManualClock())
    for one in (PULL_REQUEST, other):
        forge.comments_of[one.number] = [Comment(1, "ana", "gitops-connect plan", is_edited=False)]
        commands.carry_out(one, forge.comments(one.number))
        assert "Done" in forge.comments(one.number)[-1].body


def test_a_command_that_its_author_corrects_is_read_again_and_one_that_another_corrects_is_refused(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    forge = MemoryForge()

    def no_reaction(method: str) -> None:
        if method == "react":
            raise ForgeRefused("no reactions here")

    forge.before = no_reaction
    forge.comments_of[7] = [Comment(number, "ana", "gitops-connect pln", is_edited=False) for number in range(2)]
    commands = ReviewCommands(forge, ledger.reviews, ManualClock())
    commands.carry_out(PULL_REQUEST, forge.comments(7))
    corrected = [replace(one, body="gitops-connect plan", is_edited=True) for one in forge.comments(7)[:2]]
    forge.comments_of[7][:2], forge.editors = corrected, {0: "ana", 1: "wendy"}
    for again in (commands, ReviewCommands(forge, ledger.reviews, ManualClock())):
        again.carry_out(PULL_REQUEST, forge.comments(7))
    said = [one.body.partition(". ")[2].split()[0] for one in forge.comments(7)[2:]]
    assert said == ["Unknown", "Unknown", "Done:", "Refused:"]
    assert [one.getMessage() for one in caplog.records].count("reaction_failed") == 4


def test_a_command_that_an_earlier_version_has_answered_is_not_answered_again(ledger: Ledger) -> None:
    forge = MemoryForge()
    forge.comments_of[7] = [
        Comment(0, "ana", "gitops-connect plan", is_edited=False),
        Comment(1, "gitops", "<!-- gitops-connect answer comment=0 -->\nDone", is_edited=False),
    ]
    ReviewCommands(forge, ledger.reviews, ManualClock()).carry_out(PULL_REQUEST, forge.comments(7))
    assert len(forge.comments(7)) == 2


def test_of_two_comments_of_two_processes_the_earlier_one_is_outdated() -> None:
    """One of them was frozen before it wrote the comment, and another one had become the leader."""
    forge, other = MemoryForge(), Marker(CommentKind.BLOCKED, 7).line
    body = f"{Marker(CommentKind.REVIEW, 7).line}plan"
    forge.comments_of[7] = [
        Comment(number, "gitops", text, is_edited=False) for number, text in enumerate((body, other, body))
    ]
    assert not ForgeWriter(forge, None).write(PULL_REQUEST, CommentKind.REVIEW, body, forge.comments(7))
    outdated, *kept = (one.body for one in forge.comments(7))
    assert outdated.startswith("**Outdated")
    assert kept == [other, body]


def test_an_approval_is_taken_back_by_everyone_with_write_access(ledger: Ledger) -> None:
    shown, forge = reviewed_plan(7, PULL_REQUEST.head, [plan()]), MemoryForge()
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    commands = ReviewCommands(forge, ledger.reviews, ManualClock())
    for number, (author, verb, said, is_approved) in enumerate(
        (
            ("ana", "revoke", "Refused", False),
            ("ana", "approve", "Approved", True),
            ("bob", "revoke", "Revoked", False),
            ("ana", "approve", "Approved", True),
        )
    ):
        body = f"gitops-connect {verb} {shown.digest}"
        is_changed = commands.carry_out(PULL_REQUEST, [Comment(number, author, body, is_edited=False)])
        assert (said in forge.comments(7)[-1].body, is_changed) == (True, said != "Refused")
        assert bool(ledger.reviews.approved([7])) is is_approved


def test_the_authors_of_what_is_merged_cannot_approve_it_if_the_settings_say_so(ledger: Ledger) -> None:
    shown, forge = reviewed_plan(7, PULL_REQUEST.head, [plan()]), MemoryForge()
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    commands = ReviewCommands(forge, ledger.reviews, ManualClock(), author_may_approve=False)
    for number, (author, is_approved) in enumerate((("wendy", False), ("rita", False), ("ana", True))):
        command = Comment(number, author, f"gitops-connect approve {shown.digest}", is_edited=False)
        assert commands.carry_out(PULL_REQUEST, [command], ["rita"]) is is_approved
        assert ("author_may_approve" in forge.comments(7)[-1].body) is not is_approved
    assert [one.who for one in ledger.reviews.approvals(7)] == ["ana"]


def test_an_answer_says_how_many_approvals_are_missing(ledger: Ledger) -> None:
    shown, forge = reviewed_plan(7, PULL_REQUEST.head, [plan()]), MemoryForge()
    ledger.reviews.record(shown, PlanPurpose.REVIEW, START)
    commands = ReviewCommands(forge, ledger.reviews, ManualClock(), needed=2)
    for number, (who, is_counted) in enumerate((("rita", False), ("rita", False), ("ana", True))):
        command = Comment(number, who, f"gitops-connect approve {shown.digest}", is_edited=False)
        assert commands.carry_out(PULL_REQUEST, [command])
        assert ("Another person has to approve it, too." in forge.comments(7)[-1].body) is not is_counted
        assert bool(ledger.reviews.approved([7], 2)) is is_counted


CLOCK = ManualClock()
OTHER = ClusterName("other")
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
def reviewed(ledger: Ledger) -> Ledger:
    """A ledger in which the plan of each pull request was reviewed."""
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


def test_all_pull_requests_since_the_revision_before_count_until_they_are_applied(reviewed: Ledger) -> None:
    plans = merged_plans(History("abcde"), reviewed)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "c") == ([1, 2], 2)
    assert looked_up(plans, "e") == ([1, 2, 3], 3), "nothing says that c is applied"
    plans = merged_plans(History("abcd"), reviewed)
    assert looked_up(plans, "b") == ([1], 1)
    plans.applied()
    assert looked_up(plans, "d") == ([2, 3], 3)


def test_a_pull_request_that_was_merged_as_several_commits_counts_once(reviewed: Ledger) -> None:
    plans = merged_plans(History("abcd", {"b": 2, "c": 2, "d": 1}), reviewed)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "d") == ([1, 2], 1)


@pytest.mark.parametrize(("applied", "expected"), rows(__file__, "applied"))
def test_after_a_restart_the_ledger_knows_what_was_applied(
    reviewed: Ledger, applied: Mapping[ClusterName, str], expected: list[int]
) -> None:
    for cluster, letter in applied.items():
        reviewed.record_applied(cluster, commit(letter), CLOCK.now())
    assert looked_up(merged_plans(History("abcd"), reviewed), "d") == (expected, 3)


def test_a_directory_that_was_applied_is_not_searched_for(reviewed: Ledger) -> None:
    reviewed.record_applied(LOCAL, Revision("worktree-1"), CLOCK.now())
    forge = History("abcd")
    assert looked_up(merged_plans(forge, reviewed), "d") == ([3], 3)
    assert forge.asked == 0


def test_of_a_branch_that_was_rewritten_only_the_last_commit_counts(reviewed: Ledger) -> None:
    letters = "".join(map(chr, range(0x1000, 0x1000 + 200)))
    forge = History(f"{letters}bcd")
    plans = merged_plans(forge, reviewed)
    assert looked_up(plans, "a") == ([], None)
    assert looked_up(plans, "d") == ([3], 3)
    assert forge.asked == 100
