"""Loads the documents of a revision; only files that are new since the last revision are read and parsed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from gitops_connect.documents import file_content
from gitops_connect.documents.file_content import CONFIG_MAPS, read_config_maps, read_file
from gitops_connect.documents.recognition import is_visible, names_config_maps
from gitops_connect.documents.yaml import ParsedFile
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, contained_or
from gitops_connect.model.documents import Blob, Documents, Entry

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
        """The documents of the file; None if it contains no document that declares something."""
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
    if any(names_config_maps(resource) for file in parsed.values() if file is not None for resource in file.strimzi):
        deferred = [entry for entry in visible if parsed[_key(entry)] is CONFIG_MAPS]
        blobs = files.blobs(deferred, file_content.MAX_SIZE + 1)
        parsed |= {_key_of(blob): _contained(read_config_maps, blob) for blob in blobs}
    cache.keep(parsed)
    return _gather(files, [parsed[_key(entry)] for entry in visible])


def _key(entry: Entry) -> Key:
    return entry.path, entry.blob_id


def _gather(files: Files, parsed: Collection[ParsedFile | None]) -> Documents:
    ours = [file for file in parsed if file is not None and file is not CONFIG_MAPS]
    return Documents(
        documents=tuple(document for file in ours for document in file.documents),
        diagnostics=Diagnostics.of((*files.diagnostics, *(item for file in ours for item in file.diagnostics))),
        complete=files.complete and all(file.complete for file in ours),
        broken=tuple(document for file in ours for document in file.broken),
        ignored=len(parsed) - len(ours),
        strimzi=tuple(resource for file in ours for resource in file.strimzi),
        broken_strimzi=tuple(resource for file in ours for resource in file.broken_strimzi),
    )


def _load_new(files: Files, entries: Collection[Entry]) -> dict[Key, ParsedFile | None]:
    """Read and parse new files. One byte more than the limit is read of each, to detect files that are too large."""
    return {_key_of(blob): _contained(read_file, blob) for blob in files.blobs(entries, file_content.MAX_SIZE + 1)}


def _contained(read: Callable[[Blob], ParsedFile | None], blob: Blob) -> ParsedFile | None:
    """What the file declares, or the bug in reading it: then nobody knows what it declares."""
    return contained_or(_unknown, partial(read, blob), Location(blob.path))


def _unknown(bug: Diagnostic) -> ParsedFile:
    return ParsedFile(diagnostics=Diagnostics.of([bug]), complete=False)


def _key_of(blob: Blob) -> Key:
    return blob.path, blob.blob_id
