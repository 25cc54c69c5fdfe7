"""Stages one file of a manifest: unchanged if the engine reads its format, else rewritten as lines with places."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from gitops_connect.desired.manifests import streams
from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.desired.manifests.formats import suffix_of
from gitops_connect.model.large_manifests import LargeFile, LineFault, pack_places
from gitops_connect.model.unreadable import Unreadable

_BATCH = 256 * 1024
"""The approximate number of characters that are written at once."""
_OVERHEAD = 100
"""The overhead of an entry, in addition to its own characters."""


def stage(name: str, chunks: Iterable[bytes], folder: Path) -> LargeFile:
    """Stage the file of that name from its bytes. The directory must exist and be empty.

    At most a few MiB are in memory. Errors of `chunks` are passed on. Raises OSError.
    """
    raw = folder / "raw"
    with raw.open("wb") as stream:
        stream.writelines(chunks)
        secure(stream)
    return take(name, raw, folder)


def take(name: str, raw: Path, folder: Path) -> LargeFile:
    """Stage a file that is already in the directory; `raw` is moved or deleted. Raises OSError."""
    try:
        as_it_is = streams.is_staged_as_it_is(name)
    except Unreadable:
        as_it_is = False
    if as_it_is:
        path = folder / f"content{suffix_of(name)}"
        raw.rename(path)
        return LargeFile(name, str(path))
    path, places = folder / "content.jsonl", folder / "content.places"
    faults = _convert(name, raw, path, places)
    raw.unlink()
    return LargeFile(name, str(path), str(places), faults)


def _convert(name: str, raw: Path, path: Path, places: Path) -> tuple[LineFault, ...]:
    faults = Faults()
    with raw.open("rb") as stream, path.open("wb") as lines, places.open("wb") as spots:
        try:
            for batch in _batches(streams.lines(name, _Content(stream), faults)):
                lines.write("".join(f"{text}\n" for text, _ in batch).encode())
                spots.write(pack_places(place for _, place in batch))
        except streams.NoText as error:
            lines.truncate(0)
            spots.truncate(0)
            return (error.fault,)
        secure(lines)
        secure(spots)
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


def _batches(lines: Iterable[streams.Line]) -> Iterator[list[streams.Line]]:
    batch: list[streams.Line] = []
    length = 0
    for line in lines:
        batch.append(line)
        length += len(line[0]) + _OVERHEAD
        if length > _BATCH:
            yield batch
            batch, length = [], 0
    yield batch


def secure(stream: IO[Any]) -> None:
    """Write the file to the disk before its directory gets its name: a power failure must not leave a partial file."""
    stream.flush()
    os.fsync(stream.fileno())
