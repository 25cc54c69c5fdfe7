"""The forge of a simulation: pull requests from branches and forks, and how each replica reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any

from support.forge.memory_forge import PULL_REQUEST, MemoryForge

from gitops_connect.errors import ForgeNotFound, ForgeUnavailable, GitopsConnectError, SourceRefused, SourceUnavailable
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Comment, CommitStatus, PullRequest
from gitops_connect.source.checkout import Checkout
from gitops_connect.source.merge_result import MergeConflict
from simulation.faults import UNSEEN, Point
from simulation.repository import Repository
from simulation.timeline import Timeline

OURS = "gitops"
WRITERS = ("ann", "bob")
FORK_AUTHOR = "rita"
Files = Mapping[str, str | None]
"""Changed files; None removes one."""


@dataclass
class Branch:
    """The branch of a pull request: what it changes, and what these files were on `main` when it was made."""

    base: Files
    changes: dict[str, str | None]
    commits: int = 1
    is_deleted: bool = False


@dataclass
class SimulatedForge(MemoryForge):
    """The forge with its repository.

    `on_write` gets each comment of gitops-connect, and `require_clean` each of its texts.
    """

    repository: Repository = field(default_factory=Repository)
    timeline: Timeline = field(default_factory=Timeline)
    on_write: Callable[[int, str], None] = lambda number, body: None
    require_clean: Callable[[object], None] = lambda output: None
    authors: dict[int, str] = field(default_factory=dict)
    forks: set[int] = field(default_factory=set)
    """Open pull requests from forks."""
    branches: dict[int, Branch] = field(default_factory=dict)
    versions: dict[Revision, Files] = field(default_factory=dict)
    """The changes of a branch at each of its heads."""
    requests: int = 0
    limited_until: float = 0
    """When its last rate limit ends."""
    _known: dict[Revision, float] = field(default_factory=dict)
    _deleted: set[tuple[int, int]] = field(default_factory=set)
    _editors: dict[tuple[int, int], str] = field(default_factory=dict)

    # What replicas read and write, beyond what `MemoryForge` does.

    def can_write(self, user: str) -> bool:
        return user in WRITERS

    def merged_as(self, commit: Revision) -> Sequence[PullRequest]:
        """The forge may know of a merge some time after its commit is on the branch."""
        return super().merged_as(commit) if self._known.get(commit, 0) <= self.timeline.now else ()

    def first_parent(self, commit: Revision) -> Revision | None:
        return revision(int(commit) - 1) if int(commit) > 0 else None

    def comments(self, number: int) -> Sequence[Comment]:
        return [one for one in super().comments(number) if (number, one.id) not in self._deleted]

    def write_comment(self, number: int, body: str, replaces: int | None) -> int:
        self.require_clean(body)
        self.on_write(number, body)
        return super().write_comment(number, body, None if (number, replaces) in self._deleted else replaces)

    def is_edited_by_author(self, number: int, comment: Comment) -> bool:
        return self._editors.get((number, comment.id)) == comment.author

    def set_status(self, commit: Revision, status: CommitStatus) -> None:
        self.require_clean(status)
        super().set_status(commit, status)

    def merge_of(self, head_ref: str) -> Checkout:
        """The files of `main`, or of `main` with a pull request. Raises as `MergeResult` does."""
        _, kind, name, *_ = head_ref.split("/")
        if kind == "heads":
            return self.repository.fetch()
        number, files, target = int(name), self.repository.files, revision(self.repository.commits)
        branch = self.branches[number]
        if branch.is_deleted:
            raise SourceRefused(f"the server has no reference {head_ref}")
        if conflicts := self.conflicts(number):
            raise MergeConflict("conflict", conflicts)
        merged = Repository({path: text for path, text in {**files, **branch.changes}.items() if text is not None})
        return replace(merged.fetch(), revision=self.head(number), target=target)

    # What people do.

    def propose(self, author: str, changes: Files, *, is_fork: bool = False) -> int:
        number = len(self.branches) + 1
        head, self.authors[number] = self._commit(number, changes), author
        self.branches[number] = Branch(self._base(changes), {**changes})
        self.forks |= {number} if is_fork else set()
        self.open.append(
            replace(
                PULL_REQUEST,
                number=number,
                author=author,
                head=head,
                head_ref=f"refs/pull/{number}/head",
                url=f"https://git.example/shop/connect/pulls/{number}",
                is_fork=is_fork,
            )
        )
        return number

    def push(self, number: int, changes: Files, *, force: bool) -> None:
        """Add a commit, or replace all of them by one that is based on `main`."""
        branch = self.branches[number]
        if force:
            branch.base, branch.changes, branch.commits = self._base(changes), {**changes}, 1
        else:
            branch.base = {**self._base(changes), **branch.base}
            branch.changes |= changes
            branch.commits += 1
        head = self._commit(number, branch.changes)
        self.open = [replace(one, head=head) if one.number == number else one for one in self.open]

    def merge(self, number: int, how: str, known_after: float) -> None:
        """With the tree of a merge; a rebase adds each commit of the branch."""
        branch, found = self.branches[number], self.of(number)
        for commit in range(branch.commits if how == "rebase" else 1):
            is_last = how != "rebase" or commit == branch.commits - 1
            self.repository.commit(branch.changes if is_last else {})
            merged_as = revision(self.repository.commits)
            self.merged[merged_as], self._known[merged_as] = found, self.timeline.now + known_after
        self.close_pull_request(number)

    def close_pull_request(self, number: int) -> None:
        self.open = [one for one in self.open if one.number != number]
        self.forks.discard(number)  # what is blocked after its merge may be shown

    def say(self, number: int, author: str, body: str) -> int:
        written = self.comments_of.setdefault(number, [])
        written.append(Comment(len(written), author, body, is_edited=False))
        return len(written) - 1

    def edit(self, number: int, comment: int, body: str, editor: str) -> None:
        written = self.comments_of[number]
        written[comment], self._editors[number, comment] = replace(written[comment], body=body, is_edited=True), editor

    def delete_comment(self, number: int, comment: int) -> None:
        self._deleted.add((number, comment))

    def of(self, number: int) -> PullRequest:
        return next(one for one in self.open if one.number == number)

    def head(self, number: int) -> Revision:
        return next(commit for commit in reversed(self.versions) if commit.startswith(f"{number:03}"))

    def conflicts(self, number: int) -> tuple[str, ...]:
        branch, files = self.branches[number], self.repository.files
        return tuple(
            path for path, text in branch.changes.items() if files.get(path) not in (branch.base.get(path), text)
        )

    def _base(self, changes: Files) -> Files:
        return {path: self.repository.files.get(path) for path in changes}

    def _commit(self, number: int, changes: Files) -> Revision:
        head = Revision(f"{number:03}{len(self.versions):037}")
        self.versions[head] = {**changes}
        return head


def revision(commits: int) -> Revision:
    """The revision of the branch after so many commits, as `Repository` names it."""
    return Revision(f"{commits:040}")


class SimulatedEvent(Event):
    """An event whose waits take simulated time, rounded up to a second."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            self._clock.sleep(max(1.0, timeout or 0))
        return self.is_set()


_LATE = "is answered late"
_ERRORS: Mapping[str, Callable[[], GitopsConnectError]] = {
    UNSEEN: lambda: ForgeUnavailable("no answer"),
    "is not answered": lambda: ForgeUnavailable("nobody"),
    "is answered 500": lambda: ForgeUnavailable("HTTP 502"),
    "is answered 404": lambda: ForgeNotFound("HTTP 404"),
}


class ForgeClient:
    """The `Forge` as one replica reaches it. `touch` is called before each request."""

    longest_comment = 65_536

    def __init__(self, world: Any, clock: Clock, touch: Callable[[str], None]) -> None:
        self._world, self._clock, self._touch = world, clock, touch

    def user(self) -> str:
        return OURS

    def close(self) -> None:
        """Nothing has to be closed."""

    def __getattr__(self, verb: str) -> Any:
        return partial(self._request, verb, getattr(self._world.forge, verb))

    def _request(self, verb: str, work: Callable[..., Any], *arguments: Any) -> Any:
        world = self._world
        self._touch(f"{verb} on the forge")
        world.forge.requests += 1
        fault = "is not answered" if world.forge_is_down else world.faults.next(Point.FORGE)
        if fault == _LATE:
            self._clock.sleep(7)
        answer = work(*arguments) if fault in ("", UNSEEN, _LATE) else None
        if fault:
            world.note(f"{verb} on the forge {fault}")
        if fault == "is answered 429":
            world.forge.limited_until = world.timeline.now + 60
            raise ForgeUnavailable("limit", self._clock.now() + timedelta(seconds=60))
        if fault in _ERRORS:
            raise _ERRORS[fault]()
        return answer


class MergeSource:
    """A `Source`: the merge of a pull request as one replica reads it."""

    last_good = None

    def __init__(self, world: Any, touch: Callable[[str], None], head_ref: str) -> None:
        self._world, self._touch, self._head_ref = world, touch, head_ref

    def fetch(self) -> Checkout:
        self._touch("fetch of a pull request")
        if self._world.git_is_down:
            raise SourceUnavailable("the Git server does not answer")
        return self._world.forge.merge_of(self._head_ref)

    def close(self) -> None:
        """Nothing has to be closed."""


class Secrets(Mapping[str, str]):
    """Environment variables with secrets. Only those that a merged document names may be read."""

    MARK = "hunter2"

    def __init__(self, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self.merged: set[str] = set()
        """Names in documents that were merged."""

    def __getitem__(self, name: str) -> str:
        self._require(name)
        return f"{self.MARK}-{name}-correct-horse"

    def __contains__(self, name: object) -> bool:
        self._require(name)
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def _require(self, name: object) -> None:
        if name not in self.merged:
            self._fail(f"the secret {name} is read for a document that is not merged")


class WatchedDirectories(tuple[Any, ...]):
    """`[secrets] files`: no merged document names a file, so nobody may look whether one is allowed."""

    fail: Callable[[str], None]

    def __new__(cls, fail: Callable[[str], None]) -> WatchedDirectories:
        made = super().__new__(cls)
        made.fail = fail
        return made

    def __iter__(self) -> Iterator[Any]:
        self.fail("a secret file is read for a document that is not merged")
        return super().__iter__()
