"""Reads manifests of any size as lines, one entry each, which the strict reader of lines checks later.

The entries, their places and the messages for faults equal those of `parse` for the file. Spark's executors import it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import zstandard

from gitops_connect.connect import entry_texts
from gitops_connect.connect.unreadable import ENCODING, TOO_LARGE, Place, Unreadable, stray_in
from gitops_connect.documents.manifest_paths import Format, format_of
from gitops_connect.model.manifests import LineFault
from gitops_connect.offsets.formats import content, csv_entries, json_entries
from gitops_connect.offsets.formats.content import NO_LIMIT, Faults
from gitops_connect.offsets.formats.json_entries import JsonValues, Misread

Line = tuple[str, Place]
"""The text of an entry, in one line without its line end, and the place in the file where the entry begins."""
_ADVICE = "use JSON Lines, which has no size limit"
_LEVEL = 3
"""Makes lines of offsets about 16 times smaller; level 9 would make them 24 times smaller, in twice the time."""


class LinesRead(NamedTuple):
    """The strict parser's result: values with their line and column, and the places without a readable entry."""

    entries: Sequence[tuple[Any, int, int]]
    faults: Sequence[LineFault]


class NoText(Exception):
    """The file is damaged, or not text at all: this fault is the only one to report."""

    def __init__(self, fault: Unreadable) -> None:
        super().__init__(fault.found)
        self.fault = LineFault(fault.rule, fault.found, *fault.place)


def is_staged_as_it_is(path: str) -> bool:
    """Whether the engine on Spark reads a file of that name unchanged. Raises Unreadable for other names."""
    return format_of(path)[0] in (Format.LINES, Format.PARQUET)


def lines(path: str, packed: content.Content, faults: Faults) -> Iterator[Line]:
    """The entries of a file in another format; unreadable parts become faults. Raises NoText at the end of the file."""
    try:
        form, compression = format_of(path)
    except Unreadable as error:
        faults.add_last(error.rule, error.found, error.place)
        return
    texts = _texts(packed, compression)
    try:
        yield from _READERS[form](texts, faults)
    except Unreadable as error:
        faults.add_last(error.rule, error.found, error.place)
    for _ in texts:
        # If the rest is damaged or binary, a fault before it is meaningless: read all of it.
        pass


def _texts(packed: content.Content, compression: str) -> Iterator[str]:
    try:
        yield from content.texts(packed, compression)
    except Unreadable as error:
        raise NoText(error) from error


def _of_json(texts: Iterable[str], faults: Faults) -> Iterator[Line]:
    values = JsonValues()

    def beside(text: str, place: Place) -> None:
        try:
            _, _, doubts = values.read(text, 0)
        except Misread as error:
            raise AssertionError(f"the same text was read before: {error.found}") from error
        for doubt in doubts:
            faults.add(doubt.rule, doubt.found, place)

    for entry in entry_texts.Body(texts, beside=beside, note=faults.add).entries():
        place = Place(entry.line, entry.column)
        if stray := stray_in(entry.text):
            faults.add(ENCODING, stray[1], place)
        else:
            yield entry.text, place


def _of_csv(texts: Iterable[str], faults: Faults) -> Iterator[Line]:
    for value, place in csv_entries.read_lines(csv_entries.joined_lines(texts), faults):
        yield json.dumps(value), place


def _of_yaml(texts: Iterable[str], faults: Faults) -> Iterator[Line]:
    """Read YAML, up to a size: its reader holds all of the text, and as much again for each value."""
    from gitops_connect.offsets.formats import yaml_entries  # noqa: PLC0415 - executors of Spark may have no yaml

    held: list[str] = []
    length = 0
    for text in texts:
        held.append(text)
        length += len(text)
        if length > content.MAX_SIZE:
            raise Unreadable(TOO_LARGE, f"YAML of more than {content.MAX_SIZE // 1024**2} MiB; {_ADVICE}")
    try:
        for value, place in yaml_entries.read("".join(held), faults):
            yield json.dumps(value), place
    except Unreadable as error:
        if error.rule == TOO_LARGE:
            raise Unreadable(TOO_LARGE, f"{error.found}; {_ADVICE}", error.place) from error
        raise


_READERS: dict[Format, Callable[[Iterable[str], Faults], Iterator[Line]]] = {
    Format.JSON: _of_json,
    Format.CSV: _of_csv,
    Format.YAML: _of_yaml,
}


def read_lines(text: str) -> LinesRead:
    """The entry of each line that is not only whitespace."""
    faults = Faults(NO_LIMIT)
    entries = [(value, place.line, place.column) for value, place in json_entries.read_lines(text, faults)]
    return LinesRead(entries, [fault for _, fault in faults.listed])


def refuse(start: bytes) -> LineFault | None:
    """Why a file that begins with these bytes is not text."""
    try:
        next(content.unpack(start, ""), None)
        content.decode(start[:4])
    except Unreadable as error:
        return LineFault(error.rule, error.found, *error.place)
    return None


def unpack(packed: content.Content, compression: str) -> Iterator[bytes | LineFault]:
    """The content of a compressed file in pieces; a fault that ends it comes last."""
    try:
        yield from content.unpack(packed, compression)
    except Unreadable as error:
        yield LineFault(error.rule, error.found, *error.place)


def packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a `.zst` file, as one frame; only its window, a few MiB, is in memory."""
    packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
    for block in blocks:
        if part := packer.compress(block):
            yield part
    yield packer.flush()
