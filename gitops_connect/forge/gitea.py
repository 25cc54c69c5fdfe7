"""Gitea and Forgejo, by their REST API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from gitops_connect.bounded_http import AnswerTooLarge
from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.failures import Failures
from gitops_connect.forge.forge_api import AnswerValue, ForgeApi, bearer
from gitops_connect.forge.github_style import (
    GithubStyleForge,
    LineComment,
    is_line_comment,
    line_comments,
    lines_in_diff,
    pull_request,
)
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Annotation, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeSettings

_API = "/api/v1"
_PAGE = ("limit", 50)
"""Results in a page: the most that a server sends with its default settings."""
_LARGEST_DIFF = 1024 * 1024
"""Bytes of a diff. A set of numbers is made of its lines."""


class GiteaForge(GithubStyleForge):
    """The pull requests of a repository on Gitea or Forgejo. `url` may end with the path of the API.

    Gitea does not limit the length of a comment, but pages with longer comments than those of GitHub are slow.
    """

    roles = ("write", "admin", "owner")
    state_field = "status"
    commit_parameters: Mapping[str, str] = {"stat": "false", "verification": "false", "files": "false"}

    def __init__(self, settings: ForgeSettings, url: str, token: Credential, target: str, clock: Clock) -> None:
        failures = Failures("Gitea", url, settings.repository, token, clock)
        api = ForgeApi(f"{url.removesuffix(_API)}{_API}", settings, failures, bearer(token), _PAGE)
        super().__init__(api, f"/repos/{quote(settings.repository)}", target)

    def user(self) -> str:
        with self._api.named("read the account of the token"):
            return self._api.ask("GET", "/user")["login"].text()

    def missing_permissions(self) -> Sequence[str]:
        """Gitea does not show the scopes of a token, so each kind of scope is tried with a request that reads."""
        with self._api.named("read the permissions of the account"):
            is_admin = self._api.ask("GET", self._path)["permissions"]["admin"].flag()
            self._api.ask("GET", f"{self._path}/issues/comments", limit="1")
        return () if is_admin else ("the role of an administrator of the repository",)

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        try:
            with self._api.named(f"find the pull request that was merged as {commit}"):
                found = self.pull_request(self._api.ask("GET", f"{self._path}/commits/{commit}/pull"))
        except ForgeNotFound:
            return ()
        return (found,) if found.target == self._target else ()

    def pull_request(self, found: AnswerValue) -> PullRequest:
        """A pull request that was pushed to `refs/for` has no branch. All who read can push it: a fork."""
        head, base = found["head"], found["base"]
        is_fork = head["repo_id"].value != base["repo_id"].number() or not head["label"].text()
        return pull_request(found, "/pulls/", "/src/commit/", is_fork=is_fork)

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """All annotations of a commit are one review, which replaces the earlier review."""
        user, path = self.user(), f"{self._path}/pulls/{pull_request.number}"
        with self._api.named(f"annotate pull request {pull_request.number}"):
            chosen = line_comments(annotations, lines_in_diff(self._diff(path)))
            earlier = {number: shown for number, shown in self._annotations(path, user) if shown}
            if [*earlier.values()] == ([chosen] if chosen else []):
                return
            for number in earlier:
                self._api.send("DELETE", f"{path}/reviews/{number}")
            if chosen:
                comments = [{"path": one.file, "new_position": one.line, "body": one.body} for one in sorted(chosen)]
                content = {"event": "COMMENT", "commit_id": pull_request.head, "comments": comments}
                self._api.send("POST", f"{path}/reviews", content)

    def _diff(self, path: str) -> str:
        """The diff of a pull request; nothing of one that is too large, which then has no annotations."""
        try:
            diff = self._api.send("GET", f"{path}.diff").content
        except AnswerTooLarge:
            return ""
        return diff.decode(errors="replace") if len(diff) <= _LARGEST_DIFF else ""

    def _annotations(self, path: str, user: str) -> Iterator[tuple[int, frozenset[LineComment]]]:
        for review in self._api.pages(f"{path}/reviews"):
            if not review["user"].is_null and review["user"]["login"].text() == user:
                number = review["id"].number()
                comments = self._api.ask("GET", f"{path}/reviews/{number}/comments").items()
                shown = [one for one in comments if is_line_comment(one["body"].text())]
                yield number, frozenset(map(_line_comment, shown))


def _line_comment(found: AnswerValue) -> LineComment:
    return LineComment(found["path"].text(), found["position"].number(), found["body"].text())
