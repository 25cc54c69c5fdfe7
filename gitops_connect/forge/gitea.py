"""Gitea and Forgejo, by their REST API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.failures import Failures
from gitops_connect.forge.forge import LONGEST_DESCRIPTION
from gitops_connect.forge.line_comments import LineComment, is_line_comment, line_comments, lines_in_diff
from gitops_connect.forge.session import ForgeSession
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.reviews import Annotation, Comment, CommitStatus, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.daemon_sections import ForgeSettings

_API = "/api/v1"
_PAGE = 50
"""Results in a page: the most that a server sends with its default settings."""


class GiteaForge:
    """The pull requests of a repository on Gitea or Forgejo. `url` may end with the path of the API."""

    longest_comment = 65_536
    """Gitea has no limit. Pages with longer comments are slow."""

    def __init__(self, settings: ForgeSettings, url: str, token: Credential, target: str, clock: Clock) -> None:
        self._api = f"{url.removesuffix(_API)}{_API}"
        self._path = f"/repos/{quote(settings.repository)}"
        self._target = target
        self._timeout = settings.timeout
        self._verify = None if settings.ca_file is None else str(settings.ca_file)
        self._session = ForgeSession(token)
        self._failures = Failures("Gitea", url, settings.repository, token, clock)

    def user(self) -> str:
        with self._failures.named("read the account of the token"):
            return str(self._ask("GET", "/user")["login"])

    def missing_permissions(self) -> Sequence[str]:
        """Gitea does not show the scopes of a token, so each kind of scope is tried with a request that reads."""
        with self._failures.named("read the permissions of the account"):
            permissions = self._ask("GET", self._path)["permissions"]
            self._send("GET", f"{self._path}/issues/comments", parameters={"limit": "1"})
        return () if permissions["admin"] else ("the role of an administrator of the repository",)

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._failures.named("list the open pull requests"):
            found = [_pull_request(one) for one in self._pages(f"{self._path}/pulls", state="open")]
        return sorted((one for one in found if one.target == self._target), key=lambda one: one.number)

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        try:
            with self._failures.named(f"find the pull request that was merged as {commit}"):
                found = _pull_request(self._ask("GET", f"{self._path}/commits/{commit}/pull"))
        except ForgeNotFound:
            return ()
        return (found,) if found.target == self._target else ()

    def first_parent(self, commit: Revision) -> Revision | None:
        brief = {"stat": "false", "verification": "false", "files": "false"}
        with self._failures.named(f"read commit {commit}"):
            parents = self._send("GET", f"{self._path}/git/commits/{commit}", parameters=brief).json()["parents"]
        return Revision(parents[0]["sha"]) if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._failures.named(f"read the comments of pull request {number}"):
            found = [*self._pages(f"{self._path}/issues/{number}/comments")]
        return [Comment(one["id"], one["user"]["login"], one["body"]) for one in found]

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        if replaces is not None:
            try:
                return self._write_comment(number, "PATCH", f"comments/{replaces}", body)
            except ForgeNotFound:  # someone has deleted it
                pass
        return self._write_comment(number, "POST", f"{number}/comments", body)

    def _write_comment(self, number: int, method: str, path: str, body: str) -> int:
        with self._failures.named(f"write a comment on pull request {number}"):
            return int(self._ask(method, f"{self._path}/issues/{path}", {"body": body})["id"])

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        content = {
            "context": status.context,
            "state": status.state.value,
            "description": status.description[:LONGEST_DESCRIPTION],
            "target_url": status.url or "",
        }
        with self._failures.named(f"set the status {status.context} of commit {commit}"):
            self._ask("POST", f"{self._path}/statuses/{commit}", content)

    def can_write(self, user: str) -> bool:
        try:
            with self._failures.named(f"read the permission of {user}"):
                found = self._ask("GET", f"{self._path}/collaborators/{quote(user, safe='')}/permission")
        except ForgeNotFound:
            return False
        return found["permission"] in ("write", "admin", "owner")

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """All annotations of a commit are one review, which replaces the earlier review."""
        user, path = self.user(), f"{self._path}/pulls/{pull_request.number}"
        with self._failures.named(f"annotate pull request {pull_request.number}"):
            chosen = line_comments(annotations, lines_in_diff(self._send("GET", f"{path}.diff").text))
            earlier = {number: shown for number, shown in self._annotations(path, user) if shown}
            if [*earlier.values()] == ([chosen] if chosen else []):
                return
            for number in earlier:
                self._send("DELETE", f"{path}/reviews/{number}")
            if chosen:
                comments = [{"path": one.file, "new_position": one.line, "body": one.body} for one in sorted(chosen)]
                content = {"event": "COMMENT", "commit_id": pull_request.head, "comments": comments}
                self._ask("POST", f"{path}/reviews", content)

    def _annotations(self, path: str, user: str) -> Iterator[tuple[int, frozenset[LineComment]]]:
        """The reviews of the user, each with the annotations in it."""
        for review in self._pages(f"{path}/reviews"):
            if review["user"] and review["user"]["login"] == user:
                comments = self._ask("GET", f"{path}/reviews/{review['id']}/comments")
                found = (one for one in comments if is_line_comment(one["body"]))
                yield review["id"], frozenset(LineComment(one["path"], one["position"], one["body"]) for one in found)

    def close(self) -> None:
        self._session.close()

    def _pages(self, path: str, **parameters: str) -> Iterator[Any]:
        """The results of all pages. The addresses of pages are not used: behind a proxy, their host can be wrong."""
        page, is_last = 1, False
        while not is_last:
            response = self._send("GET", path, parameters={**parameters, "page": str(page), "limit": str(_PAGE)})
            yield from response.json()
            page, is_last = page + 1, "next" not in response.links

    def _ask(self, method: str, path: str, content: object = None) -> Any:
        return self._send(method, path, content).json()

    def _send(self, method: str, path: str, content: object = None, parameters: dict[str, str] | None = None) -> Any:
        return self._session.request(
            method, f"{self._api}{path}", params=parameters, json=content, timeout=self._timeout, verify=self._verify
        )


def _pull_request(found: Any) -> PullRequest:
    """A pull request that was pushed to `refs/for` has no branch, and anyone who can read can push there: a fork."""
    head, base = found["head"], found["base"]
    return PullRequest(
        number=found["number"],
        title=found["title"],
        author=found["user"]["login"],
        head=Revision(head["sha"]),
        head_ref=f"refs/pull/{found['number']}/head",
        target=base["ref"],
        url=found["html_url"],
        files_url=f"{found['html_url'].rpartition('/pulls/')[0]}/src/commit/{head['sha']}/",
        is_fork=head["repo_id"] != base["repo_id"] or not head["label"],
        is_draft=found.get("draft", False),
    )
