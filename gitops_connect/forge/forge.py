"""What gitops-connect reads and writes on a forge, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Annotation, Comment, CommitStatus, PullRequest

LONGEST_DESCRIPTION = 140
"""Characters in the description of a status: GitHub accepts no more, and pages show no more."""


class Forge(Protocol):
    """The pull requests of one repository to one branch, the target branch.

    Every method may raise ForgeUnavailable, if the same call may succeed later, or ForgeRefused. No method repeats a
    request or waits. After ForgeUnavailable, a change may have been made: read before you write again.
    """

    @property
    def longest_comment(self) -> int:
        """How many characters a comment may have."""

    def user(self) -> str:
        """The account of the credentials. Only its comments may be replaced."""

    def missing_permissions(self) -> Sequence[str]:
        """What the credentials lack to do all of this, as far as the forge says so without a write."""

    def open_pull_requests(self) -> Sequence[PullRequest]:
        """The open pull requests to the target branch, by number."""

    def is_open(self, number: int) -> bool:
        """Whether the pull request is open, and is one to the target branch."""

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        """The pull requests that were merged to the target branch as this commit, or with it."""

    def first_parent(self, commit: Revision) -> Revision | None:
        """The commit that was the last one of the branch before this one; None for the first commit of all."""

    def comments(self, number: int) -> Sequence[Comment]:
        """All comments in the conversation of a pull request, the oldest first."""

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        """Replace the comment with this id, or add one if there is none. Returns the id of the comment."""

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        """Set the status of the commit for `status.context`."""

    def can_write(self, user: str) -> bool:
        """Whether the user may push to the repository. False for an unknown user."""

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Show these annotations, and no earlier ones, at the changed lines. Does nothing if the forge cannot."""

    def close(self) -> None:
        """Close the connections."""
