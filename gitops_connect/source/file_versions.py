"""The versions of one file in the history of a commit, and when a part of the file was added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gitops_connect.model.documents import Blob
from gitops_connect.model.names import Revision
from gitops_connect.source import objects
from gitops_connect.source.program import GitFailed, Program

MOST_VERSIONS = 5_000
"""Versions of a file that are searched. A file that changes daily has so many after 13 years."""
_WINDOW = 64
"""Versions that are fetched together."""
_LARGEST = 10 * 1024**2
"""Bytes. No larger file is a document (`desired.load.MAX_SIZE`)."""
_NO_BLOB = "0" * 40
_SUFFIXES = (b".yaml", b".yml", b".json")

IsPresent = Callable[[Blob], bool]
"""Whether a version of a file contains the part that is searched."""
FetchBlobs = Callable[[Sequence[str]], None]


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
    """The commits whose parents are not in the clone."""
    _verdicts: dict[tuple[str, str], bool] = field(default_factory=dict)
    _count: int = 0

    def find(self, tip: Revision, path: str) -> Revision | None:
        """The commit that added the part; None if the file of `tip` does not contain it.

        Raises HistoryEnds, TooManyVersions and GitFailed.
        """
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
        """Whether the version contains the part. The versions that follow are fetched with it."""
        if not version.blob_id:
            return False
        if (path, version.blob_id) not in self._verdicts:
            window = [one for one in following[:_WINDOW] if one.blob_id]
            missing = objects.missing_versions(self.program, [one.commit for one in window], path)
            self._read([(path, one.blob_id) for one in window], missing)
        return self._verdicts[path, version.blob_id]

    def _read(self, files: Iterable[tuple[str, str]], missing: set[str]) -> None:
        """Read these files, by path and blob id. Those that are `missing` are fetched first, all at once."""
        unread = list(dict.fromkeys(one for one in files if one not in self._verdicts))
        blob_ids = [blob_id for _, blob_id in unread]
        self.fetch(sorted(missing.intersection(blob_ids)))
        contents = objects.read_blobs(self.program, blob_ids, _LARGEST)
        for (path, blob_id), content in zip(unread, contents, strict=True):
            self._verdicts[path, blob_id] = self.is_present(Blob(path, blob_id, content))

    def _moved_from(self, commit: Revision, path: str) -> tuple[Revision, str] | None:
        """The parent and the other file that contained the part before this commit; None if no file did."""
        if commit in self.shallow:
            raise HistoryEnds
        for parent in parents_of(self.program, commit):
            changed = (one for one in list_changed(self.program, parent, commit) if one.path != path)
            missing = {one for each in (parent, commit) for one in objects.missing(self.program, f"{each}^{{tree}}")}
            while window := list(islice(changed, _WINDOW)):
                both = ((one.path, blob_id) for one in window for blob_id in (one.before, one.after) if blob_id)
                self._read(both, missing)
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


def parents_of(program: Program, commit: Revision) -> list[Revision]:
    """All parents of a commit that are in the clone. Raises GitFailed."""
    return [Revision(one) for one in program.run("rev-parse", f"{commit}^@").decode().split()]


def list_changed(program: Program, before: Revision, after: Revision) -> list[ChangedFile]:
    """The YAML and JSON files of the first commit that the second one has changed or deleted. Raises GitFailed."""
    raw = program.run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", before, after).split(b"\0")
    found = []
    for ids, path in zip(raw[::2], raw[1::2], strict=False):
        _, _, old, new, _ = ids.decode().split()
        if path.endswith(_SUFFIXES) and old != _NO_BLOB:
            found.append(ChangedFile(path.decode(errors="replace"), old, "" if new == _NO_BLOB else new))
    return found


def is_ancestor(program: Program, earlier: Revision, later: Revision) -> bool:
    """Whether the first commit is in the history of the second, as far as the clone has this history."""
    try:
        program.run("merge-base", "--is-ancestor", earlier, later)
    except GitFailed as failure:
        if failure.status == 1:
            return False
        raise
    return True


def is_unchanged(program: Program, earlier: Revision, later: Revision, path: str) -> bool:
    """Whether no commit between the two has changed the file."""
    between = ("rev-list", "--max-count=1", later, f"^{earlier}", "--", path)
    return not program.run("--literal-pathspecs", *between)
