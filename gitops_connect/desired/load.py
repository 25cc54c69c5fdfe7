"""Loads the documents of a revision; only files that are new since the last revision are read and parsed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from gitops_connect.desired import recognition
from gitops_connect.desired.recognition import Membership, is_visible
from gitops_connect.desired.yaml import ParsedFile, parse
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob, Documents
from gitops_connect.model.listed_files import Entry

MAX_SIZE = 10 * 1024 * 1024
"""Bytes. Nobody reviews a document of that size; it is something else, or an attack on the parser's memory."""


Key = tuple[str, str]


class Files(Protocol):
    """The files of a revision, as in `source.checkout.Checkout`: names are known, content is read on demand."""

    @property
    def entries(self) -> Collection[Entry]:
        """Every file."""

    @property
    def diagnostics(self) -> Diagnostics:
        """The files that were left out, and why."""

    @property
    def complete(self) -> bool:
        """False if a file was left out."""

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        """The content of these in this order, one in memory at a time; at most the first `at_most` bytes of each."""


class ParseCache:
    """The parsed files of the last revision, by path and blob id; deleted files are removed.

    The same file gives the same `Document` objects, so that results about them can be cached by object.
    """

    def __init__(self) -> None:
        self._files: Mapping[Key, ParsedFile | None] = {}

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, key: Key) -> bool:
        return key in self._files

    def get(self, key: Key) -> ParsedFile | None:
        """The documents of the file; None if it contains no gitops-connect document."""
        return self._files[key]

    def keep(self, files: Mapping[Key, ParsedFile | None]) -> None:
        """Replace the content of the cache."""
        self._files = files


def load(files: Files, cache: ParseCache) -> Documents:
    """All documents of a revision. Only the files that the cache does not contain are read, together.

    Errors of reading are passed on: a repository that cannot be read says nothing about its content.
    """
    visible = sorted((entry for entry in files.entries if is_visible(entry.path)), key=lambda entry: entry.path)
    parsed = {_key(entry): cache.get(_key(entry)) for entry in visible if _key(entry) in cache}
    parsed |= _load_new(files, [entry for entry in visible if _key(entry) not in parsed])
    cache.keep(parsed)
    return _gather(files, [parsed[_key(entry)] for entry in visible])


def _key(entry: Entry) -> Key:
    return entry.path, entry.blob_id


def _gather(files: Files, parsed: Collection[ParsedFile | None]) -> Documents:
    ours = [file for file in parsed if file is not None]
    return Documents(
        documents=tuple(document for file in ours for document in file.documents),
        diagnostics=Diagnostics.of((*files.diagnostics, *(item for file in ours for item in file.diagnostics))),
        complete=files.complete and all(file.complete for file in ours),
        broken=tuple(document for file in ours for document in file.broken),
        ignored=len(parsed) - len(ours),
    )


def _load_new(files: Files, entries: Collection[Entry]) -> dict[Key, ParsedFile | None]:
    """Read and parse new files. One byte more than the limit is read of each, to detect files that are too large."""
    return {(blob.path, blob.blob_id): _load_one(blob) for blob in files.blobs(entries, MAX_SIZE + 1)}


def _load_one(blob: Blob) -> ParsedFile | None:
    """The file's documents; None if none is a gitops-connect document. A manifest may be larger than any document."""
    if len(blob.content) > MAX_SIZE:
        return _too_large(blob.path) if recognition.says_ours(blob.content) else None
    if not recognition.may_be_ours(blob.content):
        return None
    return _sort_out(parse(blob), ours=recognition.says_ours(blob.content))


def _sort_out(file: ParsedFile, *, ours: bool) -> ParsedFile | None:
    """Keep gitops-connect documents, report documents that are meant to be some, and drop the others.

    A file that only looked like a gitops-connect file may be any template or fixture: its errors are not reported.
    """
    every = (*file.documents, *file.broken)
    classes = {id(document): recognition.classify(document, among_ours=ours) for document in every}
    mistaken = tuple(document for document in every if classes[id(document)] is Membership.MISTAKEN)
    warnings = [warning for document in every if (warning := recognition.look_alike(document)) is not None]
    if not ours and not mistaken:
        return ParsedFile(diagnostics=Diagnostics.of(warnings)) if warnings else None
    broken = tuple(document for document in file.broken if classes[id(document)] is Membership.OURS)
    return replace(
        file,
        documents=tuple(document for document in file.documents if classes[id(document)] is Membership.OURS),
        broken=(*broken, *mistaken),
        diagnostics=Diagnostics.of((*file.diagnostics, *map(recognition.mistake, mistaken), *warnings)),
    )


def _too_large(path: str) -> ParsedFile:
    hint = "split it; move long lists of offsets to an offset manifest"
    summary = (
        f"the file contains a gitops-connect document and is larger than {MAX_SIZE // 1024**2} MiB; it is not read"
    )
    problem = Diagnostic(Severity.ERROR, "document/too-large", summary, Location(path), hint)
    return ParsedFile(diagnostics=Diagnostics.of([problem]), complete=False)
