"""GitLab, by its REST API. Its merge requests are pull requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote

from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.failures import FailedAnswer, Failures
from gitops_connect.forge.forge import Forge, utc
from gitops_connect.forge.forge_api import AnswerValue, ForgeApi, bearer, is_authors_text
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import (
    Annotation,
    Comment,
    CommentChange,
    CommitState,
    CommitStatus,
    PullRequest,
    Reaction,
)
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeSettings

_API = "/api/v4"
_PAGE = ("per_page", 100)
_SCOPE = "api"
_DEVELOPER = 30
"""The lowest access level that may push."""
_LONGEST_URL = 255
"""Characters in the URL of a status."""
_EDITOR = "query($id: NoteID!) { note(id: $id) { body author { username } lastEditedBy { username } } }"
_SAME_STATE = "Cannot transition status"
"""The beginning of GitLab's answer if a status that is pending is set to pending."""


class GitlabForge(Forge):
    """The merge requests of a project on GitLab. `url` may end with the path of the API."""

    longest_comment = 1_000_000
    noun = "merge request"
    replace_method = "PUT"
    context_field = "name"
    states: Mapping[CommitState, str] = {**Forge.states, CommitState.FAILURE: "failed"}
    reaction_path = "award_emoji"
    reaction_field = "name"
    reactions: Mapping[Reaction, str] = {
        Reaction.DONE: "thumbsup",
        Reaction.REFUSED: "thumbsdown",
        Reaction.UNKNOWN: "confused",
    }

    def __init__(self, settings: ForgeSettings, url: str, token: Credential, target: str, clock: Clock) -> None:
        failures = Failures("GitLab", url, settings.repository, token, clock)
        api = ForgeApi(f"{url.removesuffix(_API)}{_API}", settings, failures, bearer(token), _PAGE)
        super().__init__(api, f"/projects/{quote(settings.repository, safe='')}", target)

    def user(self) -> str:
        with self._api.named("read the account of the token"):
            return self._api.ask("GET", "/user")["username"].text()

    def missing_permissions(self) -> Sequence[str]:
        with self._api.named("read the scopes of the token"):
            scopes = [one.text() for one in self._api.ask("GET", "/personal_access_tokens/self")["scopes"].items()]
        missing = [] if _SCOPE in scopes else [f"the scope {_SCOPE}"]
        return missing if self.can_write(self.user()) else [*missing, "the role Developer in the project"]

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._api.named("list the open merge requests"):
            listed = self._api.pages(f"{self._path}/merge_requests", state="opened", target_branch=self._target)
            # A merge request without commits has no head.
            found = [_pull_request(one) for one in listed if not one["sha"].is_null]
        return sorted(found, key=lambda one: one.number)

    def is_open(self, number: int) -> bool:
        with self._api.named(f"read merge request {number}"):
            found = self._api.ask("GET", f"{self._path}/merge_requests/{number}")
            return found["state"].text() == "opened" and found["target_branch"].text() == self._target

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        with self._api.named(f"find the merge request that was merged as {commit}"):
            related = self._api.pages(f"{self._path}/repository/commits/{commit}/merge_requests")
            found = [_pull_request(one) for one in related if one["state"].text() == "merged"]
        return [one for one in found if one.target == self._target]

    def first_parent(self, commit: Revision) -> Revision | None:
        with self._api.named(f"read commit {commit}"):
            found = self._api.ask("GET", f"{self._path}/repository/commits/{commit}", stats="false")
            parents = found["parent_ids"].items()
            return parents[0].commit() if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._api.named(f"read the comments of merge request {number}"):
            found = self._api.pages(self.comments_path(number), order_by="created_at", sort="asc")
            return [_comment(one) for one in found if not one["system"].flag()]

    def changed_comments(self, since: datetime) -> Sequence[CommentChange]:
        """GitLab updates the time of a merge request with each comment that is written or edited (`touch_noteable`)."""
        with self._api.named("read which merge requests have changed"):
            parameters = {"state": "opened", "target_branch": self._target, "updated_after": utc(since)}
            listed = self._api.pages(f"{self._path}/merge_requests", **parameters)
            return [CommentChange(one["iid"].number(), one["updated_at"].time()) for one in listed]

    def comments_path(self, number: int) -> str:
        return f"{self._path}/merge_requests/{number}/notes"

    def comment_path(self, number: int, comment: int) -> str:
        return f"{self.comments_path(number)}/{comment}"

    def is_edited_by_author(self, number: int, comment: Comment) -> bool:
        """Only GraphQL says who made the last edit: maintainers can edit comments of others."""
        with self._api.named(f"read who edited a comment of merge request {number}"):
            found = self._api.query(_EDITOR, id=f"gid://gitlab/Note/{comment.id}")["note"]
            return is_authors_text(found, "lastEditedBy", "username", comment)

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        is_short = status.url is None or len(status.url) <= _LONGEST_URL
        super().set_status(commit, status if is_short else replace(status, url=None))

    def status(self, commit: Revision, context: str) -> CommitState | None:
        with self._api.named(f"read the status {context} of commit {commit}"):
            found = self._api.ask("GET", f"{self._path}/repository/commits/{commit}/statuses", name=context).items()
            return self._state(found[0]["status"].text() if found else None)

    def _send_status(self, path: str, content: dict[str, str]) -> None:
        try:
            super()._send_status(path, content)
        except FailedAnswer as answer:
            if answer.status != 400 or _SAME_STATE not in answer.words:
                raise

    def can_write(self, user: str) -> bool:
        try:
            with self._api.named(f"read the access level of {user}"):
                found = self._api.ask("GET", "/users", username=user).items()
                if not found or found[0]["username"].text().lower() != user.lower():
                    return False
                member = self._api.ask("GET", f"{self._path}/members/all/{found[0]['id'].number()}")
                return _is_active(member) and member["access_level"].number() >= _DEVELOPER
        except ForgeNotFound:
            return False

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Does nothing: on GitLab, each comment at a line is a discussion, which can block the merge."""


def _is_active(member: AnswerValue) -> bool:
    """Whether the account is active, and the membership too, which GitLab Community Edition does not show."""
    membership = member["membership_state"]
    return member["state"].text() == "active" and (membership.is_null or membership.text() == "active")


def _author(found: AnswerValue) -> str:
    return "ghost" if found["author"].is_null else found["author"]["username"].text()


def _comment(found: AnswerValue) -> Comment:
    is_edited = found["updated_at"].time() != found["created_at"].time()
    return Comment(found["id"].number(), _author(found), found["body"].text(), is_edited)


def _pull_request(found: AnswerValue) -> PullRequest:
    number, url, head = found["iid"].number(), found["web_url"].url(), found["sha"].commit()
    source, target = found["source_project_id"], found["target_project_id"].number()
    return PullRequest(
        number=number,
        title=found["title"].text(),
        author=_author(found),
        head=head,
        head_ref=f"refs/merge-requests/{number}/head",
        target=found["target_branch"].text(),
        url=url,
        files_url=f"{url.rpartition('/merge_requests/')[0]}/blob/{head}/",
        is_fork=source.is_null or source.number() != target,
        is_draft=found["draft"].flag(),
    )
