"""Pull requests of a forge, and what gitops-connect writes to them. GitLab calls them merge requests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gitops_connect.model.names import Revision


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request. `target` is the branch that it is merged to.

    `head_ref` is the Git reference on the server from which `head` can be fetched, such as `refs/pull/7/head`. If
    `is_fork`, the commits come from another repository, to which other people can write. `files_url` is the page of the
    root directory at `head`: add a path and, for a line, `#L12`.
    """

    number: int
    title: str
    author: str
    head: Revision
    head_ref: str
    target: str
    url: str
    files_url: str
    is_fork: bool
    is_draft: bool


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment in the conversation of a pull request.

    `is_edited`: its text may not be the author's, because others with write access can edit it, too.
    """

    id: int
    author: str
    body: str
    is_edited: bool


class CommitState(Enum):
    """Whether a commit passes a check."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """The result of one check of a commit. `context` is the name of the check, and `url` a page with details, if any.

    A description that is too long for the forge is cut.
    """

    context: str
    state: CommitState
    description: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """A message about a line of a file, as plain text without secrets. The path starts from the repository's root."""

    file: str
    line: int
    message: str
    is_error: bool
