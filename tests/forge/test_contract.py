"""What `Forge` promises, on a real Gitea, and on exchanges that the descriptions of GitHub and GitLab allow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forge.worlds import World
from gitops_connect.model.pull_requests import Annotation, Comment, CommitState, CommitStatus, PullRequest, Reaction
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow


def test_the_account_of_the_token_may_do_everything_and_others_may_write_or_not(world: World) -> None:
    with world.playing("user"):
        assert world.forge.user() == "gitops"
    with world.playing("permissions of the account"):
        assert list(world.forge.missing_permissions()) == []
    with world.playing("permissions"):
        assert [world.forge.can_write(user) for user in ("wendy", "rita", "nobody")] == [True, False, False]


def test_open_pull_requests_to_the_target_branch_by_number(world: World) -> None:
    with world.playing("open"):
        own, fork = world.forge.open_pull_requests()
    expected = PullRequest(
        1, "Add orders", "wendy", world.head, world.head_ref, "main", own.url, own.files_url, False, False
    )
    assert own == expected
    assert (own.url.startswith("http"), own.url.endswith("/1")) == (True, True)
    assert (fork.number, fork.author, fork.head, fork.is_fork, fork.is_draft) == (2, "rita", world.forked, True, True)
    with world.playing("is open"):
        assert [world.forge.is_open(number) for number in (1, 4, 3)] == [True, False, False]


def test_the_pull_requests_that_were_merged_as_a_commit_and_the_commit_before(world: World) -> None:
    with world.playing("merged"):
        assert [one.number for one in world.forge.merged_as(world.merged)] == [4]
        assert list(world.forge.merged_as(world.other)) == []
    with world.playing("parents"):
        assert world.forge.first_parent(world.merged) == world.other
        assert world.forge.first_parent(world.other) is None


def test_comments_of_all_pages_in_order_and_one_that_is_replaced_or_deleted(world: World) -> None:
    with world.playing("comments"):
        comments = world.forge.comments(1)
        assert [one.body for one in comments] == [f"comment {number}" for number in range(world.comments)]
        assert {(one.author, one.is_edited) for one in comments} == {("wendy", False)}
        written = world.forge.write_comment(1, "a plan", None)
        assert world.forge.write_comment(1, "a newer plan", written) == written
        newest = world.forge.comments(1)[-1]
        assert replace(newest, is_edited=True) == Comment(written, "gitops", "a newer plan", is_edited=True)
    with world.playing("deleted comment"):
        assert world.forge.write_comment(1, "a plan", 999999) != 999999


def test_which_comments_were_written_or_edited_since_a_time(world: World) -> None:
    with world.playing("changed comments"):
        found = world.forge.changed_comments(world.begin)
        assert {one.pull_request for one in found} == {1}
        latest = max(one.at for one in found).replace(microsecond=0)
        assert [*world.forge.changed_comments(latest + timedelta(minutes=1))] == []


def test_each_reaction_to_a_comment(world: World) -> None:
    with world.playing("reactions"):
        for reaction in Reaction:
            world.forge.react(1, world.comment, reaction)


def test_who_has_edited_a_comment(world: World) -> None:
    """Gitea does not say so."""
    comment = Comment(world.comment, "wendy", "gitops-connect plan\n", is_edited=True)
    with world.playing("editors"):
        found = [world.forge.is_edited_by_author(1, comment) for _ in range(5)]
    assert found == [world.kind is not ForgeKind.GITEA, False, False, False, False]


def test_the_status_of_a_commit_is_set_and_set_again(world: World) -> None:
    with world.playing("statuses"):
        assert world.forge.status(world.head, "gitops-connect/plan") is None
        for state in (CommitState.PENDING, CommitState.PENDING, CommitState.FAILURE, CommitState.SUCCESS):
            status = CommitStatus("gitops-connect/plan", state, "x" * 200, "https://x.example/1")
            world.forge.set_status(world.head, status)
        assert world.forge.status(world.head, "gitops-connect/plan") is CommitState.SUCCESS


def test_annotations_of_changed_lines(world: World) -> None:
    shown = PullRequest(1, "", "", world.head, world.head_ref, "main", "", "", False, False)
    annotations = (
        Annotation("orders.yaml", 1, "no such class", is_error=True),
        Annotation("orders.yaml", 2, "unknown key", is_error=False),
        Annotation("orders.yaml", 99, "not in the diff", is_error=True),
        Annotation("other.yaml", 1, "not in the diff", is_error=True),
    )
    with world.playing("annotations"):
        world.forge.annotate(shown, annotations)
