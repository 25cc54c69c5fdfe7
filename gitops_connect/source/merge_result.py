"""The result of merging a pull request into its target branch, made by Git on this machine.

It has a clone of its own, next to that of the target branch. A merge needs history that reading one branch does not:
so the branch, its last good commit and its lock are never touched, and reading them never waits for a pull request.
All pull requests share this clone. Objects that one of them has fetched stay there, so the others are fetched quickly.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitops_connect.errors import SourceRefused, UsageError
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import Checkout, History, HistoryOf, TargetKind, is_full_name
from gitops_connect.source.clone import Clone
from gitops_connect.source.directory_listing import printable
from gitops_connect.source.git_program import GitFailed, require_git
from gitops_connect.source.remote import ABSENT, Remote
from gitops_connect.source.repository import Repository

MERGE_HEAD = "refs/gitops-connect/merge/head"
MERGE_TARGET = "refs/gitops-connect/merge/target"
_MERGES_SINCE = (2, 38)
"""The first version with `git merge-tree --write-tree`."""
_DEPTHS = (50, 1000, 2**31 - 1)
"""How many commits of each branch are fetched, until the merge base is certain. Git reads the last one as infinite."""
_NAMED = 5


class MergeConflict(SourceRefused):
    """Git cannot merge a pull request into its target branch. `paths` are the paths in conflict, printable."""

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.paths = paths


class MergeResult(Repository):
    """A `Source`: what the target branch would contain if the head of a pull request were merged now.

    `head_ref` is the full name of the head's reference on the server, such as `refs/pull/7/head`,
    `refs/merge-requests/7/head` or `refs/heads/topic`. The revision, author and subject of the checkout are those of
    the head commit, as no commit of the merge exists. Its files are those of the merge. If the target branch already
    contains the head, they are the files of the target branch.
    """

    def __init__(
        self, settings: RepositorySettings, directory: Path, head_ref: str, history_of: HistoryOf | None = None
    ) -> None:
        """`directory` is that of the clone of the target branch. Raises UsageError if a setting is invalid.

        Raises SourceRefused if `head_ref` is not the full name of a reference.
        """
        super().__init__(settings, directory.with_name(f"{directory.name}.merges"), history_of)
        if self._target.kind is not TargetKind.BRANCH:
            raise UsageError(f"[repository] {self._target.kind.value} is set: pull requests need [repository] branch")
        if not is_full_name(head_ref):
            shown = printable(head_ref.encode(errors="replace"))
            raise SourceRefused(f"{self._where}: {shown!r} is not the full name of a Git reference, as in refs/heads/x")
        self._head_ref = head_ref

    def fetch(self) -> Checkout:
        """The merge of the current head into the current target branch.

        Raises MergeConflict if Git cannot merge them, SourceRefused if the head no longer exists, if both have no
        common history, or if Git is older than 2.38, and the errors of `Repository.fetch`.
        """
        require_git(_MERGES_SINCE, "merge pull requests")
        return super().fetch()

    @property
    def last_good(self) -> Checkout | None:
        """The result of the last `fetch` of this object that succeeded."""
        return self._current

    def _update(self, clone: Clone) -> Checkout:
        remote = self._remote(clone)
        return self._adopt(clone, self._fetch_both(clone, remote), remote)

    def _clone_into(self, new_clone: Clone, *, filtered: bool) -> Revision:
        new_clone.create(filtered=filtered)
        return self._fetch_both(new_clone, self._remote(new_clone))

    def _adopt(self, clone: Clone, revision: Revision, remote: Remote) -> Checkout:
        """Merge the two commits that were fetched, and read the tree of the merge."""
        tree, conflicts = remote.merge(Revision(MERGE_TARGET), revision)
        if conflicts:
            paths = tuple(map(printable, conflicts))
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            what = f"{self._head_ref} conflicts with {self._target} in {', '.join(map(repr, paths[:_NAMED]))}{more}"
            raise MergeConflict(f"{self._where}: {what}: merge {self._target} into the pull request", paths)
        checkout = self._checkout(clone, revision, remote.fetch_blobs, tree)
        self._current = replace(checkout, target=clone.commit(MERGE_TARGET))
        return self._current

    def _history(self, clone: Clone, revision: Revision) -> History | None:
        """The history of both commits: an annotation that the target branch has was not added by the pull request."""
        target = clone.commit(MERGE_TARGET)
        if self._history_of is None or target is None:
            return None
        return self._history_of([target, revision], self._head_ref)

    def _fetch_both(self, clone: Clone, remote: Remote) -> Revision:
        """Fetch the head and the target branch, with as much history as their merge needs; the value is the head."""
        for depth in _DEPTHS:
            self._fetch_to(clone, remote, depth)
            head, target = clone.commit(MERGE_HEAD), clone.commit(MERGE_TARGET)
            if head is None or target is None:
                raise SourceRefused(f"{self._where}: {self._head_ref} does not point to a commit")
            bases = clone.merge_bases(head, target)
            if bases and clone.knows_history(head, target, bases):
                return head
        what = f"{self._head_ref} and {self._target} have no common history, so they cannot be merged"
        raise SourceRefused(f"{self._where}: {what}: create the pull request from a branch of {self._target}")

    def _fetch_to(self, clone: Clone, remote: Remote, depth: int) -> None:
        try:
            remote.fetch_references({self._target.wanted: MERGE_TARGET, self._head_ref: MERGE_HEAD}, depth)
        except GitFailed as failure:
            if ABSENT not in failure.stderr:
                raise
            remote.resolve(self._target)
            what = f"the server has no reference {self._head_ref}: the pull request was closed, or its branch deleted"
            raise SourceRefused(f"{self._where}: {what}") from failure
