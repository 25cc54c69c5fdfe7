"""One revision of the desired state: the list of its files, and their content on request."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from gitops_connect.errors import UsageError
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings

_COMMIT = re.compile(r"[0-9a-f]{40}")
# git-check-ref-format(1). A colon or a star would change the meaning of a refspec.
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock$|^\.|/\.|^-")


class ContentReader(Protocol):
    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        """The content of each entry, in this order."""

    def stream(self, entry: Entry) -> Iterator[bytes]:
        """The content of one entry in chunks."""


@dataclass(frozen=True, slots=True)
class History:
    """The history of a revision. Its functions raise SourceUnavailable, SourceRefused or UsageError."""

    added: Callable[[str, Hashable, Callable[[Blob], bool]], Revision | None]
    """The commit that added a part to the file with this path, without a gap since then.

    The second argument identifies the part for a cache, the third one says whether a version of a file contains it. The
    value is None if the file of the revision does not contain the part, or if it was added too long ago.
    """
    contains: Callable[[str, Revision], bool]
    """Whether a commit, which may have an abbreviated id, is in the history of another one."""
    committed: Callable[[Revision], datetime]
    """When a commit of the history was made, by the clock of who made it."""


HistoryOf = Callable[[Sequence[Revision], str], History]
"""Returns the history of a commit, or of the merge of several: the last one is the given reference of the server."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A revision, and its files sorted by path (relative to `[repository] path`). Content is read on request only.

    `diagnostics` name the files that were left out: links out of the directory, names that cannot be shown, submodules.
    `rewritten` is the previous revision, if the new one does not descend from it: the branch was force-pushed, or the
    tag was moved. `author`, `subject` and `history` are of the commit; a directory without Git has none. `target` is
    the commit of the branch with which the revision was merged, if it was.
    """

    revision: Revision
    entries: tuple[Entry, ...] = field(repr=False)
    diagnostics: Diagnostics
    reader: ContentReader = field(repr=False, compare=False)
    rewritten: Revision | None = None
    author: str = ""
    subject: str = ""
    history: History | None = field(default=None, repr=False, compare=False)
    target: Revision | None = None

    @property
    def complete(self) -> bool:
        """False if some file was left out: what the file declares is unknown, and must not be treated as undeclared."""
        return not self.diagnostics.items

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        """The content of these files, in this order, one in memory at a time; all missing content is fetched together.

        Of a longer file only the first `at_most` bytes are kept. Raises SourceUnavailable if the content cannot be
        fetched, was damaged, or (in a working tree) has changed since.
        """
        wanted = list(entries)
        for entry, content in zip(wanted, self.reader.read(wanted, at_most), strict=True):
            yield Blob(entry.path, entry.blob_id, content)

    def stream(self, entry: Entry) -> Iterator[bytes]:
        """One file in chunks of any size, verified only at its end. Raises the errors of `blobs`, also at the end."""
        return self.reader.stream(entry)

    def read(self, entry: Entry) -> bytes:
        """The content of one file. Raises the errors of `blobs`, which is much faster for many files."""
        return next(self.blobs([entry])).content


class Source(Protocol):
    """The source of the desired state: a Git repository, or a directory without Git."""

    def fetch(self) -> Checkout:
        """The current revision. Raises SourceUnavailable, SourceRefused or UsageError."""

    @property
    def last_good(self) -> Checkout | None:
        """The last revision that could be read, or None. A failed `fetch` does not change it."""

    def close(self) -> None:
        """Release all resources."""


class TargetKind(Enum):
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Target:
    kind: TargetKind
    name: str

    @property
    def wanted(self) -> str:
        """The value that git gets: the full name of the reference, or the commit's id."""
        match self.kind:
            case TargetKind.BRANCH:
                return f"refs/heads/{self.name}"
            case TargetKind.TAG:
                return f"refs/tags/{self.name}"
            case TargetKind.COMMIT:
                return self.name

    @property
    def good_ref(self) -> str:
        """The reference in the clone that stores the last good commit of this target."""
        digest = hashlib.sha256(str(self).encode()).hexdigest()[:16]
        return f"refs/gitops-connect/good/{digest}"

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name!r}"


def parse_target(settings: RepositorySettings) -> Target:
    """The target of the settings. Raises UsageError if both a tag and a commit are set, or if a name is invalid."""
    if settings.tag and settings.commit:
        raise UsageError("[repository] tag and commit are both set; keep one of them")
    if settings.commit:
        commit = settings.commit.strip().lower()
        if not _COMMIT.fullmatch(commit):
            raise UsageError(f"[repository] commit: expected all 40 hex digits, found {settings.commit!r}")
        return Target(TargetKind.COMMIT, commit)
    target = Target(TargetKind.TAG, settings.tag) if settings.tag else Target(TargetKind.BRANCH, settings.branch)
    if not target.name or _NO_REF.search(target.name):
        raise UsageError(f"[repository] {target.kind.value}: {target.name!r} is not a valid name in git")
    return target


def is_full_name(ref: str) -> bool:
    """Whether git can only read it as the full name of one reference, and not as an option, a pattern or a refspec."""
    return ref.startswith("refs/") and ref.isprintable() and not _NO_REF.search(ref)


def parse_directory(path: str) -> str:
    """The directory inside the repository, normalized; empty for its root. Raises UsageError if it is outside."""
    directory = posixpath.normpath(path or ".")
    if directory.startswith(("/", "../")) or directory == ".." or not directory.isprintable():
        raise UsageError(f"[repository] path: expected a directory inside the repository, found {path!r}")
    return "" if directory == "." else directory
