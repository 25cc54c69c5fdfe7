"""Pull requests of a forge, and what gitops-connect writes to them. GitLab calls them merge requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.plans import Plan
from gitops_connect.model.reviewed_plans import ReviewedPlan


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
    """A comment of a pull request. `is_edited`: the text may be from others, who have write access."""

    id: int
    author: str
    body: str
    is_edited: bool


@dataclass(frozen=True, slots=True)
class CommentChange:
    """Someone has written or edited a comment of a pull request at this time, which is the forge's.

    `comment` is its id; None if the forge says only that the pull request has changed.
    """

    pull_request: int
    at: datetime
    comment: int | None = None


class Reaction(Enum):
    """How gitops-connect reacts to a command in a comment."""

    DONE = "+1"
    REFUSED = "-1"
    UNKNOWN = "confused"


class CommitState(Enum):
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


# What a comment on a pull request is made from.


class NotPlanned(Enum):
    FORK = "fork"
    """Its branch is in a fork: a plan shows current configs and offsets, and reads the manifests it names."""
    CONFLICT = "conflict"
    """Git cannot merge it into the target branch."""
    INTERNAL_ERROR = "internal error"


@dataclass(frozen=True, slots=True)
class OtherPullRequest:
    number: int
    url: str
    connectors: tuple[ConnectorName, ...]


@dataclass(frozen=True, slots=True)
class PullRequestPlan:
    """What merging a pull request into the branch `target` would do, as far as that is known.

    `unread` has the reason for each cluster without a plan. `digest` identifies what is reviewed; None if nothing is.
    `diagnostics` are all problems, those of the plans included, with paths from the root of the repository. `secrets`
    are masked wherever they occur; credentials that are found by their syntax are masked in any case. `reviewed` is
    what a review of it covers. `branch` are the plans of the target branch alone, and `pending` the connectors of each
    cluster that it changes anyway. `is_changed`: it has destructive changes that were not shown before, and nobody has
    approved it since. `conflicts` are the files that Git cannot merge.
    """

    number: int
    head: Revision
    target: str
    plans: tuple[Plan, ...] = ()
    unread: Mapping[ClusterName, str] = field(default_factory=dict)
    not_planned: NotPlanned | None = None
    digest: Digest | None = None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    others: tuple[OtherPullRequest, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    reviewed: ReviewedPlan | None = None
    branch: tuple[Plan, ...] = ()
    pending: frozenset[tuple[ClusterName, ConnectorName]] = frozenset()
    is_changed: bool = False
    conflicts: tuple[str, ...] = ()

    @property
    def own_plans(self) -> tuple[Plan, ...]:
        """The plans without the connectors that the target branch changes anyway."""
        return tuple(
            replace(
                plan, connectors=tuple(one for one in plan.connectors if (plan.cluster, one.name) not in self.pending)
            )
            for plan in self.plans
        )


@dataclass(frozen=True, slots=True)
class CommentOptions:
    """What comments link to, and how long they may be.

    `files` is the URL of the root directory at the head commit: a path and `#L12` are added (GitHub
    `…/blob/COMMIT/`, Gitea `…/src/commit/COMMIT/`, GitLab `…/-/blob/COMMIT/`). `status_page` is the URL of the whole
    plan; None if there is no page. `longest` is in characters, at least 4,096.
    """

    files: str
    status_page: str | None
    longest: int
