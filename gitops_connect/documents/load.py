"""Loads the documents of a revision; only files that are new since the last revision are read and parsed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from gitops_connect.documents import file_content
from gitops_connect.documents.file_content import CONFIG_MAPS, read_config_maps, read_file
from gitops_connect.documents.recognition import is_visible, names_config_maps
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

    A file that contains no document that declares something is None. The same file gives the same `Document` objects,
    so that results about them can be cached by object.
    """

    def __init__(self) -> None:
        self.files: Mapping[Key, Documents | None] = {}


def load(files: Files, cache: ParseCache) -> Documents:
    """All documents of a revision. Only the files that the cache does not contain are read, together.

    Errors of reading are passed on: a repository that cannot be read says nothing about its content.
    """
    visible = sorted((entry for entry in files.entries if is_visible(entry.path)), key=lambda entry: entry.path)
    parsed = {_key(entry): cache.files[_key(entry)] for entry in visible if _key(entry) in cache.files}
    parsed |= _parsed(files, [entry for entry in visible if _key(entry) not in parsed], read_file)
    if any(names_config_maps(resource) for file in parsed.values() if file is not None for resource in file.strimzi):
        deferred = [entry for entry in visible if parsed[_key(entry)] is CONFIG_MAPS]
        parsed |= _parsed(files, deferred, read_config_maps)
    cache.files = parsed
    found = [file for entry in visible if (file := parsed[_key(entry)]) is not None and file is not CONFIG_MAPS]
    documents = Documents.merged([Documents(diagnostics=files.diagnostics, complete=files.complete), *found])
    return replace(documents, ignored=len(visible) - len(found))


def _key(entry: Entry | Blob) -> Key:
    return entry.path, entry.blob_id


def _parsed(
    files: Files, entries: Collection[Entry], read: Callable[[Blob], Documents | None]
) -> dict[Key, Documents | None]:
    """The content of the files. One byte more than the limit is read of each, to detect files that are too large.

    With a bug in reading a file, nobody knows what it declares.
    """
    blobs = files.blobs(entries, file_content.MAX_SIZE + 1)
    return {_key(blob): contained_or(_unknown, partial(read, blob), Location(blob.path)) for blob in blobs}


def _unknown(bug: Diagnostic) -> Documents:
    return Documents(diagnostics=Diagnostics.of([bug]), complete=False)
