"""Writes comments and commit statuses to the forge, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gitops_connect.forge.forge import Forge
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Comment, CommentOptions, CommitStatus, PullRequest
from gitops_connect.report.comment_writer import CommentKind, find_marker
from gitops_connect.report.printable import one_line


@dataclass(slots=True)
class ForgeWriter:
    """Writes what has changed. `status_page` is the URL of the server, if any."""

    forge: Forge
    status_page: str | None
    _statuses: dict[tuple[int, str], tuple[Revision, CommitStatus]] = field(default_factory=dict)

    def options(self, pull_request: PullRequest, page: str | None) -> CommentOptions:
        """How a comment is rendered. `page` has the whole plan."""
        return CommentOptions(pull_request.files_url, page, self.forge.longest_comment)

    def set_status(self, pull_request: PullRequest, commit: Revision, status: CommitStatus) -> None:
        """Set a status, unless it is the last one that this process has set for the pull request."""
        key = pull_request.number, status.context
        if self._statuses.get(key) != (commit, status):
            self.forge.set_status(commit, replace(status, description=one_line(status.description)))
            self._statuses[key] = commit, status

    def write(self, pull_request: PullRequest, kind: CommentKind, body: str, comments: Sequence[Comment]) -> bool:
        """Write the comment of this kind, or replace it. Returns False if it is there already."""
        own = self.own_comment(kind, comments)
        if own is not None and own.body == body:
            return False
        self.forge.write_comment(pull_request.number, body, own.id if own else None)
        return True

    def own_comment(self, kind: CommentKind, comments: Sequence[Comment]) -> Comment | None:
        """The comment of this kind among the comments of a pull request.

        Only comments of our own account are replaced: others can write the same marker.
        """
        user = self.forge.user()
        markers = ((one, find_marker(one.body)) for one in comments if one.author == user)
        return next((one for one, marker in markers if marker is not None and marker.kind is kind), None)
