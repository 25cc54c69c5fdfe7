"""Reads a large change in chunks from the file of its entries, one a line."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from pathlib import Path

from gitops_connect.apply.changes import Chunk


class PatchReader:
    """Reads entries by their number. Chunks of any size that follow each other, or are read again, are found at once.

    `_starts` are the numbers and positions of entries at which a chunk began or ended.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._starts = [(0, 0)]

    def read(self, start: int, size: int) -> Chunk:
        """The entries from number `start` (from 0) on: `size` bytes at most, or one longer entry; none after the end.

        Raises OSError.
        """
        number, position = self._starts[bisect_right(self._starts, start, key=lambda one: one[0]) - 1]
        with self._path.open("rb") as stream:
            stream.seek(position)
            position += sum(map(len, islice(stream, start - number)))
            stream.seek(position)
            content = stream.read(size)
            lines = content[: content.rfind(b"\n") + 1] or content + stream.readline()
        entries = lines.count(b"\n")
        if entries and start + entries > self._starts[-1][0]:
            self._starts.append((start + entries, position + len(lines)))
        return Chunk(entries, b'{"offsets":[' + lines[:-1].replace(b"\n", b",") + b"]}")
