"""The files of the manifests, cut into splits for tasks; and the lines of a split in blocks."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gitops_connect.checks.large.input_splits.parquet import SUFFIX, groups_of, rows_as_lines
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LineFault, LinesRead

SPLIT_SIZE = 8 * 1024 * 1024
"""Bytes of a split, and about those of a block: they fit into a processor's cache, and Spark moves them in one row."""
MAX_SPLITS = 2**20
"""Splits of one job; splits grow if the files are larger than that."""
MAX_LINE = 16 * 1024 * 1024
"""Bytes. A Kafka record has at most 1 MiB, unless brokers are configured otherwise: no offset is that long."""
_STEP = 1024 * 1024
COMPRESSIONS = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class ManifestReader:
    """The strict reader of manifests, as functions that an executor can import.

    `lines` reads a text in which bytes that are not UTF-8 are lone surrogates (PEP 383). `refuse` says why a file that
    begins with these bytes is not text, if so. `unpack` decompresses; a fault that ends the content early comes last,
    instead of bytes.
    """

    lines: Callable[[str], LinesRead]
    refuse: Callable[[bytes], LineFault | None]
    unpack: Callable[[bytes | mmap.mmap, str], Iterator[bytes | LineFault]]


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

    `fault` is what ended the reading; its line counts from the beginning of the block.
    """

    base: int
    text: bytes
    is_first: bool = False
    fault: LineFault | None = None

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.text.count(b"\n")


def input_splits(manifests: Sequence[LargeManifest], smallest: int = SPLIT_SIZE) -> list[InputSplit]:
    """All splits of all files, current offsets first: the order of splits is the order of places."""
    current = [(number, True, one.current) for number, one in enumerate(manifests) if one.current is not None]
    files = [(number, False, file) for number, one in enumerate(manifests) for file in one.files]
    total = sum(Path(file.path).stat().st_size for _, _, file in (*current, *files))
    size = max(smallest, -(-total // MAX_SPLITS) * 2)
    return [
        split
        for number, is_current, file in (*current, *files)
        for split in _parts(InputSplit(number, is_current, file, size))
    ]


def compression_of(name: str) -> str:
    """The compression of a file by the suffix of its name; empty if it is not compressed."""
    return next((suffix for suffix in COMPRESSIONS if name.lower().endswith(suffix)), "")


def is_parquet(file: LargeFile) -> bool:
    """Whether the file is Parquet, by its path."""
    return file.path.lower().endswith(SUFFIX)


def is_packed(file: LargeFile) -> bool:
    """True if the file's content is larger than the file."""
    return is_parquet(file) or bool(compression_of(file.path))


def blocks_of(split: InputSplit, reader: ManifestReader) -> Iterator[Block]:
    """The lines of a split in blocks. Raises OSError if its file cannot be read."""
    if is_parquet(split.file):
        yield from _of_parquet(split)
        return
    if split.end is not None:
        yield from _plain(split, split.end)
        return
    with Path(split.file.path).open("rb") as stream:
        if not Path(split.file.path).stat().st_size:
            yield from _whole_lines(reader.unpack(b"", compression_of(split.file.path)), split.size)
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _whole_lines(reader.unpack(content, compression_of(split.file.path)), split.size)


def _parts(whole: InputSplit) -> Iterator[InputSplit]:
    if is_parquet(whole.file):
        for start, end in groups_of(whole.file.path, whole.size):
            yield whole._replace(start=start, end=end)
        return
    if compression_of(whole.file.path):
        yield whole
        return
    length = Path(whole.file.path).stat().st_size
    for start in range(0, max(length, 1), whole.size):
        yield whole._replace(start=start, end=min(start + whole.size, length))


def _of_parquet(split: InputSplit) -> Iterator[Block]:
    base = 0
    for found in rows_as_lines(split.file.path, split.start, split.end or 0, MAX_LINE):
        if isinstance(found, LineFault):
            yield Block(base, b"", fault=found)
            return
        yield Block(base, found)
        base += found.count(b"\n")


def _plain(split: InputSplit, end: int) -> Iterator[Block]:
    with Path(split.file.path).open("rb") as stream:
        stream.seek(max(split.start - 1, 0))
        content = stream.read(end - max(split.start - 1, 0))
        if split.start:
            content = content[content.find(b"\n") + 1 :] if b"\n" in content else b""
        if not content:
            yield Block(0, b"", is_first=not split.start)
            return
        rest = []
        length = len(content) - content.rfind(b"\n") - 1
        while not content.endswith(b"\n") and length <= MAX_LINE and (more := stream.read(_STEP)):
            at = more.find(b"\n") + 1
            rest.append(more[: at or len(more)])
            length += len(rest[-1])
            if at:
                break
        yield _finished(0, b"".join((content, *rest)), is_first=not split.start)


def _whole_lines(chunks: Iterable[bytes | LineFault], size: int) -> Iterator[Block]:
    """Blocks of about that size; each begins with the unfinished line of the block before it."""
    base, held = 0, bytearray()
    is_first = True
    for chunk in chunks:
        if isinstance(chunk, LineFault):
            yield Block(base, b"", is_first=is_first, fault=chunk)
            return
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


def _finished(base: int, content: bytes, *, is_first: bool) -> Block:
    """A block that ends in a line feed, added if missing. A line that is too long is a fault: it is no manifest."""
    if not content or content.endswith(b"\n"):
        return Block(base, content, is_first)
    at = content.rfind(b"\n") + 1
    if len(content) - at > MAX_LINE:
        found = f"a line of more than {MAX_LINE // 1024**2} MiB"
        fault = LineFault("manifest/too-large", found, content.count(b"\n") + 1, 1)
        return Block(base, content[:at], is_first, fault)
    return Block(base, content + b"\n", is_first)
