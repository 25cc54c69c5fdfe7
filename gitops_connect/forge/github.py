"""GitHub, by its REST API: with an access token, or as a GitHub app."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from gitops_connect.errors import ForgeNotFound, UsageError
from gitops_connect.forge.answers import Found
from gitops_connect.forge.api import ForgeApi, bearer, found_in
from gitops_connect.forge.failures import Failures
from gitops_connect.forge.forge import LONGEST_DESCRIPTION
from gitops_connect.forge.github_app import GithubApp
from gitops_connect.forge.line_comments import LineComment, is_line_comment, line_comments, lines_in_diff
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.reviews import Annotation, Comment, CommitStatus, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.daemon_sections import ForgeSettings

_PAGE = ("per_page", 100)
_SCOPES = {"repo", "public_repo"}
"""Scopes of classic tokens: each is enough for a public repository."""
_PERMISSIONS = {"contents": "read", "pull_requests": "write", "statuses": "write"}
"""What an app must be allowed."""


class GithubForge:
    """The pull requests of a repository on GitHub. `credential` is a token, or the private key of the app."""

    longest_comment = 65_536

    def __init__(self, settings: ForgeSettings, url: str, credential: Credential, target: str, clock: Clock) -> None:
        failures = Failures("GitHub", url, settings.repository, credential, clock)
        self._app: GithubApp | None = None
        if settings.app_id is not None and settings.installation_id is not None:
            app = self._app = GithubApp(settings.app_id, settings.installation_id, credential, clock)
            self._api = ForgeApi(url, settings, failures, lambda: app.authorization(self._api), _PAGE)
        else:
            self._api = ForgeApi(url, settings, failures, bearer(credential), _PAGE)
        self._path = f"/repos/{settings.repository}"
        self._settings = settings
        self._target = target

    def user(self) -> str:
        with self._api.named("read the account of the token or the app"):
            if self._app is None:
                return self._api.ask("GET", "/user")["login"].text()
            return f"{self._app.ask(self._api, 'GET', '/app')['slug'].text()}[bot]"

    def missing_permissions(self) -> Sequence[str]:
        with self._api.named("read the permissions of the token or the app"):
            if self._app is not None:
                return [*self._missing_permissions_of(self._app.ask(self._api, "GET", f"{self._path}/installation"))]
            response = self._api.send("GET", self._path)
            may_push = found_in(response)["permissions"]["push"].flag()
            missing = [] if may_push else ["write access to the repository"]
            scopes = {one.strip() for one in response.headers.get("X-OAuth-Scopes", "").split(",")} - {""}
            return missing if not scopes or scopes & _SCOPES else [*missing, "the scope repo"]  # only classic tokens

    def _missing_permissions_of(self, found: Found) -> Iterator[str]:
        number = found["id"].number()
        if number != self._settings.installation_id:
            what = f"expected {number}, the installation for {self._settings.repository}"
            raise UsageError(f"[forge] installation_id: {what}, found {self._settings.installation_id}")
        for name, access in _PERMISSIONS.items():
            if found["permissions"][name].value not in (access, "write"):
                yield f"the permission {name}: {access}"

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._api.named("list the open pull requests"):
            listed = self._api.pages(f"{self._path}/pulls", state="open", base=self._target)
            return sorted(map(_pull_request, listed), key=lambda one: one.number)

    def is_open(self, number: int) -> bool:
        with self._api.named(f"read pull request {number}"):
            found = self._api.ask("GET", f"{self._path}/pulls/{number}")
            return found["state"].text() == "open" and found["base"]["ref"].text() == self._target

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        with self._api.named(f"find the pull request that was merged as {commit}"):
            listed = self._api.pages(f"{self._path}/commits/{commit}/pulls")
            found = [_pull_request(one) for one in listed if not one["merged_at"].is_null]
        return [one for one in found if one.target == self._target]

    def first_parent(self, commit: Revision) -> Revision | None:
        with self._api.named(f"read commit {commit}"):
            parents = self._api.ask("GET", f"{self._path}/git/commits/{commit}")["parents"].items()
            return parents[0]["sha"].commit() if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._api.named(f"read the comments of pull request {number}"):
            return [_comment(one) for one in self._api.pages(f"{self._path}/issues/{number}/comments")]

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        if replaces is not None:
            try:
                with self._api.named(f"replace a comment on pull request {number}"):
                    path = f"{self._path}/issues/comments/{replaces}"
                    return self._api.ask("PATCH", path, {"body": body})["id"].number()
            except ForgeNotFound:  # someone has deleted it
                pass
        with self._api.named(f"write a comment on pull request {number}"):
            return self._api.ask("POST", f"{self._path}/issues/{number}/comments", {"body": body})["id"].number()

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        content = {
            "state": status.state.value,
            "description": status.description[:LONGEST_DESCRIPTION],
            "context": status.context,
            **({"target_url": status.url} if status.url else {}),
        }
        with self._api.named(f"set the status {status.context} of commit {commit}"):
            self._api.send("POST", f"{self._path}/statuses/{commit}", content)

    def can_write(self, user: str) -> bool:
        try:
            with self._api.named(f"read the permission of {user}"):
                found = self._api.ask("GET", f"{self._path}/collaborators/{quote(user, safe='')}/permission")
                return found["permission"].text() in ("write", "admin")
        except ForgeNotFound:
            return False

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Writes review comments: only an app could write the annotations of a check run."""
        user, path = self.user(), f"{self._path}/pulls/{pull_request.number}"
        with self._api.named(f"annotate pull request {pull_request.number}"):
            files = [one for one in self._api.pages(f"{path}/files") if not one["patch"].is_null]
            diff = {
                one["filename"].text(): lines_in_diff(one["patch"].text()).get("", frozenset[int]()) for one in files
            }
            missing = {*line_comments(annotations, diff)}
            for comment in self._api.pages(f"{path}/comments"):
                body = comment["body"].text()
                if _login(comment["user"]) != user or not is_line_comment(body):
                    continue
                line = None if comment["line"].is_null else comment["line"].number()
                shown = None if line is None else LineComment(comment["path"].text(), line, body)
                if shown is not None and shown in missing:
                    missing.remove(shown)
                else:
                    self._api.send("DELETE", f"{self._path}/pulls/comments/{comment['id'].number()}")
            if missing:
                comments = [
                    {"path": one.file, "line": one.line, "side": "RIGHT", "body": one.body} for one in sorted(missing)
                ]
                content = {"commit_id": pull_request.head, "event": "COMMENT", "comments": comments}
                self._api.send("POST", f"{path}/reviews", content)

    def close(self) -> None:
        self._api.close()


def _login(user: Found) -> str:
    """The name of an account; that of an account that was deleted is not shown."""
    return "ghost" if user.is_null else user["login"].text()


def _comment(found: Found) -> Comment:
    body = "" if found["body"].is_null else found["body"].text()
    is_edited = found["updated_at"].time() != found["created_at"].time()
    return Comment(found["id"].number(), _login(found["user"]), body, is_edited)


def _pull_request(found: Found) -> PullRequest:
    """Without the repository of its commits, which may have been deleted, a pull request is from a fork."""
    number, url, head, base = found["number"].number(), found["html_url"].url(), found["head"], found["base"]
    commit, origin = head["sha"].commit(), head["repo"]
    return PullRequest(
        number=number,
        title=found["title"].text(),
        author=_login(found["user"]),
        head=commit,
        head_ref=f"refs/pull/{number}/head",
        target=base["ref"].text(),
        url=url,
        files_url=f"{url.rpartition('/pull/')[0]}/blob/{commit}/",
        is_fork=origin.is_null or origin["id"].number() != base["repo"]["id"].number(),
        is_draft=not found["draft"].is_null and found["draft"].flag(),
    )
