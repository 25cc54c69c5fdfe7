"""When parts of files were added: the history of a revision, in a clone of its own.

The clone of a branch has only the newest commits. This one is next to it, and is deepened until the question is
answered. It has no blobs except the versions of the files that are searched. It exists only if a document needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from threading import RLock

from gitops_connect.errors import SourceUnavailable
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import Checkout, History, TargetKind
from gitops_connect.source.clone import FETCHED, Clone, missing, missing_versions, read_blobs
from gitops_connect.source.git_program import GitFailed, Program
from gitops_connect.source.remote import NOT_BY_ID, Remote
from gitops_connect.source.repository import CloneReader, Repository

_DEPTHS = (50, 1000, 10_000)
"""How many commits are fetched, until the question is answered."""
MOST_ANSWERS = 10_000
_COMMIT_ID = re.compile(r"[0-9a-f]{7,40}")
_REF = f"{FETCHED}-history"
MOST_VERSIONS = 5_000
"""Versions of a file that are searched. A file that changes daily has so many after 13 years."""
_WINDOW = 64
_LARGEST = 10 * 1024**2
"""Bytes. No larger file is a document (`desired.load.MAX_SIZE`)."""
_NO_BLOB = "0" * 40
_SUFFIXES = (b".yaml", b".yml", b".json")
IsPresent = Callable[[Blob], bool]
FetchBlobs = Callable[[Sequence[str]], None]
About = Callable[[], AbstractContextManager[None]]


class CommitHistory(Repository):
    """The history of one repository, for several threads. Answers are kept until the file changes."""

    def __init__(self, settings: RepositorySettings, directory: Path) -> None:
        """`directory` is that of the clone of the target branch. Raises UsageError if a setting is invalid."""
        super().__init__(settings, directory.with_name(f"{directory.name}.history"))
        self._depth: int | None = None
        self._answers: dict[Hashable, tuple[Revision, Revision | None]] = {}
        """The commit that added a part, as seen from a revision, which comes first."""
        self._asking = RLock()
        self._references: Mapping[str, str] = {}
        self._tips: Sequence[Revision] = ()

    def at(self, tips: Sequence[Revision], head_ref: str) -> History:
        """The history of the commit `tips`, or of the merge of two commits: the target branch, and then `head_ref`."""
        about = partial(self._about, tuple(tips), head_ref)
        return History(partial(self._added, about), partial(self._contains, about), partial(self._committed, about))

    @contextmanager
    def _about(self, tips: Sequence[Revision], head_ref: str) -> Iterator[None]:
        """Answer a question about these commits, which are fetched if the clone does not have them."""
        with self._asking, self._detecting_damage():
            self._tips = tips
            self._references = {self._target.wanted: _REF} | ({head_ref: f"{_REF}-head"} if head_ref else {})
            clone = self._clone()
            if not clone.is_usable or any(clone.commit(tip) is None for tip in tips):
                self._fetch_to(None)
            yield

    def _added(self, about: About, path: str, part: Hashable, is_present: IsPresent) -> Revision | None:
        root_path = f"{self._path}/{path}" if self._path else path
        with about():
            for number, tip in enumerate(self._tips):
                key = (path, part, number)
                known, found = self._answers.get(key, (None, None))
                if known is None or not self._still_holds(known, tip, root_path):
                    try:
                        found = self._search(tip, root_path, is_present)
                    except TooManyVersions:
                        return None
                self._answers.pop(key, None)  # the newest is the last
                self._answers[key] = tip, found
                if len(self._answers) > MOST_ANSWERS:
                    del self._answers[next(iter(self._answers))]
                if found is not None:
                    return found
            return self._tips[-1] if len(self._tips) > 1 else None

    def _committed(self, about: About, revision: Revision) -> datetime:
        with about():
            return datetime.fromtimestamp(self._clone().date(revision), UTC)

    def _contains(self, about: About, earlier: str, later: Revision) -> bool:
        if not _COMMIT_ID.fullmatch(earlier):
            return False
        with about():
            while not self._is_ancestor(earlier, later):
                if not self._deepen():
                    return False
        return True

    def _is_ancestor(self, earlier: str, later: Revision) -> bool:
        clone = self._clone()
        try:
            commit = clone.commit(earlier)
        except GitFailed:  # the abbreviated id means several objects
            return False
        return commit is not None and clone.descends(later, commit)

    def _still_holds(self, known: Revision, tip: Revision, path: str) -> bool:
        if known == tip:
            return True
        clone = self._clone()
        if clone.commit(known) is None or not clone.descends(tip, known):
            return False
        changes = ("rev-list", "--max-count=1", tip, f"^{known}", "--", path)
        return not clone.program.run("--literal-pathspecs", *changes)

    def _search(self, tip: Revision, path: str, is_present: IsPresent) -> Revision | None:
        while True:
            clone = self._clone()
            search = AdditionSearch(clone.program, is_present, self._fetch_blobs, clone.shallow_commits)
            try:
                return search.find(tip, path)
            except HistoryEnds:
                if not self._deepen():
                    raise TooManyVersions from None

    def _deepen(self) -> bool:
        """Fetch older commits. False if there are none, or if there are too many."""
        clone = self._clone()
        deeper = next((depth for depth in _DEPTHS if depth > clone.depth), None)
        if not clone.is_shallow or deeper is None:
            return False
        self._fetch_to(deeper)
        return True

    def _fetch_to(self, depth: int | None) -> None:
        """Fetch the tips with so many commits, or with None those that are new. Raises the errors of `fetch`."""
        self._depth = depth
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


class HistoryEnds(Exception):
    """The part is in the oldest commit of the clone, which has older commits on the server."""


class TooManyVersions(Exception):
    """The part is older than `MOST_VERSIONS` versions of its file."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A commit that changed the file, with the content after it: empty if the commit deleted the file.

    `parents` are the nearest earlier commits that changed the file, as Git's history simplification finds them. A merge
    that took the whole file from one side has only the commits of that side.
    """

    commit: Revision
    parents: tuple[Revision, ...]
    blob_id: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a commit has changed, with its blob ids; `after` is empty if the commit deleted it."""

    path: str
    before: str
    after: str


@dataclass(slots=True)
class AdditionSearch:
    """Finds the commit that added a part to a file, from a commit backwards.

    A merge did not add what one of its parents has: the search follows this parent. If the part is in no parent at this
    path, it may have been in another file, which the commit renamed or split.
    """

    program: Program
    is_present: IsPresent
    fetch: FetchBlobs
    shallow: frozenset[str]
    _verdicts: dict[tuple[str, str], bool] = field(default_factory=dict)
    _count: int = 0

    def find(self, tip: Revision, path: str) -> Revision | None:
        """The commit that added the part; None if `tip` lacks it. Raises HistoryEnds, TooManyVersions, GitFailed."""
        place: tuple[Revision, str] | None = (tip, path)
        found = None
        while place is not None:
            found = self._oldest(*place)
            place = None if found is None else self._moved_from(found, place[1])
        return found

    def _oldest(self, tip: Revision, path: str) -> Revision | None:
        """The oldest commit with the part at this path, without a gap from `tip` on."""
        versions = list_versions(self.program, tip, path, MOST_VERSIONS + 1 - self._count)
        by_commit = {one.commit: one for one in versions}
        order = {one.commit: number for number, one in enumerate(versions)}
        version = versions[0] if versions else None
        if version is None or not self._has(version, path, versions):
            return None
        while True:
            self._count += 1
            if self._count > MOST_VERSIONS or any(parent not in by_commit for parent in version.parents):
                raise TooManyVersions
            parents = [by_commit[parent] for parent in version.parents]
            later = (one for one in parents if self._has(one, path, versions[order[one.commit] :]))
            following = next(later, None)
            if following is None:
                if version.commit in self.shallow:
                    raise HistoryEnds
                return version.commit
            version = following

    def _has(self, version: FileVersion, path: str, following: Sequence[FileVersion]) -> bool:
        if not version.blob_id:
            return False
        if (path, version.blob_id) not in self._verdicts:
            window = [one for one in following[:_WINDOW] if one.blob_id]
            absent = missing_versions(self.program, [one.commit for one in window], path)
            self._read([(path, one.blob_id) for one in window], absent)
        return self._verdicts[path, version.blob_id]

    def _read(self, files: Iterable[tuple[str, str]], absent: set[str]) -> None:
        """Read these files, by path and blob id. Those that are `absent` are fetched first, all at once."""
        unread = list(dict.fromkeys(one for one in files if one not in self._verdicts))
        blob_ids = [blob_id for _, blob_id in unread]
        self.fetch(sorted(absent.intersection(blob_ids)))
        contents = read_blobs(self.program, blob_ids, _LARGEST)
        for (path, blob_id), content in zip(unread, contents, strict=True):
            self._verdicts[path, blob_id] = self.is_present(Blob(path, blob_id, content))

    def _moved_from(self, commit: Revision, path: str) -> tuple[Revision, str] | None:
        """The parent and the other file that contained the part before this commit; None if no file did."""
        if commit in self.shallow:
            raise HistoryEnds
        for parent in map(Revision, self.program.run("rev-parse", f"{commit}^@").decode().split()):
            changed = (one for one in list_changed(self.program, parent, commit) if one.path != path)
            absent = {one for each in (parent, commit) for one in missing(self.program, f"{each}^{{tree}}")}
            while window := list(islice(changed, _WINDOW)):
                both = ((one.path, blob_id) for one in window for blob_id in (one.before, one.after) if blob_id)
                self._read(both, absent)
                old = (one.path for one in window if self._verdicts[one.path, one.before] and not self._is_in(one))
                if (old_path := next(old, None)) is not None:
                    return parent, old_path
        return None

    def _is_in(self, file: ChangedFile) -> bool:
        return bool(file.after) and self._verdicts[file.path, file.after]


def list_versions(program: Program, tip: Revision, path: str, most: int) -> list[FileVersion]:
    """The versions of a file, the newest first. Raises GitFailed."""
    log = ("log", "-z", f"--max-count={most}", "--parents", "--format=%H %P", "--raw", "--no-abbrev", "--no-renames")
    listed = program.run("--literal-pathspecs", *log, "-c", tip, "--", path)
    return list(_parse_log(listed, path.encode()))


def _parse_log(listed: bytes, path: bytes) -> Iterator[FileVersion]:
    """Each version has a field with its commit and parents; then each path has one with ids and one with its name."""
    fields = iter(listed.split(b"\0"))
    version: FileVersion | None = None
    for one in fields:
        content = one.strip()
        if content.startswith(b":"):
            blob_id = content.split()[-2].decode()
            if next(fields, b"") == path and version is not None and blob_id != _NO_BLOB:
                version = FileVersion(version.commit, version.parents, blob_id)
        elif content:
            if version is not None:
                yield version
            commit, *parents = map(Revision, content.decode().split())
            version = FileVersion(commit, tuple(parents), "")
    if version is not None:
        yield version


def list_changed(program: Program, before: Revision, after: Revision) -> list[ChangedFile]:
    """The YAML and JSON files of the first commit that the second one has changed or deleted. Raises GitFailed."""
    raw = program.run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", before, after).split(b"\0")
    found = []
    for ids, path in zip(raw[::2], raw[1::2], strict=False):
        _, _, old, new, _ = ids.decode().split()
        if path.endswith(_SUFFIXES) and old != _NO_BLOB:
            found.append(ChangedFile(path.decode(errors="replace"), old, "" if new == _NO_BLOB else new))
    return found
