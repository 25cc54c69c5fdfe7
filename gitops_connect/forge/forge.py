"""What gitops-connect reads and writes on a forge, and the requests that all kinds of forges have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from gitops_connect.errors import ForgeNotFound
from gitops_connect.forge.forge_api import ForgeApi
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

LONGEST_DESCRIPTION = 140
"""Characters in the description of a status: GitHub accepts no more, and pages show no more."""


class Forge(Protocol):
    """The pull requests of one repository to one branch, the target branch.

    Every method may raise ForgeUnavailable, if the same call may succeed later, or ForgeRefused. No method repeats a
    request or waits. After ForgeUnavailable, a change may have been made: read before you write again.
    """

    longest_comment: int = 65_536
    """How many characters a comment may have."""
    noun: str = "pull request"
    replace_method: str = "PATCH"
    """The method of the request that replaces a comment."""
    context_field: str = "context"
    """The field of a status with its context."""
    states: Mapping[CommitState, str] = {one: one.value for one in CommitState}
    reaction_path: str = "reactions"
    """The end of the path of the reactions to a comment."""
    reaction_field: str = "content"
    """The field of a reaction with its name."""
    reactions: Mapping[Reaction, str] = {one: one.value for one in Reaction}

    _api: ForgeApi
    _path: str
    _target: str

    def __init__(self, api: ForgeApi, path: str, target: str) -> None:
        self._api = api
        self._path = path
        self._target = target

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

    def changed_comments(self, since: datetime) -> Sequence[CommentChange]:
        """What was written or edited since this time, in all pull requests. Some of it may be of issues."""

    def comments_path(self, number: int) -> str:
        """The path of the comments on a pull request."""

    def comment_path(self, number: int, comment: int) -> str:
        """The path of one comment."""

    def is_edited_by_author(self, number: int, comment: Comment) -> bool:
        """Whether the forge says that the author of the comment has made its last edit, and that this is the text.

        False if the forge does not say who made it.
        """
        return False

    def react(self, number: int, comment: int, reaction: Reaction) -> None:
        """React to a comment. A forge may refuse the same reaction the second time."""
        with self._api.named(f"react to a comment on {self.noun} {number}"):
            path = f"{self.comment_path(number, comment)}/{self.reaction_path}"
            self._api.send("POST", path, {self.reaction_field: self.reactions[reaction]})

    def can_write(self, user: str) -> bool:
        """Whether the user may push to the repository. False for an unknown user."""

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Show these annotations, and no earlier ones, at the changed lines. Does nothing if the forge cannot."""

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        """Replace the comment with this id, or add one if there is none. Returns the id of the comment."""
        content = {"body": body}
        if replaces is not None:
            try:
                with self._api.named(f"replace a comment on {self.noun} {number}"):
                    path = self.comment_path(number, replaces)
                    return self._api.ask(self.replace_method, path, content)["id"].number()
            except ForgeNotFound:  # someone has deleted it
                pass
        with self._api.named(f"write a comment on {self.noun} {number}"):
            return self._api.ask("POST", self.comments_path(number), content)["id"].number()

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        """Set the status of the commit for `status.context`."""
        content = {
            self.context_field: status.context,
            "state": self.states[status.state],
            "description": status.description[:LONGEST_DESCRIPTION],
            **({"target_url": status.url} if status.url else {}),
        }
        with self._api.named(f"set the status {status.context} of commit {commit}"):
            self._send_status(f"{self._path}/statuses/{commit}", content)

    def status(self, commit: Revision, context: str) -> CommitState | None:
        """The state of the last status of the commit with this context; None if there is none."""

    def _state(self, word: str | None) -> CommitState | None:
        """The state in the forge's own word. States that gitops-connect never sets are final: a failure."""
        known = {name: state for state, name in self.states.items()}
        return None if word is None else known.get(word, CommitState.FAILURE)

    def _send_status(self, path: str, content: dict[str, str]) -> None:
        self._api.send("POST", path, content)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def utc(time: datetime) -> str:
    """The time as a parameter of a request, in whole seconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
