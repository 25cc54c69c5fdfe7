"""One revision of the desired state: the list of its files, and their content on request."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob
from gitops_connect.model.listed_files import Entry
from gitops_connect.model.names import Revision


class ContentReader(Protocol):
    """The reader of a checkout's content."""

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        """The content of each entry, in this order."""

    def stream(self, entry: Entry) -> Iterator[bytes]:
        """The content of one entry in chunks."""


class History(Protocol):
    """The history of a revision. Both methods raise SourceUnavailable, SourceRefused or UsageError."""

    def added(self, path: str, part: Hashable, is_present: Callable[[Blob], bool]) -> Revision | None:
        """The commit that added a part to the file with this path, without a gap since then.

        `is_present` says whether a version of a file contains the part, and `part` identifies it for a cache. The value
        is None if the file of the revision does not contain the part, or if it was added too long ago.
        """

    def contains(self, earlier: str, later: Revision) -> bool:
        """Whether a commit, which may have an abbreviated id, is in the history of another one."""


class Histories(Protocol):
    """The histories of all revisions of a repository."""

    def at(self, tips: Sequence[Revision], head_ref: str = "") -> History:
        """The history of the commit `tips`, or of the merge of these commits: `head_ref` is on the server the last."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A revision, and its files sorted by path (relative to `[repository] path`). Content is read on request only.

    `diagnostics` name the files that were left out: links out of the directory, names that cannot be shown, submodules.
    `rewritten` is the previous revision, if the new one does not descend from it: the branch was force-pushed, or the
    tag was moved. `author`, `subject` and `history` are of the commit; a directory without Git has none.
    """

    revision: Revision
    entries: tuple[Entry, ...] = field(repr=False)
    diagnostics: Diagnostics
    reader: ContentReader = field(repr=False, compare=False)
    rewritten: Revision | None = None
    author: str = ""
    subject: str = ""
    history: History | None = field(default=None, repr=False, compare=False)

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
        """The content of one file in chunks, of any size. It is verified only at its end.

        Raises the errors of `blobs`, also at the end.
        """
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
