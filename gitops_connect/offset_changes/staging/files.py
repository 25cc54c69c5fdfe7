"""Manifests as files that Spark can open: unchanged if the engine reads their format, else as lines with places.

A manifest in memory can become files, and staged files that turn out to be small become a manifest in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from gitops_connect.desired import manifests
from gitops_connect.desired.manifests import line_reader, streams
from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.desired.manifests.formats import suffix_of
from gitops_connect.desired.manifests.streams import Line
from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.field_places import LinePlaces, is_json
from gitops_connect.model.large_manifests import (
    LargeFile,
    LargeManifest,
    LineFault,
    SavedOffsets,
    pack_place,
    unpack_places,
)
from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestEntry, ManifestFault
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.unreadable import TOO_LARGE, Place, Unreadable


def stage(name: str, chunks: Iterable[bytes], directory: Path) -> LargeFile:
    """Stage the file of that name from its bytes. The directory must exist and be empty.

    At most a few MiB are in memory. Errors of `chunks` are passed on. Raises OSError.
    """
    raw = directory / "raw"
    with raw.open("wb") as stream:
        stream.writelines(chunks)
        secure(stream)
    return stage_file(name, raw, directory)


def stage_file(name: str, raw: Path, directory: Path) -> LargeFile:
    """Stage a file that is already in the directory; `raw` is moved or deleted. Raises OSError."""
    try:
        is_unchanged = streams.is_staged_as_it_is(name)
    except Unreadable:
        is_unchanged = False
    if is_unchanged:
        path = directory / f"content{suffix_of(name)}"
        raw.rename(path)
        return LargeFile(name, str(path))
    path, places = directory / "content.jsonl", directory / "content.places"
    faults = _convert(name, raw, path, places)
    raw.unlink()
    return LargeFile(name, str(path), str(places), faults)


def _convert(name: str, raw: Path, path: Path, places: Path) -> tuple[LineFault, ...]:
    faults = Faults()
    with raw.open("rb") as stream, path.open("wb") as text_stream, places.open("wb") as places_stream:
        try:
            write_lines(streams.lines(name, _Content(stream), faults), text_stream, places_stream)
        except streams.NoText as error:
            text_stream.truncate(0)
            places_stream.truncate(0)
            return (error.fault,)
        secure(text_stream)
        secure(places_stream)
    return tuple(fault for _, fault in faults.listed)


class _Content:
    """A file that is read by slices. If it were mapped into memory, all of it would count as this process's memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._descriptor = stream.fileno()
        self._size = os.fstat(self._descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        return os.pread(self._descriptor, max(stop - start, 0), start)


def write_lines(lines: Iterable[Line], text: IO[bytes], places: IO[bytes]) -> None:
    """Write the entries to `text`, one a line, and their places to `places`."""
    for line, place in lines:
        text.write(line.encode() + b"\n")
        places.write(pack_place(*place))


def secure(stream: IO[Any]) -> None:
    """Write the file to the disk before its directory gets its name: a power failure must not leave a partial file."""
    stream.flush()
    os.fsync(stream.fileno())


def read_small(files: Sequence[LargeFile]) -> Manifest | None:
    """The manifest in staged files; None if they are too large for this process, or Parquet. Raises OSError."""
    if sum(Path(file.path).stat().st_size for file in files) > manifests.MAX_SIZE:
        return None
    parts = [
        manifests.parse(Blob(file.name, "", Path(file.path).read_bytes()))
        if file.places is None
        else _read_lines(file, unpack_places(Path(file.places).read_bytes()))
        for file in files
    ]
    entries = tuple(entry for part in parts for entry in part.entries)
    faults = tuple(fault for part in parts for fault in part.faults)
    if len(entries) > manifests.MAX_ENTRIES or any(fault.rule == TOO_LARGE for fault in faults):
        return None
    return Manifest(parts[0].location, entries, faults)


def _read_lines(file: LargeFile, places: Sequence[tuple[int, int]]) -> Manifest:
    """The manifest in a file of lines, with the place of each line in the original file."""
    text = Path(file.path).read_bytes().decode()
    read = line_reader.read_lines(text)
    fields = LinePlaces(dict(zip(places, text.split("\n"), strict=False))) if is_json(file.name) else None
    entries = (ManifestEntry(value, Location(file.name, *places[line - 1]), fields) for value, line, _ in read.entries)
    faults = [ManifestFault(one.rule, one.found, Location(file.name, one.line, one.column)) for one in file.faults]
    faults += [ManifestFault(one.rule, one.found, Location(file.name, *places[one.line - 1])) for one in read.faults]
    return Manifest(Location(file.name), tuple(entries), tuple(faults))


def large_manifest(
    operation: DesiredOperation, manifest: Manifest | tuple[LargeFile, ...], context: ManifestContext, path: Path
) -> LargeManifest:
    """The manifest of an operation, without current offsets.

    `path` is the beginning of the names of the files that are written. Raises OSError.
    """
    if not isinstance(manifest, Manifest):
        return LargeManifest(operation.locate("manifest"), manifest, context, operation.kind)
    everything: list[ManifestEntry | ManifestFault] = [*manifest.entries, *manifest.faults]
    everything.sort(key=lambda one: one.location.file)
    by_file = groupby(everything, key=lambda one: one.location.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    files = (_written(name, list(found), f"{path}.{number}") for number, (name, found) in enumerate(by_file))
    return LargeManifest(manifest.location, tuple(files), context, operation.kind)


def offsets_file(current: Offsets | SavedOffsets, path: Path) -> LargeFile:
    """The file of the current offsets; `path` is written if they are in memory. Raises OSError."""
    if isinstance(current, SavedOffsets):
        return current.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f'{{"partition":{one},"offset":{offset}}}\n' for one, offset in current.items())
    return LargeFile("the current offsets", str(path))


def _written(name: str, found: list[ManifestEntry | ManifestFault], path: str) -> LargeFile:
    text, places = Path(f"{path}.jsonl"), Path(f"{path}.places")
    with text.open("wb") as lines, places.open("wb") as positions:
        write_lines((_line(one) for one in found if isinstance(one, ManifestEntry)), lines, positions)
    faults = (one for one in found if isinstance(one, ManifestFault))
    located = tuple(LineFault(one.rule, one.found, one.location.line, one.location.column) for one in faults)
    return LargeFile(name, str(text), str(places), located)


def _line(entry: ManifestEntry) -> Line:
    place = Place(entry.location.line, entry.location.column)
    if entry.places is not None:
        return entry.places.line(place, entry.value), place
    # Leading whitespace marks a line of a JSON file whose fields have other places in that file.
    return f"{' ' if is_json(entry.location.file) else ''}{json.dumps(entry.value)}", place
