"""The files of the manifests, cut into splits for tasks: text files by bytes, and Parquet files by row groups."""

from __future__ import annotations

import codecs
import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from gitops_connect.connect.unreadable import TOO_LARGE, Unreadable
from gitops_connect.model.manifests import LargeFile, LineFault
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats.content import fault_of, unpack
from gitops_connect.offsets.spark.layouts import LineBuffer
from gitops_connect.offsets.spark.parquet_rows import ColumnBuffer, groups_of, rows_in, rows_of

SPLIT_SIZE = 8 * 1024 * 1024
"""Bytes of a split, and about those of a block: they fit into a processor's cache, and Spark moves them in one row."""
BUCKET = 192 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 2 million rows, which take 180 MB during the join."""
_CELL = 128 * 1024
"""Bytes of a split for each bucket, at least. With splits of one size, the number of rows that Spark moves, splits
times buckets, would grow with the square of the size."""
MAX_SPLITS = 2**20
"""Splits of one job; splits grow if the files are larger than that."""
_PACKED = 10
"""The factor by which a compressed manifest grows, or a little more."""
_ROW = 128
"""Bytes of a row of Parquet as a line, about."""
_DENSEST = 1000
"""The factor by which a Parquet file grows, at most: the file itself says how many rows it has, and may lie."""
MAX_LINE = 16 * 1024 * 1024
"""Bytes. A Kafka record has at most 1 MiB, unless brokers are configured otherwise: no offset is that long."""


class InputSplit(NamedTuple):
    """A part of a file: the lines that begin in it. `end` is None for a compressed file, which is a single split.

    `size` is the approximate number of bytes of its blocks. For Parquet, `start` and `end` are numbers of row groups.
    """

    manifest: int
    is_current: bool
    file: LargeFile
    size: int = SPLIT_SIZE
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a split: the last line also ends in a line feed. `base`: lines of the split before the block.

    Plain rows of Parquet become text only if it is needed. `fault` is what ended the reading; its line counts from the
    beginning of the block.
    """

    base: int
    data: bytes | ColumnBuffer
    is_first: bool = False
    fault: LineFault | None = None

    @property
    def text(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else self.data.text

    @property
    def size(self) -> int:
        """The number of bytes of the text."""
        return len(self.data) if isinstance(self.data, bytes) else self.data.size

    @property
    def buffer(self) -> LineBuffer | ColumnBuffer:
        """The lines to match."""
        return LineBuffer(self.content) if isinstance(self.data, bytes) else self.data

    @property
    def content(self) -> bytes:
        """The text without a byte order mark."""
        return self.text.removeprefix(codecs.BOM_UTF8) if self.is_first else self.text

    @property
    def lines(self) -> int:
        return self.data.count(b"\n") if isinstance(self.data, bytes) else len(self.data)


def content_size(manifests: Iterable[LargeManifest]) -> int:
    """About how many bytes all files have as lines. Raises OSError."""
    return sum(_content_size(file) for one in manifests for file in one.all_files)


def _content_size(file: LargeFile) -> int:
    size = Path(file.path).stat().st_size
    if file.is_parquet:
        return min(max(rows_in(file.path), 0) * _ROW, size * _DENSEST)
    return size * (_PACKED if file.compression else 1)


def input_splits(manifests: Sequence[LargeManifest], smallest: int = SPLIT_SIZE) -> list[InputSplit]:
    """All splits of all files, current offsets first: the order of splits is the order of places."""
    current = [(number, True, one.current) for number, one in enumerate(manifests) if one.current is not None]
    files = [(number, False, file) for number, one in enumerate(manifests) for file in one.files]
    total = sum(Path(file.path).stat().st_size for _, _, file in (*current, *files))
    size = max(smallest, -(-total // MAX_SPLITS) * 2, -(-total // BUCKET) * _CELL)
    return [
        split
        for number, is_current, file in (*current, *files)
        for split in _parts(InputSplit(number, is_current, file, size))
    ]


def blocks_of(split: InputSplit) -> Iterator[Block]:
    """The lines of a split in blocks. Raises OSError if its file cannot be read."""
    if split.file.is_parquet:
        yield from _of_parquet(split)
        return
    if split.end is not None:
        yield from _plain(split, split.end)
        return
    path = Path(split.file.path)
    with path.open("rb") as stream, ExitStack() as mapped:
        content: bytes | mmap.mmap = b""  # an empty file cannot be mapped
        if path.stat().st_size:
            content = mapped.enter_context(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        yield from _whole_lines(unpack(content, split.file.compression), split.size)


def _parts(whole: InputSplit) -> Iterator[InputSplit]:
    if whole.file.is_parquet:
        for start, end in groups_of(whole.file.path, whole.size):
            yield whole._replace(start=start, end=end)
        return
    if whole.file.compression:
        yield whole
        return
    length = Path(whole.file.path).stat().st_size
    for start in range(0, max(length, 1), whole.size):
        yield whole._replace(start=start, end=min(start + whole.size, length))


def _of_parquet(split: InputSplit) -> Iterator[Block]:
    base = 0
    for found in rows_of(split.file.path, split.start, split.end or 0, MAX_LINE):
        block = Block(base, b"", fault=found) if isinstance(found, LineFault) else Block(base, found)
        yield block
        base += block.lines


def _plain(split: InputSplit, end: int) -> Iterator[Block]:
    """The block is read at once: to join parts of it would take as long as to find its lines."""
    with Path(split.file.path).open("rb") as stream:
        start = _line_from(stream, split.start, end - split.start)
        stop = _line_from(stream, end, MAX_LINE) if start < end else start
        stream.seek(start)
        yield _finished(0, stream.read(stop - start), is_first=not split.start)


def _line_from(stream: IO[bytes], place: int, longest: int) -> int:
    """The position of the first line that begins at `place` or later. The search ends after `longest` bytes."""
    if not place:
        return 0
    stream.seek(place - 1)
    return place - 1 + len(stream.readline(longest + 1))


def _whole_lines(chunks: Iterable[bytes], size: int) -> Iterator[Block]:
    """Blocks of about that size; each begins with the unfinished line of the block before it."""
    base, held = 0, bytearray()
    is_first = True
    try:
        for chunk in chunks:
            held += chunk
            at = held.rfind(b"\n") + 1
            if (len(held) >= size and at) or len(held) - at > MAX_LINE:
                at = at if len(held) - at <= MAX_LINE else len(held)
                block = _finished(base, bytes(held[:at]), is_first=is_first)
                yield block
                if block.fault is not None:
                    return
                base += block.lines
                is_first = False
                del held[:at]
        yield _finished(base, bytes(held), is_first=is_first)
    except Unreadable as error:
        yield Block(base, b"", is_first=is_first, fault=fault_of(error))


def _finished(base: int, content: bytes, *, is_first: bool) -> Block:
    """A block that ends in a line feed, added if missing. A line that is too long is a fault: it is not a manifest."""
    if not content:
        return Block(base, content, is_first)
    is_ended = content.endswith(b"\n")
    at = content.rfind(b"\n", 0, len(content) - 1) + 1
    if len(content) - is_ended - at > MAX_LINE:
        found = f"a line of more than {MAX_LINE // 1024**2} MiB"
        fault = LineFault(TOO_LARGE, found, content.count(b"\n") + 1, 1)
        return Block(base, content[:at], is_first, fault)
    return Block(base, content if is_ended else content + b"\n", is_first)
