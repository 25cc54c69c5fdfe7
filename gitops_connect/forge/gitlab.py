"""GitLab, through python-gitlab. Its merge requests are pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import gitlab
from gitlab.v4.objects import ProjectMergeRequestNoteManager

from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.failures import FailedAnswer, Failures, UnexpectedAnswer
from gitops_connect.forge.forge import LONGEST_DESCRIPTION
from gitops_connect.forge.session import ForgeSession
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.reviews import Annotation, Comment, CommitState, CommitStatus, PullRequest
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.daemon_sections import ForgeSettings

_API = "/api/v4"
_PAGE = 100
_SCOPE = "api"
_DEVELOPER = 30
"""The lowest access level that may push."""
_LONGEST_URL = 255
"""Characters in the URL of a status."""
_STATES = {CommitState.PENDING: "pending", CommitState.SUCCESS: "success", CommitState.FAILURE: "failed"}
_SAME_STATE = "Cannot transition status"
"""The beginning of GitLab's answer if a status that is pending is set to pending."""


class GitlabForge:
    """The merge requests of a project on GitLab. `url` may end with the path of the API."""

    longest_comment = 1_000_000

    def __init__(self, settings: ForgeSettings, url: str, token: Credential, target: str, clock: Clock) -> None:
        self._client = gitlab.Gitlab(
            url.removesuffix(_API),
            session=ForgeSession(token),
            ssl_verify=True if settings.ca_file is None else str(settings.ca_file),
            timeout=settings.timeout,
            per_page=_PAGE,
            keep_base_url=True,
        )
        self._project = self._client.projects.get(settings.repository, lazy=True)
        self._target = target
        self._failures = Failures("GitLab", url, settings.repository, token, clock)

    def user(self) -> str:
        with self._named("read the account of the token"):
            self._client.auth()
            return str(self._client.user.username if self._client.user else "")

    def missing_permissions(self) -> Sequence[str]:
        with self._named("read the scopes of the token"):
            scopes = self._client.personal_access_tokens.get("self").scopes
        missing = [] if _SCOPE in scopes else [f"the scope {_SCOPE}"]
        return missing if self.can_write(self.user()) else [*missing, "the role Developer in the project"]

    def open_pull_requests(self) -> Sequence[PullRequest]:
        with self._named("list the open merge requests"):
            listed = self._project.mergerequests.list(state="opened", target_branch=self._target, get_all=True)
            # A merge request without commits has no head.
            found = [_pull_request(one.attributes) for one in listed if one.sha is not None]
        return sorted(found, key=lambda one: one.number)

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        with self._named(f"find the merge request that was merged as {commit}"):
            related = self._project.commits.get(commit, lazy=True).merge_requests(get_all=True, per_page=_PAGE)
            found = [_pull_request(one) for one in related if one["state"] == "merged"]
        return [one for one in found if one.target == self._target]

    def first_parent(self, commit: Revision) -> Revision | None:
        with self._named(f"read commit {commit}"):
            parents = self._project.commits.get(commit, stats="false").parent_ids
        return Revision(parents[0]) if parents else None

    def comments(self, number: int) -> Sequence[Comment]:
        with self._named(f"read the comments of merge request {number}"):
            found = self._notes(number).list(order_by="created_at", sort="asc", get_all=True)
            return [Comment(one.id, one.author["username"], one.body) for one in found if not one.system]

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        if replaces is not None:
            try:
                with self._named(f"replace a comment on merge request {number}"):
                    self._notes(number).update(replaces, {"body": body})
            except ForgeNotFound:  # someone has deleted it
                pass
            else:
                return replaces
        with self._named(f"write a comment on merge request {number}"):
            return int(self._notes(number).create({"body": body}).id)

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        content = {
            "name": status.context,
            "state": _STATES[status.state],
            "description": status.description[:LONGEST_DESCRIPTION],
            **({"target_url": status.url} if status.url and len(status.url) <= _LONGEST_URL else {}),
        }
        with self._named(f"set the status {status.context} of commit {commit}"):
            try:
                self._project.commits.get(commit, lazy=True).statuses.create(content)
            except FailedAnswer as answer:
                if answer.status != 400 or _SAME_STATE not in answer.words:
                    raise

    def can_write(self, user: str) -> bool:
        try:
            with self._named(f"read the access level of {user}"):
                found = self._client.users.list(username=user, get_all=True)
                member = self._project.members_all.get(found[0].id) if found else None
        except ForgeNotFound:
            return False
        return member is not None and _is_active(member.attributes) and member.access_level >= _DEVELOPER

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Does nothing: on GitLab, each comment at a line is a discussion, which can block the merge."""

    def close(self) -> None:
        self._client.session.close()

    def _notes(self, number: int) -> ProjectMergeRequestNoteManager:
        return self._project.mergerequests.get(number, lazy=True).notes

    @contextmanager
    def _named(self, action: str) -> Iterator[None]:
        with self._failures.named(action):
            try:
                yield
            except gitlab.GitlabError as error:
                raise UnexpectedAnswer from error


def _is_active(member: Mapping[str, Any]) -> bool:
    """Whether the account is active, and the membership too, which GitLab Community Edition does not show."""
    return {member["state"], member.get("membership_state", "active")} == {"active"}


def _pull_request(found: Mapping[str, Any]) -> PullRequest:
    return PullRequest(
        number=found["iid"],
        title=found["title"],
        author=found["author"]["username"],
        head=Revision(found["sha"]),
        head_ref=f"refs/merge-requests/{found['iid']}/head",
        target=found["target_branch"],
        url=found["web_url"],
        files_url=f"{found['web_url'].rpartition('/merge_requests/')[0]}/blob/{found['sha']}/",
        is_fork=found["source_project_id"] != found["target_project_id"],
        is_draft=found["draft"],
    )
