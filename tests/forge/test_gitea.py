"""What only a real server shows: what Gitea stores, and which tokens it rejects."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from forge.gitea_server import PASSWORD, GiteaServer
from forge.worlds import FILE, REPOSITORY, World, forge_of, merge
from gitops_connect.errors import ForgeRefused
from gitops_connect.model.pull_requests import Annotation, Comment, CommitState, CommitStatus, PullRequest, Reaction
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow


def pull_request(on_gitea: World, number: int) -> PullRequest:
    return next(one for one in on_gitea.forge.open_pull_requests() if one.number == number)


def test_the_head_of_a_pull_request_can_be_fetched(on_gitea: World) -> None:
    for number in (1, 2):
        found = pull_request(on_gitea, number)
        listed = git("ls-remote", f"{on_gitea.url}/{REPOSITORY}.git", found.head_ref)
        assert listed.split() == [found.head, found.head_ref]


def test_the_last_status_counts_and_its_description_is_cut(on_gitea: World, gitea: GiteaServer) -> None:
    for state in (CommitState.PENDING, CommitState.FAILURE, CommitState.SUCCESS):
        on_gitea.forge.set_status(
            on_gitea.forked, CommitStatus("gitops-connect/plan", state, "x" * 200, "https://x.example")
        )
    (stored,) = gitea.ask("GET", f"/repos/{REPOSITORY}/commits/{on_gitea.forked}/status")["statuses"]
    assert (stored["status"], stored["context"]) == ("success", "gitops-connect/plan")
    assert (stored["description"], stored["target_url"]) == ("x" * 140, "https://x.example")


def test_annotations_replace_the_earlier_ones_and_those_of_people_stay(on_gitea: World, gitea: GiteaServer) -> None:
    shown = pull_request(on_gitea, 1)
    path = f"/repos/{REPOSITORY}/pulls/1/reviews"
    comment = {"path": "orders.yaml", "new_position": 1, "body": "Why?"}
    gitea.ask("POST", path, {"event": "COMMENT", "comments": [comment]}, user="wendy")
    hostile = "no such class @wendy <img src=x>\n````\n# not a title"
    first = [Annotation("orders.yaml", 2, hostile, is_error=True), Annotation("orders.yaml", 9, "-", is_error=True)]

    def stored() -> dict[str, list[tuple[int, int, str]]]:
        found: dict[str, list[tuple[int, int, str]]] = {"wendy": [], "gitops": []}
        for review in gitea.ask("GET", path):
            for one in gitea.ask("GET", f"{path}/{review['id']}/comments"):
                found[one["user"]["login"]].append((one["id"], one["position"], one["body"]))
        return found

    on_gitea.forge.annotate(shown, first)
    on_gitea.forge.annotate(shown, first)
    ((number, line, body),) = stored()["gitops"]
    assert line == 2
    assert "`````text\nno such class @wendy <img src=x>\n````\n# not a title\n`````" in body
    on_gitea.forge.annotate(shown, [Annotation("orders.yaml", 3, "unknown key", is_error=False)])
    ((changed, line, _),) = stored()["gitops"]
    assert changed != number
    assert line == 3
    on_gitea.forge.annotate(shown, [])
    assert stored()["gitops"] == []
    assert [body for _, _, body in stored()["wendy"]] == ["Why?"]


def test_a_change_that_was_pushed_without_a_branch_counts_as_one_of_a_fork(
    on_gitea: World, gitea: GiteaServer, tmp_path: Path
) -> None:
    """Everyone who can read may push to `refs/for`, and Gitea stores the commits in the repository itself."""
    url = on_gitea.url.replace("://", f"://rita:{PASSWORD}@")
    git("clone", "--quiet", f"{url}/{REPOSITORY}.git", str(tmp_path / "clone"))
    git("-C", str(tmp_path / "clone"), "commit", "--quiet", "--allow-empty", "--message", "Without a branch")
    git("-C", str(tmp_path / "clone"), "push", "--quiet", "origin", "HEAD:refs/for/main/topic")
    found = next(one for one in on_gitea.forge.open_pull_requests() if one.title == "Without a branch")
    try:
        assert found.is_fork
        assert found.author == "rita"
    finally:
        gitea.ask("PATCH", f"/repos/{REPOSITORY}/pulls/{found.number}", {"state": "closed"})


def test_a_comment_that_its_author_has_not_edited_himself(on_gitea: World, gitea: GiteaServer) -> None:
    path = f"/repos/{REPOSITORY}/issues"
    written = gitea.ask("POST", f"{path}/2/comments", {"body": "thanks"}, user="wendy")

    def found() -> Comment:
        return next(one for one in on_gitea.forge.comments(2) if one.id == written["id"])

    assert found() == Comment(written["id"], "wendy", "thanks", is_edited=False)
    until = time.monotonic() + 60
    while not found().is_edited:  # the times have a resolution of one second
        assert time.monotonic() < until
        gitea.ask("PATCH", f"{path}/comments/{written['id']}", {"body": "gitops-connect plan"}, user="platform")
    assert (found().author, found().body) == ("wendy", "gitops-connect plan")


def test_a_reaction_is_stored_once_and_does_not_count_as_an_edit(on_gitea: World, gitea: GiteaServer) -> None:
    path = f"/repos/{REPOSITORY}/issues"
    written = gitea.ask("POST", f"{path}/2/comments", {"body": "gitops-connect plan"}, user="wendy")["id"]
    for _ in range(2):
        on_gitea.forge.react(2, written, Reaction.DONE)
    (stored,) = gitea.ask("GET", f"{path}/comments/{written}/reactions")
    assert (stored["content"], stored["user"]["login"]) == ("+1", "gitops")
    assert not next(one for one in on_gitea.forge.comments(2) if one.id == written).is_edited


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def test_tokens_that_gitea_rejects(on_gitea: World, gitea: GiteaServer) -> None:
    writer = gitea.add_user("writer", "write:repository", "write:issue", "read:user")
    reader = gitea.add_user("reader", "read:repository", "read:user")
    gitea.ask("PUT", f"/repos/{REPOSITORY}/collaborators/writer", {"permission": "write"})
    status = CommitStatus("gitops-connect/plan", CommitState.PENDING, "")
    cases: list[tuple[str, Any]] = [
        ("repo admins can query", lambda: of(on_gitea, writer).can_write("wendy")),
        ("required scope", lambda: of(on_gitea, reader).set_status(on_gitea.head, status)),
    ]
    for words, call in cases:
        with pytest.raises(ForgeRefused, match=words) as raised:
            call()
        assert f"Gitea {on_gitea.url}/api/v1, repository platform/" in str(raised.value)
        assert not any(token in str(raised.value) for token in (writer, reader))


def test_every_kind_of_merge_is_found_from_the_last_commit(on_gitea: World, gitea: GiteaServer) -> None:
    repository = "platform/merges"
    content = {"name": "merges", "auto_init": True, "default_branch": "main"}
    gitea.ask("POST", "/user/repos", content, user="platform")
    first = gitea.ask("GET", f"/repos/{repository}/branches/main")["commit"]["id"]
    ways = ("merge", "squash", "rebase", "rebase-merge", "fast-forward-only")
    for number, way in enumerate(ways, 1):
        gitea.write_file(repository, f"{way}-1.yaml", FILE, new_branch=way)
        gitea.write_file(repository, f"{way}-2.yaml", FILE, branch=way)
        gitea.ask("POST", f"/repos/{repository}/pulls", {"title": way, "head": way, "base": "main"})
        merge(gitea, repository, number, way)
    forge = of(on_gitea, gitea.token, repository)
    commit, found = gitea.ask("GET", f"/repos/{repository}/branches/main")["commit"]["id"], []
    while commit != first:
        found += [one.number for one in forge.merged_as(commit)]
        commit = forge.first_parent(commit)
    assert found == [5, 4, 3, 2, 1]


def of(on_gitea: World, token: str, repository: str = REPOSITORY) -> Any:
    return forge_of(ForgeKind.GITEA, f"{on_gitea.url}/api/v1", token, repository)
