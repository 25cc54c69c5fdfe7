"""A repository on a real Gitea that a daemon follows, with pull requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import requests
from acceptance.workplace import Workplace

from forge.gitea_server import PASSWORD, GiteaServer
from forge.worlds import try_merge

_number = count()


@dataclass
class Project:
    """A private repository on Gitea that a daemon follows, and a working copy of the owner."""

    gitea: GiteaServer
    at: Workplace
    owner: str
    reader: str
    token: str

    @property
    def name(self) -> str:
        return f"{self.owner}/connectors"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "GITOPS_CONNECT_REPOSITORY__URL": f"{self.gitea.url}/{self.name}.git",
            "GITOPS_CONNECT_REPOSITORY__PASSWORD": self.token,
            "GITOPS_CONNECT_FORGE__KIND": "gitea",
            "GITOPS_CONNECT_FORGE__URL": self.gitea.url,
            "GITOPS_CONNECT_FORGE__REPOSITORY": self.name,
            "GITOPS_CONNECT_FORGE__TOKEN": self.token,
        }

    def push(self, branch: str, message: str, **files: str) -> str:
        """Commit documents to a branch, and push it."""
        commit = self.commit(branch, message, **files)
        self.at.git("push", "--quiet", "origin", branch)
        return commit

    def commit(self, branch: str, message: str, **files: str) -> str:
        """Commit documents to a branch, which is created from `main` if it is new."""
        known = self.at.git("branch", "--format=%(refname:short)").split()
        self.at.git("switch", "--quiet", *([branch] if branch in known else ["--create", branch, "main"]))
        for stem, text in files.items():
            self.at.write(f"{stem}.yaml", text)
        self.at.git("add", "--all")
        self.at.git("commit", "--quiet", "--allow-empty", "--message", message)
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

    def await_status(self, commit: str, state: str, context: str = "plan") -> Any:
        """The last status of a commit for the plan, or for `apply`, once it has this state."""

        def statuses() -> list[Any]:
            found = self.ask("GET", f"/commits/{commit}/status")["statuses"] or []
            return [one for one in found if one["context"] == f"gitops-connect/{context}"]

        return self.at.await_that(statuses, lambda found: [one["status"] for one in found] == [state])[0]

    def merge(self, number: int) -> str:
        """Merge a pull request as the owner, and return the commit."""
        response = self.try_merge(number)
        assert response.ok, response.text
        self.at.git("fetch", "--quiet", "origin", "main")
        return self.at.git("rev-parse", "FETCH_HEAD")

    def try_merge(self, number: int) -> requests.Response:
        """The answer to the owner, who merges a pull request without conflicts."""
        return try_merge(self.gitea, self.name, number, self.owner)

    def protect(self) -> None:
        """Let Gitea reject merges to `main` without a successful plan, for administrators too."""
        required = {"enable_status_check": True, "status_check_contexts": ["gitops-connect/plan"]}
        self.ask("POST", "/branch_protections", {"rule_name": "main", "block_admin_merge_override": True, **required})

    def add_webhook(self, url: str, secret: str) -> None:
        """Let Gitea send pushes, pull requests, pushes to them and comments on them to this URL."""
        config = {"url": url, "content_type": "json", "secret": secret}
        events = ["push", "pull_request_only", "pull_request_sync", "pull_request_comment"]
        self.ask("POST", "/hooks", {"type": "gitea", "active": True, "config": config, "events": events})

    def comment(self, number: int, body: str, user: str) -> None:
        self.gitea.ask("POST", f"/repos/{self.name}/issues/{number}/comments", {"body": body}, user=user)


def create_project(gitea: GiteaServer, at: Workplace) -> Project:
    """Create the repository with its users: the owner, one who may only read, and one for the daemon."""
    number = next(_number)
    owner, reader = f"owner{number}", f"reader{number}"
    gitea.add_user(owner)
    gitea.add_user(reader)
    token = gitea.add_user(f"bot{number}", "write:repository", "write:issue", "read:user")
    repository = {"name": "connectors", "default_branch": "main", "private": True}
    gitea.ask("POST", "/user/repos", repository, user=owner)
    for user, permission in ((f"bot{number}", "admin"), (reader, "read")):
        gitea.ask("PUT", f"/repos/{owner}/connectors/collaborators/{user}", {"permission": permission})
    address = gitea.url.replace("http://", f"http://{owner}:{PASSWORD}@")
    at.git("remote", "add", "origin", f"{address}/{owner}/connectors.git")
    at.git("push", "--quiet", "origin", "main")
    return Project(gitea, at, owner, reader, token)
