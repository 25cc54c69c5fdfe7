"""A forge in memory, with one repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gitops_connect.errors import ForgeUnavailable
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

PULL_REQUEST = PullRequest(
    number=7,
    title="Rewind orders",
    author="wendy",
    head=Revision("5" * 40),
    head_ref="refs/pull/7/head",
    target="main",
    url="https://git.example/shop/connect/pulls/7",
    files_url="https://git.example/shop/connect/src/",
    is_fork=False,
    is_draft=False,
)


@dataclass
class MemoryForge:
    """A `Forge`.

    `before` gets the name of each method on comments and statuses before it is done. `answers` is False while the forge
    is down.
    """

    open: list[PullRequest] = field(default_factory=list)
    merged: dict[Revision, PullRequest] = field(default_factory=dict)
    comments_of: dict[int, list[Comment]] = field(default_factory=dict)
    statuses: dict[tuple[Revision, str], list[CommitStatus]] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _method: None
    editors: dict[int, str] = field(default_factory=dict)
    """Who has edited a comment, by its id."""
    parents: dict[Revision, Revision] = field(default_factory=dict)
    reactions: list[tuple[int, Reaction]] = field(default_factory=list)
    answers: bool = True
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _dated: dict[tuple[int, int], tuple[Comment, datetime]] = field(default_factory=dict)
    longest_comment: int = 65_536

    def user(self) -> str:
        return "gitops"

    def missing_permissions(self) -> Sequence[str]:
        return ()

    def open_pull_requests(self) -> Sequence[PullRequest]:
        self._answer()
        return [*self.open]

    def is_open(self, number: int) -> bool:
        self._answer()
        return any(one.number == number for one in self.open)

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        self._answer()
        return [self.merged[commit]] if commit in self.merged else []

    def first_parent(self, commit: Revision) -> Revision | None:
        self._answer()
        return self.parents.get(commit)

    def comments(self, number: int) -> Sequence[Comment]:
        self._answer()
        self.before("comments")
        return [*self.comments_of.get(number, ())]

    def changed_comments(self, since: datetime) -> Sequence[CommentChange]:
        """A comment has the time at which it was there for the first time, in whole seconds."""
        self._answer()
        self._date()
        dated = [(number, at, one.id) for (number, _), (one, at) in self._dated.items()]
        return [CommentChange(number, at, one) for number, at, one in dated if at >= since.replace(microsecond=0)]

    def _date(self) -> None:
        now = self.now().replace(microsecond=0)
        for number, written in self.comments_of.items():
            for place, one in enumerate(written):
                if (known := self._dated.get((number, place))) is None or known[0] != one:
                    self._dated[number, place] = one, now

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        self._answer()
        self.before("write_comment")
        written = self.comments_of.setdefault(number, [])
        if replaces is not None:
            written[replaces] = replace(written[replaces], body=body)
            return replaces
        written.append(Comment(len(written), self.user(), body, is_edited=False))
        return len(written) - 1

    def is_edited_by_author(self, number: int, comment: Comment) -> bool:
        return self.editors.get(comment.id) == comment.author

    def react(self, number: int, comment: int, reaction: Reaction) -> None:
        self.before("react")
        self.reactions.append((comment, reaction))

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        self._answer()
        self.before("set_status")
        self.statuses.setdefault((commit, status.context), []).append(status)

    def status(self, commit: Revision, context: str) -> CommitState | None:
        self._answer()
        found = self.statuses.get((commit, context))
        return found[-1].state if found else None

    def can_write(self, user: str) -> bool:
        return True

    def annotate(self, pull_request: PullRequest, annotations: Sequence[Annotation]) -> None:
        """Pages with lines are not part of this forge."""

    def close(self) -> None:
        """Nothing is open."""

    def states(self, commit: Revision, context: str) -> list[str]:
        """The states of a commit, the first one first."""
        return [one.state.value for one in self.statuses.get((commit, context), ())]

    def _answer(self) -> None:
        if not self.answers:
            raise ForgeUnavailable("the forge does not answer")
