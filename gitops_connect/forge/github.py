"""GitHub, by its REST API: with an access token, or as a GitHub app."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gitops_connect.errors import UsageError
from gitops_connect.forge.failures import Failures
from gitops_connect.forge.forge_api import AnswerValue, ForgeApi, bearer, found_in, is_authors_text
from gitops_connect.forge.github_style import (
    GithubStyleForge,
    LineComment,
    is_line_comment,
    line_comments,
    lines_in_diff,
    login,
    pull_request,
)
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Annotation, Comment, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeSettings

_PAGE = ("per_page", 100)
_EDITOR = "query($id: ID!) { node(id: $id) { ... on IssueComment { body author { login } editor { login } } } }"
_SCOPES = {"repo", "public_repo"}
"""Scopes of classic tokens: each is enough for a public repository."""
_PERMISSIONS = {"contents": "read", "pull_requests": "write", "statuses": "write"}
"""What an app must be allowed."""


class GithubForge(GithubStyleForge):
    """The pull requests of a repository on GitHub. `credential` is a token, or the private key of the app."""

    def __init__(self, settings: ForgeSettings, url: str, credential: Credential, target: str, clock: Clock) -> None:
        failures = Failures("GitHub", url, settings.repository, credential, clock)
        self._app: GithubApp | None = None
        if settings.app_id is not None and settings.installation_id is not None:
            app = self._app = GithubApp(settings.app_id, settings.installation_id, credential, clock)
            api = ForgeApi(url, settings, failures, lambda: app.authorization(self._api), _PAGE)
        else:
            api = ForgeApi(url, settings, failures, bearer(credential), _PAGE)
        super().__init__(api, f"/repos/{settings.repository}", target)
        self.list_parameters = {"base": target}
        self._settings = settings

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

    def _missing_permissions_of(self, found: AnswerValue) -> Iterator[str]:
        number = found["id"].number()
        if number != self._settings.installation_id:
            what = f"expected {number}, the installation for {self._settings.repository}"
            raise UsageError(f"[forge] installation_id: {what}, found {self._settings.installation_id}")
        for name, access in _PERMISSIONS.items():
            if found["permissions"][name].value not in (access, "write"):
                yield f"the permission {name}: {access}"

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        with self._api.named(f"find the pull request that was merged as {commit}"):
            listed = self._api.pages(f"{self._path}/commits/{commit}/pulls")
            found = [self.pull_request(one) for one in listed if not one["merged_at"].is_null]
        return [one for one in found if one.target == self._target]

    def is_edited_by_author(self, number: int, comment: Comment) -> bool:
        """Only GraphQL says who made the last edit: everyone who may push can edit comments of others."""
        with self._api.named(f"read who edited a comment of pull request {number}"):
            node = self._api.ask("GET", self.comment_path(number, comment.id))["node_id"].text()
            return is_authors_text(self._api.query(_EDITOR, id=node)["node"], "editor", "login", comment)

    def pull_request(self, found: AnswerValue) -> PullRequest:
        """Without the repository of its commits, which may have been deleted, a pull request is from a fork."""
        origin, own = found["head"]["repo"], found["base"]["repo"]
        is_fork = origin.is_null or origin["id"].number() != own["id"].number()
        return pull_request(found, "/pull/", "/blob/", is_fork=is_fork)

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
                if login(comment["user"]) != user or not is_line_comment(body):
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


# A GitHub app: it signs requests with its private key, and gets a token of its installation for each hour.

_CLOCK_SKEW = timedelta(minutes=1)
_SIGNED = timedelta(minutes=5)
"""How long a signature is valid. GitHub accepts ten minutes."""
_LONGEST = timedelta(hours=1)
"""How long a token of an installation is valid, whatever the answer says."""


class GithubApp:
    """The app, as one installation of it. The private key is read for each signature."""

    def __init__(self, app: int, installation: int, private_key: Credential, clock: Clock) -> None:
        import jwt  # noqa: PLC0415 - an extra

        self._jwt = jwt
        self._app = app
        self._installation = installation
        self._private_key = private_key
        self._clock = clock
        self._token = ""
        self._expires: datetime | None = None

    def ask(self, api: ForgeApi, method: str, path: str) -> AnswerValue:
        """The answer to a request of the app itself."""
        return found_in(api.send(method, path, authorization=self._signature))

    def authorization(self, api: ForgeApi) -> str:
        """With the token of the installation."""
        now = self._clock.now()
        if self._expires is None or now + _CLOCK_SKEW >= self._expires:
            found = self.ask(api, "POST", f"/app/installations/{self._installation}/access_tokens")
            self._token = found["token"].text()
            self._expires = min(found["expires_at"].time(), now + _LONGEST)
        return f"Bearer {self._token}"

    def _signature(self) -> str:
        now = self._clock.now()
        claims = {"iat": now - _CLOCK_SKEW, "exp": now + _SIGNED, "iss": str(self._app)}
        try:
            return f"Bearer {self._jwt.encode(claims, self._private_key.read(), 'RS256')}"
        except (self._jwt.PyJWTError, ValueError, TypeError) as error:
            raise UsageError("[forge] private_key: expected the private key of a GitHub app, as PEM") from error
