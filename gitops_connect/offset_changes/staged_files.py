"""Manifests as files that Spark can open: unchanged if the engine reads their format, else as lines with places.

Staged files are kept under the digest of their content, so that later reconciliations need not copy them again. A
manifest in memory can become files, and staged files that turn out to be small become a manifest in memory.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.field_places import LinePlaces, is_json
from gitops_connect.model.manifests import (
    LargeFile,
    LineFault,
    Manifest,
    ManifestEntry,
    ManifestFault,
    SavedOffsets,
    pack_place,
    suffix_of,
    unpack_places,
)
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.unreadable import TOO_LARGE, Place, Unreadable
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.content import Faults
from gitops_connect.offsets.formats.manifest_parser import Line
from gitops_connect.safe_files import locked_file, make_private

KEPT_FOR = 7 * 24 * 3600.0
"""Seconds since the last use."""
_LISTING = "listing.json"
_LOCK = "lock"


@contextmanager
def opened(directory: Path) -> Iterator[Store]:
    """The store in that directory; nothing is removed from it meanwhile. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    make_private(directory)
    with locked_file(directory / _LOCK, fcntl.LOCK_SH):
        yield Store(directory)


def remove_unused(directory: Path) -> None:
    """Remove content that was not used for a week; do nothing if a process is using the store. Raises OSError.

    While this process has the store `opened`, this removes nothing, because the process's own lock is in the way.
    """
    try:
        with locked_file(directory / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for kept in directory.iterdir():
                if kept.is_dir() and time.time() - kept.stat().st_mtime > KEPT_FOR:
                    shutil.rmtree(kept)
    except BlockingIOError:
        return


def blob_key(entry: Entry) -> str:
    """The key of a file of the repository: its content, and the format that its name indicates."""
    try:
        return f"{entry.blob_id}{suffix_of(entry.path)}"
    except Unreadable:
        return entry.blob_id


class Store:
    """A store of directories, each complete as soon as it has its name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def blob(self, entry: Entry, chunks: Iterable[bytes]) -> LargeFile:
        """A file of the repository. The chunks are only read if the file is not in the store.

        Errors of the chunks are passed on, and then nothing is stored. Raises OSError.
        """
        key = blob_key(entry)
        (file,) = self.kept(key) or self.keep(key, lambda directory: [stage(entry.path, chunks, directory)])
        return replace(file, name=entry.path)

    def kept(self, key: str) -> tuple[LargeFile, ...]:
        """The files under that key; empty if there are none."""
        directory = self._directory / key
        try:
            listing = json.loads((directory / _LISTING).read_text())
        except FileNotFoundError:
            return ()
        os.utime(directory)
        files = (LargeFile(**{**one, "faults": tuple(LineFault(*fault) for fault in one["faults"])}) for one in listing)
        return tuple(_moved(file, Path(), directory) for file in files)

    def keep(self, key: str, fill: Callable[[Path], Sequence[LargeFile]]) -> tuple[LargeFile, ...]:
        """Store what `fill` writes to an empty directory, all or nothing. Errors of `fill` are passed on.

        Raises OSError.
        """
        partial = self._directory / f"{key}.{secrets.token_hex(4)}.partial"
        partial.mkdir()
        try:
            files = fill(partial)
            with (partial / _LISTING).open("w") as stream:
                json.dump([asdict(_moved(file, partial, Path())) for file in files], stream)
                secure(stream)
            try:
                partial.rename(self._directory / key)
            except OSError:
                if not (self._directory / key).is_dir():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return self.kept(key)


def _moved(file: LargeFile, source: Path, target: Path) -> LargeFile:
    """The file after its directory `source` was moved to `target`."""
    places = None if file.places is None else str(target / Path(file.places).relative_to(source))
    return replace(file, path=str(target / Path(file.path).relative_to(source)), places=places)


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
        is_unchanged = manifest_parser.is_staged_as_it_is(name)
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
            write_lines(manifest_parser.lines(name, _Content(stream), faults), text_stream, places_stream)
        except manifest_parser.NoText as error:
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
    if sum(Path(file.path).stat().st_size for file in files) > manifest_parser.MAX_SIZE:
        return None
    parts = [
        manifest_parser.parse(Blob(file.name, "", Path(file.path).read_bytes()))
        if file.places is None
        else _read_lines(file, unpack_places(Path(file.places).read_bytes()))
        for file in files
    ]
    entries = tuple(entry for part in parts for entry in part.entries)
    faults = tuple(fault for part in parts for fault in part.faults)
    if len(entries) > manifest_parser.MAX_ENTRIES or any(fault.rule == TOO_LARGE for fault in faults):
        return None
    return Manifest(parts[0].location, entries, faults)


def _read_lines(file: LargeFile, places: Sequence[tuple[int, int]]) -> Manifest:
    """The manifest in a file of lines, with the place of each line in the original file."""
    text = Path(file.path).read_bytes().decode()
    read = manifest_parser.read_lines(text)
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
