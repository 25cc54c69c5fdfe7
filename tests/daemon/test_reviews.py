"""Pull requests of a real Gitea, reviewed by a daemon in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from acceptance.workplace import Workplace
from daemon_log import AsProcess
from forges.gitea_server import PASSWORD, GiteaServer
from forges.worlds import merge

pytestmark = pytest.mark.slow
_number = count()


@dataclass
class Project:
    """A repository on Gitea that a daemon follows, and a working copy of wendy, who may write."""

    gitea: GiteaServer
    at: Workplace
    name: str
    token: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "GITOPS_CONNECT_REPOSITORY__URL": f"{self.gitea.url}/{self.name}.git",
            "GITOPS_CONNECT_FORGE__KIND": "gitea",
            "GITOPS_CONNECT_FORGE__URL": self.gitea.url,
            "GITOPS_CONNECT_FORGE__REPOSITORY": self.name,
            "GITOPS_CONNECT_FORGE__TOKEN": self.token,
        }

    def push(self, branch: str, message: str, **files: str) -> str:
        """Commit documents to a branch, which is created from `main` if it is new, and push it."""
        known = self.at.git("branch", "--format=%(refname:short)").split()
        self.at.git("switch", "--quiet", *([branch] if branch in known else ["--create", branch, "main"]))
        for stem, text in files.items():
            self.at.write(f"{stem}.yaml", text)
        self.at.git("add", "--all")
        self.at.git("commit", "--quiet", "--allow-empty", "--message", message)
        self.at.git("push", "--quiet", "origin", branch)
        return self.at.git("rev-parse", "HEAD")

    def ask(self, method: str, path: str, body: object = None) -> Any:
        return self.gitea.ask(method, f"/repos/{self.name}{path}", body)

    def open(self, branch: str) -> int:
        """Open a pull request to `main`."""
        return int(self.ask("POST", "/pulls", {"title": branch, "head": branch, "base": "main"})["number"])

    def comments(self, number: int) -> list[Any]:
        return list(self.ask("GET", f"/issues/{number}/comments"))

    def await_comment(self, number: int, is_there: Callable[[str], bool]) -> Any:
        """The only comment of a pull request, once its text is as expected."""
        found = self.at.await_that(
            lambda: self.comments(number), lambda all_: any(is_there(one["body"]) for one in all_)
        )
        (comment,) = found
        return comment

    def await_status(self, commit: str, state: str) -> Any:
        """The last status of a commit for the plan, once it has this state."""
        path = f"/commits/{commit}/status"
        found = self.at.await_that(
            lambda: self.ask("GET", path)["statuses"] or [], lambda all_: [one["status"] for one in all_] == [state]
        )
        return found[0]


@pytest.fixture
def project(gitea: GiteaServer, at: Workplace) -> Project:
    number = next(_number)
    owner = f"owner{number}"
    gitea.add_user(owner)
    token = gitea.add_user(f"bot{number}", "write:repository", "write:issue", "read:user")
    gitea.ask("POST", "/user/repos", {"name": "connectors", "default_branch": "main"}, user=owner)
    gitea.ask("PUT", f"/repos/{owner}/connectors/collaborators/bot{number}", {"permission": "admin"})
    address = gitea.url.replace("http://", f"http://{owner}:{PASSWORD}@")
    at.git("remote", "add", "origin", f"{address}/{owner}/connectors.git")
    at.git("push", "--quiet", "origin", "main")
    gitea.ask("PATCH", f"/repos/{owner}/connectors", {"private": False})
    return Project(gitea, at, f"{owner}/connectors", token)


@pytest.fixture
def daemon(project: Project) -> Iterator[AsProcess]:
    project.push("main", "orders", orders=project.at.source("orders"))
    with AsProcess(project.at, environment=project.environment) as running:
        running.wait("step_applied", connector=project.at.name("orders"))
        yield running


def test_one_comment_follows_the_pushes(project: Project, daemon: AsProcess) -> None:
    first = project.push("topic", "more", more=project.at.source("more"))
    number = project.open("topic")
    comment = project.await_comment(number, lambda body: "1 to create" in body)
    assert f"+ {project.at.name('more')}" in comment["body"]
    assert project.await_status(first, "success")["context"] == "gitops-connect/plan"
    broken = project.push("topic", "broken", more=project.at.source("more", "state: runing"))
    updated = project.await_comment(number, lambda body: "state is 'runing'" in body)
    assert updated["id"] == comment["id"]
    assert f"/src/commit/{broken}/more.yaml#L" in updated["body"]
    assert project.await_status(broken, "failure")["description"].startswith("No changes can be applied now. 1 error")
    second = project.push("topic", "fixed", more=project.at.source("more", "state: stopped"))
    project.await_status(second, "success")
    merge(project.gitea, project.name, number)
    daemon.wait("step_applied", connector=project.at.name("more"))
    assert len(project.comments(number)) == 1


def test_a_restarted_daemon_writes_no_second_comment(project: Project, daemon: AsProcess) -> None:
    project.push("topic", "more", more=project.at.source("more"))
    number = project.open("topic")
    before = project.await_comment(number, lambda body: "1 to create" in body)
    daemon.process.kill()
    daemon.code()
    with AsProcess(project.at, environment=project.environment) as again:
        again.wait("reconciliation_finished")
        project.push("topic", "another", another=project.at.source("another"))
        after = project.await_comment(number, lambda body: "2 to create" in body)
    assert after["id"] == before["id"]


def test_a_conflict_and_two_pull_requests_for_the_same_offsets_are_named(project: Project, daemon: AsProcess) -> None:
    change = (
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {name: NAME}\nspec:\n"
        f"  connector: {project.at.name('orders')}\n  operation: reset\n  acknowledge: [reset]\n  reason: test\n"
    )
    for name in ("one", "two"):
        project.push(name, name, **{name: change.replace("NAME", name)})
    numbers = [project.open(name) for name in ("one", "two")]
    body = project.await_comment(numbers[0], lambda body: "also changes offsets" in body)["body"]
    assert f"/pulls/{numbers[1]}" in body
    project.push("conflict", "conflict", orders=project.at.source("orders", "state: paused"))
    project.push("main", "other", orders=project.at.source("orders", "state: stopped"))
    head = project.at.git("rev-parse", "conflict")
    number = project.open("conflict")
    project.await_comment(number, lambda body: "conflict" in body)
    assert project.await_status(head, "failure")["description"] == "not planned: conflict"
