"""Parses manifests: a file's bytes into entries, or a file of any size into lines; each with its place, and the faults.

Spark's executors import it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gitops_connect.connect.unreadable import EMPTY, TOO_LARGE, Place, Unreadable
from gitops_connect.documents.manifest_paths import Format, format_of
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import LineFault, Manifest, ManifestEntry, ManifestFault
from gitops_connect.offsets.formats import content, csv_entries, json_entries
from gitops_connect.offsets.formats.content import MAX_SIZE, NO_LIMIT, Faults, fault_of, refuse_nul, text_of
from gitops_connect.offsets.formats.field_places import JsonPlaces

__all__ = ["MAX_ENTRIES", "MAX_SIZE", "NoText", "is_staged_as_it_is", "lines", "parse", "parse_all", "read_lines"]

MAX_ENTRIES = 200_000
"""Above about this number Spark is quicker, including its start; so many entries take 250 MB
(docs/contributing/performance.md).
"""
Line = tuple[str, Place]
"""The text of an entry, in one line without its line end, and the place in the file where the entry begins."""


def _read_yaml(texts: Iterable[str], faults: Faults) -> Iterator[tuple[Any, Place]]:
    from gitops_connect.offsets.formats import yaml_entries  # noqa: PLC0415 - executors of Spark may have no yaml

    return yaml_entries.read(texts, faults)


_READERS: dict[Format, Callable[[Iterable[str], Faults], Iterator[tuple[Any, Place]]]] = {
    Format.JSON: json_entries.read_body,
    Format.YAML: _read_yaml,
    Format.LINES: lambda texts, faults: json_entries.read_lines("".join(texts), faults),
    Format.CSV: csv_entries.read,
}


def parse(blob: Blob) -> Manifest:
    """The entries of a manifest, in their order. Parts that cannot be read are in its faults; nothing is raised.

    A blob of more than `MAX_SIZE` bytes is rejected, so that callers need to read at most one byte more of a file.
    """
    return parse_all([blob])


def parse_all(blobs: Iterable[Blob]) -> Manifest:
    """The entries of a manifest in one or more files: the limits apply to all of them together."""
    faults = Faults()
    entries: list[ManifestEntry] = []
    location: Location | None = None
    left = MAX_SIZE
    for blob in blobs:
        location = location or Location(blob.path)
        faults.path = blob.path
        try:
            form, text, size = _text_of(blob, left)
            left -= size
            _add_entries(blob.path, form, text, entries, faults)
        except Unreadable as error:
            faults.add_last(error)
            if error.rule == TOO_LARGE or faults.given_up:
                break
    if location is None:
        raise AssertionError("a manifest has at least one file")
    if not entries and not faults.listed:
        faults.path = location.file
        faults.add(EMPTY, "it has no entries")
    located = (ManifestFault(rule, found, Location(path, *at)) for path, (rule, found, *at) in faults.listed)
    return Manifest(location, tuple(entries), tuple(located))


def _text_of(blob: Blob, at_most: int) -> tuple[Format, str, int]:
    form, compression = format_of(blob.path)
    if form is Format.PARQUET:
        raise Unreadable(TOO_LARGE, "Parquet is read in other processes, not in this one")
    return form, *text_of(blob.content, compression, at_most)


def _add_entries(path: str, form: Format, text: str, entries: list[ManifestEntry], faults: Faults) -> None:
    if form is not Format.LINES:
        refuse_nul(text)
    places = JsonPlaces(text) if form is Format.JSON else None
    for value, place in _READERS[form]([text], faults):
        if len(entries) == MAX_ENTRIES:
            raise Unreadable(TOO_LARGE, f"more than {MAX_ENTRIES:,} entries", place)
        entries.append(ManifestEntry(value, Location(path, *place), places))


def is_staged_as_it_is(path: str) -> bool:
    """Whether the engine on Spark reads a file of that name unchanged. Raises Unreadable for other names."""
    return format_of(path)[0] in (Format.LINES, Format.PARQUET)


class NoText(Exception):
    """The file is damaged, or not text at all: this fault is the only one to report."""

    def __init__(self, error: Unreadable) -> None:
        super().__init__(error.found)
        self.fault = fault_of(error)


def lines(path: str, packed: content.Content, faults: Faults) -> Iterator[Line]:
    """The entries of a file that is not in lines, of any size, as lines; unreadable parts become faults.

    The entries, their places and the messages for faults equal those of `parse`. The faults inside of entries of JSON
    are found when the lines are read. Raises NoText at the end of the file.
    """
    try:
        form, compression = format_of(path)
    except Unreadable as error:
        faults.add_last(error)
        return
    texts = _texts(packed, compression)
    try:
        if form is Format.JSON:
            yield from json_entries.body_lines(texts, faults)
        else:
            yield from ((json.dumps(value), place) for value, place in _READERS[form](texts, faults))
    except Unreadable as error:
        if form is Format.YAML and error.rule == TOO_LARGE:
            found = f"{error.found}; use JSON Lines, which has no size limit"
            error = Unreadable(TOO_LARGE, found, error.place)
        faults.add_last(error)
    for _ in texts:
        # If the rest is damaged or binary, a fault before it is meaningless: read all of it.
        pass


def _texts(packed: content.Content, compression: str) -> Iterator[str]:
    try:
        yield from content.texts(packed, compression)
    except Unreadable as error:
        raise NoText(error) from error


class LinesRead(NamedTuple):
    """The strict parser's result: values with their line and column, and the places without a readable entry."""

    entries: Sequence[tuple[Any, int, int]]
    faults: Sequence[LineFault]


def read_lines(text: str) -> LinesRead:
    """The entry of each line that is not only whitespace."""
    faults = Faults(NO_LIMIT)
    entries = [(value, place.line, place.column) for value, place in json_entries.read_lines(text, faults)]
    return LinesRead(entries, [fault for _, fault in faults.listed])
