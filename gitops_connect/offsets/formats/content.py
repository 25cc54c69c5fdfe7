"""Decodes the bytes of a manifest: decompressed in steps, so that no content exceeds the limit in memory."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Protocol

from gitops_connect.connect import unreadable
from gitops_connect.connect.unreadable import COMPRESSION, ENCODING, FORMAT, START, TOO_LARGE, Place, Unreadable
from gitops_connect.documents.encoding import Refused, place_after, refuse_others
from gitops_connect.model.manifests import LineFault

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_SIZE = 16 * 1024 * 1024
"""Bytes, before and after decompression."""

_MAGIC = {".gz": re.compile(rb"\x1f\x8b"), ".zst": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")}
"""The first bytes of each format. The second pattern of zstd is a skippable frame, as pzstd writes them."""
_LFS = b"version https://git-lfs.github.com/spec/"
_PIECE = 256
"""Bytes decompressed at a time. zstd produces at most 8 MiB of them: 4 bytes may contain a block of 128 KiB."""
_STEP = 256 * 1024
"""Bytes read at a time if the file is not compressed."""
_LONGEST_MARK = 4
"""Bytes of a byte order mark, or of the beginning of a compressed file."""
_MOST_TIMES = 1000
"""How many times larger than the file its content may be. Offsets in lines become 16 to 120 times smaller."""
_MAX_MEMBERS = 1000
"""Concatenated compressed files, as `cat a.gz b.gz` makes them. Each costs as much as a larger one."""
_LARGEST_WINDOW: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
"""zstd may look back 2^27 bytes: the limit of its own command."""
_PACKED: Mapping[int, int] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 1,
}
"""Lines of offsets become about 16 times smaller; with level 9, 24 times smaller in twice the time."""
MAX_COUNTED = 1000
"""Faults after which reading stops: it is another kind of file."""
NO_LIMIT = sys.maxsize
"""For a part of a file: all parts together may have any number of faults."""


class Content(Protocol):
    """The content of a file, in memory or not: bytes, or an object that returns slices of bytes."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


_START: Mapping[str, Callable[[], _Decompressor]] = {
    ".gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    ".zst": lambda: zstd.ZstdDecompressor(options=_LARGEST_WINDOW),
}


def text_of(content: bytes, compression: str, at_most: int = MAX_SIZE) -> tuple[str, int]:
    """The text of a file with that compression in its name (`.gz`, `.zst`, or empty), and its size in bytes.

    Raises Unreadable, also if it is larger than `at_most`, before or after decompression.
    """
    if len(content) > at_most:
        raise _too_large("the file has", at_most)
    plain = bytearray()
    for piece in unpack(content, compression):
        plain += piece
        if len(plain) > at_most:
            refuse_nul(plain.decode(errors="replace"))  # 10 GB of zeros are 300 KB compressed
            raise _too_large("the decompressed file has", at_most)
    return decode(bytes(plain)), max(len(plain), len(content))


def decode(content: bytes) -> str:
    """The text in these bytes. Raises Unreadable for another encoding.

    A byte that is not UTF-8 becomes a lone surrogate (PEP 383): only its entry cannot be read.
    """
    try:
        refuse_others(content)
    except Refused as refused:
        raise _no_utf8(refused) from refused
    return content.decode(errors="surrogateescape").removeprefix(unreadable.MARK)


def refuse_nul(text: str) -> None:
    """Raise Unreadable for a NUL character: the content is binary."""
    if (at := text.find("\0")) >= 0:
        raise Unreadable(ENCODING, unreadable.NUL, place_after(text[:at]))


def texts(packed: Content, compression: str) -> Iterator[str]:
    """The text of a file in pieces, decoded as by `text_of`, of any size. Raises Unreadable."""
    pieces = unpack(packed, compression)
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= _LONGEST_MARK:
            break
    try:
        refuse_others(first)
        yield from unreadable.texts(chain([first], pieces), "surrogateescape")
    except Refused as refused:
        _read_on(pieces)
        raise _no_utf8(refused) from refused
    except Unreadable:
        _read_on(pieces)
        raise


def _read_on(pieces: Iterator[bytes]) -> None:
    """Read the rest: if it is damaged, that is the cause of an earlier error. Raises Unreadable for damage."""
    for _ in pieces:
        pass


def _no_utf8(refused: Refused) -> Unreadable:
    return Unreadable(ENCODING, refused.summary.partition(": ")[2] or refused.summary, refused.place)


def unpack(content: Content, compression: str) -> Iterator[bytes]:
    """The decompressed content of a file in pieces of a few MiB at most. Raises Unreadable."""
    if content[: len(_LFS)] == _LFS:
        raise Unreadable(FORMAT, "it is a Git LFS pointer, and the content of the file is not in the repository")
    if not compression:
        _refuse_compressed(content)
        yield content[:_STEP]
        for at in range(_STEP, len(content), _STEP):
            yield content[at : at + _STEP]
        return
    if not _begins(content, 0, compression):
        found = "it is empty" if not len(content) else f"it does not begin like a {compression} file"
        raise Unreadable(COMPRESSION, found)
    done = 0
    try:
        for piece, read in _pieces(content, compression):
            done += len(piece)
            if done > max(MAX_SIZE, _MOST_TIMES * read):
                found = f"its content is more than {_MOST_TIMES:,} times larger than the file, up to byte {read:,}"
                raise Unreadable(COMPRESSION, found)
            yield piece
    except (zlib.error, zstd.ZstdError) as error:
        raise Unreadable(COMPRESSION, f"it is damaged after {done} bytes of content ({error})") from error


def _refuse_compressed(content: Content) -> None:
    for suffix in _MAGIC:
        if _begins(content, 0, suffix):
            raise Unreadable(COMPRESSION, f"its content is compressed, but its name does not end in {suffix}")


def _begins(content: Content, at: int, compression: str) -> bool:
    return _MAGIC[compression].match(content[at : at + _LONGEST_MARK]) is not None


def _pieces(content: Content, compression: str) -> Iterator[tuple[bytes, int]]:
    """The decompressed pieces, each with the number of bytes that were read for them and those before."""
    start = _START[compression]
    member, members, at = start(), 1, 0
    while at < len(content):
        if member.eof:
            if not _begins(content, at, compression):
                raise Unreadable(COMPRESSION, "other data follows the compressed content")
            if members == _MAX_MEMBERS:
                raise Unreadable(COMPRESSION, f"it has more than {_MAX_MEMBERS} compressed members")
            member, members = start(), members + 1
        piece = content[at : at + _PIECE]
        plain = member.decompress(piece)
        at += len(piece) - len(member.unused_data)
        yield plain, at
    if not member.eof:
        raise Unreadable(COMPRESSION, "the file ends in the middle of the compressed content")


def _too_large(what: str, at_most: int) -> Unreadable:
    found = what if at_most == MAX_SIZE else "the files together have"
    return Unreadable(TOO_LARGE, f"{found} more than {MAX_SIZE // 1024**2} MiB")


def packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a `.zst` file, as one frame; only its window, a few MiB, is in memory."""
    packer = zstd.ZstdCompressor(options=_PACKED)
    for block in blocks:
        if part := packer.compress(block):
            yield part
    yield packer.flush()


def fault_of(error: Unreadable) -> LineFault:
    return LineFault(error.rule, error.found, *error.place)


def fault_at_start(content: bytes) -> LineFault | None:
    """Why a file that begins with these bytes is not text."""
    try:
        next(unpack(content, ""), None)
        decode(content[:_LONGEST_MARK])
    except Unreadable as error:
        return fault_of(error)
    return None


class Faults:
    """The faults of one manifest, in the order in which they were found; `path` is the file that is being read."""

    def __init__(self, most: int = MAX_COUNTED) -> None:
        self.path = ""
        self.listed: list[tuple[str, LineFault]] = []
        """All faults, each with its file; for a rule with many violations, the rules report the first ones."""
        self.given_up = False
        """Whether there are too many faults to continue."""
        self._most = most

    def add(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        """Add a fault. Raises Unreadable if there are too many to continue."""
        if len(self.listed) >= self._most:
            self.given_up = True
            raise Unreadable(FORMAT, f"{self._most} places in it cannot be read, and the rest was skipped", place)
        self.listed.append((self.path, LineFault(rule, found, *place)))

    def add_doubts(self, doubts: Iterable[tuple[str, str]], place: Place) -> None:
        """Add the faults of a value that begins there. Raises Unreadable."""
        for rule, found in doubts:
            self.add(rule, found, place)

    def add_last(self, error: Unreadable) -> None:
        self.listed.append((self.path, fault_of(error)))
