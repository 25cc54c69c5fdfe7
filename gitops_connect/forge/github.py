"""GitHub, through PyGithub: with an access token, or as a GitHub app."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import github
import jwt
from github.Auth import AppAuth, Token
from github.GithubObject import NotSet
from github.NamedUser import NamedUser
from github.Organization import Organization
from github.PullRequest import PullRequest as GithubPullRequest
from github.PullRequest import ReviewComment

from gitops_connect.errors import ForgeNotFound, UsageError
from gitops_connect.forge.failures import FailedAnswer, Failures, UnexpectedAnswer
from gitops_connect.forge.forge import LONGEST_DESCRIPTION
from gitops_connect.forge.line_comments import LineComment, is_line_comment, line_comments, lines_in_diff
from gitops_connect.forge.session import read_token
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.reviews import Annotation, Comment, CommitStatus, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.daemon_sections import ForgeSettings

_PAGE = 100
_SCOPES = {"repo", "public_repo"}
"""Scopes of classic tokens: each is enough for a public repository."""
_PERMISSIONS = {"contents": "read", "pull_requests": "write", "statuses": "write"}
"""What an app must be allowed."""


class GithubForge:
    """The pull requests of a repository on GitHub. `credential` is a token, or the private key of the app.

    PyGithub would wait before requests, and for the end of a rate limit: both are turned off. Its objects are lazy, so
    that a request is sent only for what is read.
    """

    longest_comment = 65_536

    def __init__(self, settings: ForgeSettings, url: str, credential: Credential, target: str, clock: Clock) -> None:
        options: dict[str, Any] = {
            "base_url": url,
            "timeout": math.ceil(settings.timeout),
            "per_page": _PAGE,
            "verify": True if settings.ca_file is None else str(settings.ca_file),
            "retry": None,
            "seconds_between_requests": None,
            "seconds_between_writes": None,
            "lazy": True,
        }
        self._app: github.GithubIntegration | None = None
        if settings.app_id is None or settings.installation_id is None:
            self._client = github.Github(auth=_RereadToken(credential), **options)
        else:
            app = _app_auth(settings.app_id, credential)
            self._app = github.GithubIntegration(auth=app, **options)
            self._client = github.Github(auth=app.get_installation_auth(settings.installation_id), **options)
        self._repository = self._client.get_repo(settings.repository)
        self._settings = settings
        self._target = target
        self._failures = Failures("GitHub", url, settings.repository, credential, clock)

    def user(self) -> str:
        with self._named("read the account of the token or the app"):
            return self._client.get_user().login if self._app is None else f"{self._app.get_app().slug}[bot]"

    def missing_permissions(self) -> Sequence[str]:
        with self._named("read the permissions of the token or the app"):
            if self._app is not None:
                return [*self._missing_permissions_of(self._app)]
            permissions = self._client.get_repo(self._settings.repository).permissions
            missing = [] if permissions.push else ["write access to the repository"]
            scopes = {*(self._client.oauth_scopes or ())} - {""}  # only classic tokens have some
            return missing if not scopes or scopes & _SCOPES else [*missing, "the scope repo"]

    def _missing_permissions_of(self, app: github.GithubIntegration) -> Iterator[str]:
        found = app.get_repo_installation(*self._settings.repository.split("/"))
        if found.id != self._settings.installation_id:
            what = f"expected {found.id}, the installation for {self._settings.repository}"
            raise UsageError(f"[forge] installation_id: {what}, found {self._settings.installation_id}")
        for name, access in _PERMISSIONS.items():
            if found.permissions.get(name) not in (access, "write"):
                yield f"the permission {name}: {access}"

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._named("list the open pull requests"):
            found = [_pull_request(one) for one in self._repository.get_pulls(state="open", base=self._target)]
        return sorted(found, key=lambda one: one.number)

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        with self._named(f"find the pull request that was merged as {commit}"):
            merged = [one for one in self._repository.get_commit(commit).get_pulls() if one.merged_at is not None]
            found = [_pull_request(one) for one in merged]
        return [one for one in found if one.target == self._target]

    def first_parent(self, commit: Revision) -> Revision | None:
        with self._named(f"read commit {commit}"):
            parents = self._repository.get_git_commit(commit).parents
        return Revision(parents[0].sha) if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._named(f"read the comments of pull request {number}"):
            found = self._repository.get_issue(number).get_comments()
            return [Comment(one.id, _login(one.user), one.body or "") for one in found]

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        issue = self._repository.get_issue(number)
        if replaces is not None:
            try:
                with self._named(f"replace a comment on pull request {number}"):
                    issue.get_comment(replaces).edit(body)
            except ForgeNotFound:  # someone has deleted it
                pass
            else:
                return replaces
        with self._named(f"write a comment on pull request {number}"):
            return issue.create_comment(body).id

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        with self._named(f"set the status {status.context} of commit {commit}"):
            self._repository.get_commit(commit).create_status(
                status.state.value,
                target_url=status.url or NotSet,
                description=status.description[:LONGEST_DESCRIPTION],
                context=status.context,
            )

    def can_write(self, user: str) -> bool:
        try:
            with self._named(f"read the permission of {user}"):
                return self._repository.get_collaborator_permission(user) in ("write", "admin")
        except ForgeNotFound:
            return False

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Writes review comments: only an app could write the annotations of a check run."""
        user, found = self.user(), self._repository.get_pull(pull_request.number)
        with self._named(f"annotate pull request {pull_request.number}"):
            diff = {
                one.filename: lines_in_diff(one.patch).get("", frozenset()) for one in found.get_files() if one.patch
            }
            missing = {*line_comments(annotations, diff)}
            for comment in found.get_review_comments():
                if _login(comment.user) != user or not is_line_comment(comment.body):
                    continue
                shown = LineComment(comment.path, comment.line, comment.body)
                if shown in missing:
                    missing.remove(shown)
                else:
                    found.get_review_comment(comment.id).delete()
            if missing:
                commit = self._repository.get_commit(pull_request.head)
                found.create_review(commit, event="COMMENT", comments=[_review_comment(one) for one in sorted(missing)])

    def close(self) -> None:
        self._client.close()
        if self._app is not None:
            self._app.close()

    @contextmanager
    def _named(self, action: str) -> Iterator[None]:
        with self._failures.named(action):
            try:
                yield
            except github.GithubException as error:
                raise FailedAnswer(error.status, error.headers or {}, _words(error)) from error
            except (AssertionError, RuntimeError, TypeError) as error:  # PyGithub's, for an answer that is not JSON
                raise UnexpectedAnswer from error


class _RereadToken(Token):
    """The access token, read for each request."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    @property
    def token(self) -> str:
        return read_token(self._credential)


def _app_auth(app: int, private_key: Credential) -> AppAuth:
    """The private key is read whenever a token is requested, every hour."""

    def sign(payload: dict[str, Any]) -> str:
        try:
            return jwt.encode(payload, private_key.read(), "RS256")
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise UsageError("[forge] private_key: expected the private key of a GitHub app, as PEM") from error

    return AppAuth(app, sign_func=sign)


def _words(error: github.GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    return str(error.message or data.get("message", ""))


def _login(user: NamedUser | Organization | None) -> str:
    """The name of an account; that of an account that was deleted is not shown."""
    return user.login if user is not None else "ghost"


def _review_comment(comment: LineComment) -> ReviewComment:
    return {"path": comment.file, "line": comment.line, "side": "RIGHT", "body": comment.body}


def _pull_request(found: GithubPullRequest) -> PullRequest:
    """Without the repository of its commits, which may have been deleted, a pull request is from a fork."""
    return PullRequest(
        number=found.number,
        title=found.title,
        author=_login(found.user),
        head=Revision(found.head.sha),
        head_ref=f"refs/pull/{found.number}/head",
        target=found.base.ref,
        url=found.html_url,
        files_url=f"{found.html_url.rpartition('/pull/')[0]}/blob/{found.head.sha}/",
        is_fork=found.head.repo is None or found.head.repo.id != found.base.repo.id,
        is_draft=found.draft,
    )
