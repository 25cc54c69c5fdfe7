"""One revision of the desired state as it was found: which files there are, and their content for whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.documents import Blob
from gitops_connect.model.entries import Entry
from gitops_connect.model.names import Revision


class ContentReader(Protocol):
    """Where a checkout's content comes from."""

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        """The content of each, in this order."""

    def stream(self, entry: Entry) -> Iterator[bytes]:
        """The content of one, piece by piece."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A revision, and its files sorted by path (relative to `[repository] path`). Content is read only when asked for.

    `diagnostics` name the files that were left out: links out of the folder, names that cannot be shown, submodules.
    `rewritten` is the revision that was the last one before, where the new one does not descend from it: the branch was
    force-pushed, or the tag was moved.
    """

    revision: Revision
    entries: tuple[Entry, ...] = field(repr=False)
    diagnostics: Diagnostics
    reader: ContentReader = field(repr=False, compare=False)
    rewritten: Revision | None = None

    @property
    def complete(self) -> bool:
        """False where something was left out: what it declares is unknown, and must not be taken for undeclared."""
        return not self.diagnostics.items

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        """The content of these files, in this order, one in memory at a time; all that is missing is fetched at once.

        Of a longer file only the first `at_most` bytes are kept. Raises SourceUnavailable where the content cannot be
        fetched, was damaged, or (in a working tree) has changed since.
        """
        wanted = list(entries)
        for entry, content in zip(wanted, self.reader.read(wanted, at_most), strict=True):
            yield Blob(entry.path, entry.blob_id, content)

    def stream(self, entry: Entry) -> Iterator[bytes]:
        """The content of one file piece by piece, of any size; it is good for something once it has come to its end.

        Raises, also there, what `blobs` raises.
        """
        return self.reader.stream(entry)

    def read(self, entry: Entry) -> bytes:
        """The content of one file, as `blobs`; for many files, `blobs` is much faster."""
        return next(self.blobs([entry])).content


class Source(Protocol):
    """Where the desired state comes from: a git repository, or a folder as it is."""

    def fetch(self) -> Checkout:
        """The revision of now. Raises SourceUnavailable, SourceRefused or UsageError."""

    @property
    def last_good(self) -> Checkout | None:
        """The last revision that could be had, or None; what a failed `fetch` leaves as it was."""

    def close(self) -> None:
        """Let go of what is held."""
