"""Reads the rest of a large change from the files that Spark has written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitops_connect.apply.journal import Chunk

_BEGIN, _END = b'{"offsets":[', b"]}"


class PatchReader:
    """Reads entries by their number. Consecutive chunks of any size cost one pass in all."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._number = 0
        self._file, self._position = 0, 0
        self._next: tuple[int, int] = (0, 0)
        self._following = 0

    def read(self, start: int, size: int) -> Chunk:
        """The entries from number `start` (from 0) on: `size` bytes at most, or one longer entry; none after the end.

        Raises OSError.
        """
        self._go_to(start)
        file, position, left = self._file, self._position, size
        parts: list[bytes] = []
        while left > 0 and (lines := self._lines(left, alone=not parts)):
            parts.append(lines)
            self._position += len(lines)
            left -= len(lines)
        lines = b"".join(parts)
        entries = lines.count(b"\n")
        self._following, self._next = start + entries, (self._file, self._position)
        self._file, self._position = file, position
        return Chunk(entries, _BEGIN + lines[:-1].replace(b"\n", b",") + _END)

    def _go_to(self, start: int) -> None:
        """Move to an entry.

        Near are the entries of the last chunk, which may be read again in smaller parts, and later ones.
        """
        if start >= self._following:
            self._number, (self._file, self._position) = self._following, self._next
        elif start < self._number:
            self._number, self._file, self._position = 0, 0, 0
        while self._number < start and (passed := _first(self._lines(_STRIDE), start - self._number)):
            self._number += passed.count(b"\n")
            self._position += len(passed)

    def _lines(self, size: int, *, alone: bool = True) -> bytes:
        """Whole lines of one file from the current position: `size` bytes at most, or one longer line if `alone`."""
        while self._file < len(self._files):
            with Path(self._files[self._file]).open("rb") as stream:
                stream.seek(self._position)
                content = stream.read(size)
                if not content:
                    self._file, self._position = self._file + 1, 0
                    continue
                end = content.rfind(b"\n") + 1
                return content[:end] if end or not alone else content + stream.readline()
        return b""


_STRIDE = 1024 * 1024


def _first(content: bytes, count: int) -> bytes:
    if content.count(b"\n") <= count:
        return content
    return b"".join(line + b"\n" for line in content.split(b"\n", count)[:count])
