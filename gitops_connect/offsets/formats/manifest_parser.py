"""Parses manifests: a file's bytes into entries, each with its line, and the faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gitops_connect.connect.unreadable import EMPTY, TOO_LARGE, Place, Unreadable
from gitops_connect.documents.manifest_paths import Format, format_of
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest, ManifestEntry, ManifestFault
from gitops_connect.offsets.formats import csv_entries, json_entries
from gitops_connect.offsets.formats.content import MAX_SIZE, Faults, refuse_nul, text_of
from gitops_connect.offsets.formats.field_places import JsonPlaces

__all__ = ["MAX_ENTRIES", "MAX_SIZE", "parse", "parse_all"]

_Reader = Callable[[str, Faults], Iterator[tuple[Any, Place]]]

MAX_ENTRIES = 200_000
"""Above about this number Spark is quicker, including its start; so many entries take 250 MB
(docs/contributing/performance.md).
"""


def _read_yaml(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    from gitops_connect.offsets.formats import yaml_entries  # noqa: PLC0415 - executors of Spark may have no yaml

    return yaml_entries.read(text, faults)


_READERS: dict[Format, _Reader] = {
    Format.JSON: json_entries.read_body,
    Format.YAML: _read_yaml,
    Format.LINES: json_entries.read_lines,
    Format.CSV: csv_entries.read,
}


def parse(blob: Blob) -> Manifest:
    """The entries of a manifest, in their order. Parts that cannot be read are in its faults; nothing is raised.

    A blob of more than `MAX_SIZE` bytes is rejected, so that callers need to read at most one byte more of a file.
    """
    return parse_all([blob])


def parse_all(blobs: Iterable[Blob]) -> Manifest:
    """The entries of a manifest in one or more files: the limits apply to all of them together."""
    parser = _Parser()
    for blob in blobs:
        if not parser.read(blob):
            break
    return parser.manifest()


class _Parser:
    def __init__(self) -> None:
        self._faults = Faults()
        self._entries: list[ManifestEntry] = []
        self._location: Location | None = None
        self._left = MAX_SIZE

    def read(self, blob: Blob) -> bool:
        """Read one file. False if the limits are reached, and no further file is read."""
        self._location = self._location or Location(blob.path)
        self._faults.path = blob.path
        try:
            self._add(blob)
        except Unreadable as error:
            self._faults.add_last(error.rule, error.found, error.place)
            return error.rule != TOO_LARGE and not self._faults.given_up
        return True

    def manifest(self) -> Manifest:
        if self._location is None:
            raise AssertionError("a manifest has at least one file")
        if not self._entries and not self._faults.listed:
            self._faults.path = self._location.file
            self._faults.add(EMPTY, "it has no entries")
        faults = (
            ManifestFault(one.rule, one.found, Location(path, one.line, one.column))
            for path, one in self._faults.listed
        )
        return Manifest(self._location, tuple(self._entries), tuple(faults))

    def _add(self, blob: Blob) -> None:
        form, compression = format_of(blob.path)
        if form is Format.PARQUET:
            raise Unreadable(TOO_LARGE, "Parquet is read on Spark, not in this process")
        text, size = text_of(blob.content, compression, self._left)
        self._left -= size
        if form is not Format.LINES:
            refuse_nul(text)
        places = JsonPlaces(text) if form is Format.JSON else None
        for value, place in _READERS[form](text, self._faults):
            if len(self._entries) == MAX_ENTRIES:
                raise Unreadable(TOO_LARGE, f"more than {MAX_ENTRIES:,} entries", place)
            self._entries.append(ManifestEntry(value, Location(blob.path, *place), places))
