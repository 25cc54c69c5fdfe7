"""When parts of files were added: the history of a revision, in a clone of its own.

The clone of a branch has only the newest commits. This one is next to it, and is deepened until the question is
answered. It has no blobs except the versions of the files that are searched. It exists only if a document needs it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from gitops_connect.errors import SourceUnavailable
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source import file_versions
from gitops_connect.source.checkout import Checkout
from gitops_connect.source.clone import FETCHED, Clone
from gitops_connect.source.file_versions import AdditionSearch, HistoryEnds, IsPresent, TooManyVersions
from gitops_connect.source.program import GitFailed
from gitops_connect.source.remote import NOT_BY_ID, Remote
from gitops_connect.source.repository import CloneReader, Repository
from gitops_connect.source.target import TargetKind

_DEPTHS = (50, 1000, 10_000)
"""How many commits are fetched, until the question is answered."""
MOST_ANSWERS = 10_000
_COMMIT_ID = re.compile(r"[0-9a-f]{7,40}")
_REF = f"{FETCHED}-history"


@dataclass(frozen=True, slots=True)
class _Answer:
    """`commit` added the part, as seen from the revision `tip`."""

    tip: Revision
    commit: Revision | None


class CommitHistory(Repository):
    """The history of one repository. It keeps its answers for later revisions in which the file has not changed.

    Several threads may ask: the repository is read in one, and each cluster is reconciled in its own.
    """

    def __init__(self, settings: RepositorySettings, directory: Path) -> None:
        """`directory` is that of the clone of the target branch. Raises UsageError if a setting is invalid."""
        super().__init__(settings, directory.with_name(f"{directory.name}.history"))
        self._depth: int | None = None
        self._answers: dict[Hashable, _Answer] = {}
        self._asking = RLock()
        self._references: Mapping[str, str] = {}
        self._tips: Sequence[Revision] = ()

    def at(self, tips: Sequence[Revision], head_ref: str = "") -> RevisionHistory:
        """The history of the commit `tips`, or of the merge of two commits: the target branch, and then `head_ref`."""
        return RevisionHistory(self, tuple(tips), head_ref)

    def added(self, at: RevisionHistory, path: str, part: Hashable, is_present: IsPresent) -> Revision | None:
        """See `RevisionHistory.added`."""
        with self._asking, self._detecting_damage():
            return self._added(at, path, part, is_present)

    def _added(self, at: RevisionHistory, path: str, part: Hashable, is_present: IsPresent) -> Revision | None:
        root_path = f"{self._path}/{path}" if self._path else path
        self._ensure(at)
        for number, tip in enumerate(at.tips):
            key = (path, part, number)
            known = self._answers.get(key)
            if known is not None and self._still_holds(known, tip, root_path):
                found = known.commit
            else:
                try:
                    found = self._search(at, tip, root_path, is_present)
                except TooManyVersions:
                    return None
            self._keep(key, _Answer(tip, found))
            if found is not None:
                return found
        return at.tips[-1] if len(at.tips) > 1 else None

    def contains(self, at: RevisionHistory, earlier: str, later: Revision) -> bool:
        """See `RevisionHistory.contains`."""
        if not _COMMIT_ID.fullmatch(earlier):
            return False
        with self._asking, self._detecting_damage():
            self._ensure(at)
            while not self._is_ancestor(earlier, later):
                if not self._deepen(at):
                    return False
        return True

    def _is_ancestor(self, earlier: str, later: Revision) -> bool:
        clone = self._clone()
        commit = self._asked(clone, earlier)
        return commit is not None and file_versions.is_ancestor(clone.program, commit, later)

    def _still_holds(self, known: _Answer, tip: Revision, path: str) -> bool:
        if known.tip == tip:
            return True
        clone = self._clone()
        is_appended = clone.commit(known.tip) is not None and clone.descends(tip, known.tip)
        return is_appended and file_versions.is_unchanged(clone.program, known.tip, tip, path)

    def _keep(self, key: Hashable, answer: _Answer) -> None:
        self._answers.pop(key, None)
        self._answers[key] = answer
        if len(self._answers) > MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]

    def _search(self, at: RevisionHistory, tip: Revision, path: str, is_present: IsPresent) -> Revision | None:
        while True:
            clone = self._clone()
            search = AdditionSearch(clone.program, is_present, self._fetch_blobs, clone.shallow_commits)
            try:
                return search.find(tip, path)
            except HistoryEnds:
                if not self._deepen(at):
                    raise TooManyVersions from None

    @staticmethod
    def _asked(clone: Clone, commit: str) -> Revision | None:
        try:
            return clone.commit(commit)
        except GitFailed:  # the abbreviated id means several objects
            return None

    def _ensure(self, at: RevisionHistory) -> None:
        """Fetch the tips, if the clone does not have them."""
        clone = self._clone()
        if not clone.is_usable or any(clone.commit(tip) is None for tip in at.tips):
            self._fetch_for(at, None)

    def _deepen(self, at: RevisionHistory) -> bool:
        """Fetch older commits. False if there are none, or if there are too many."""
        clone = self._clone()
        deeper = next((depth for depth in _DEPTHS if depth > clone.depth), None)
        if not clone.is_shallow or deeper is None:
            return False
        self._fetch_for(at, deeper)
        return True

    def _fetch_for(self, at: RevisionHistory, depth: int | None) -> None:
        """Fetch the tips with so many commits, or with None those that are new. Raises the errors of `fetch`."""
        self._tips, self._depth, self._references = at.tips, depth, {self._target.wanted: _REF}
        if at.head_ref:
            self._references = {**self._references, at.head_ref: f"{_REF}-head"}
        self.fetch()

    def _update(self, clone: Clone) -> Checkout:
        return self._fetch_into(clone, self._depth)

    def _clone_into(self, new_clone: Clone, *, filtered: bool) -> Revision:
        new_clone.create(filtered=filtered)
        return self._fetch_into(new_clone, self._depth or _DEPTHS[0]).revision

    def _fetch_into(self, clone: Clone, depth: int | None) -> Checkout:
        remote = self._remote(clone)
        try:
            remote.fetch_references(self._references, depth)
        except GitFailed as failure:
            if self._target.kind is not TargetKind.COMMIT or not NOT_BY_ID.search(failure.stderr):
                raise
            remote.fetch_everything()
        if depth is not None:
            clone.keep_depth(depth)
        return self._adopt(clone, self._tips[-1], remote)

    def _adopt(self, clone: Clone, revision: Revision, remote: Remote) -> Checkout:
        lacking = [tip for tip in self._tips if clone.commit(tip) is None]
        if lacking:
            what = f"commit {lacking[0][:12]} is no longer in {', '.join(self._references)}"
            raise SourceUnavailable(f"{self._where}: {what}: a force-push has replaced it; the next poll reads again")
        return Checkout(revision, (), Diagnostics(), CloneReader(self, set()))


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """The `History` of one checkout."""

    repository: CommitHistory
    tips: tuple[Revision, ...]
    head_ref: str = ""

    def added(self, path: str, part: Hashable, is_present: IsPresent) -> Revision | None:
        """The commit that added the part to the file, see `History.added`."""
        return self.repository.added(self, path, part, is_present)

    def contains(self, earlier: str, later: Revision) -> bool:
        """Whether the commit `earlier` is in the history of `later`, see `History.contains`."""
        return self.repository.contains(self, earlier, later)
