"""Bytes of a manifest -> its text: decompressed piece by piece, so that no file becomes larger here than it may."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import zstandard

from gitops_connect.desired import encoding
from gitops_connect.desired.manifests.faults import COMPRESSION, ENCODING, FORMAT, TOO_LARGE, Unreadable
from gitops_connect.desired.refused import Refused

MAX_SIZE = 16 * 1024 * 1024
"""Bytes, before and after decompressing."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_LFS = b"version https://git-lfs.github.com/spec/"
_PIECE = 256
"""Bytes decompressed at a time. zstd makes at most 8 MiB of them: a block of 128 KiB may be written in 4 bytes."""
_MAX_MEMBERS = 1000
"""Compressed files one behind the other, as `cat a.gz b.gz` makes them. Each costs as much as a larger one."""
_MAX_WINDOW = 128 * 1024 * 1024
"""Bytes that zstd may look back: what its own command allows."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def text_of(content: bytes, compression: str) -> str:
    """The text of a file whose name says that it is compressed so (`.gz`, `.zst`, or empty). Raises Unreadable."""
    if len(content) > MAX_SIZE:
        raise _too_large("the file has")
    if content.startswith(_LFS):
        raise Unreadable(FORMAT, "a pointer of Git LFS in place of the file, whose content is not in the repository")
    plain = _decompress(content, compression) if compression else _uncompressed(content)
    try:
        text = encoding.decode(plain)
    except Refused as refused:
        found = refused.summary.partition(": ")[2] or refused.summary
        raise Unreadable(ENCODING, found, refused.place) from refused
    if (at := text.find("\0")) >= 0:
        raise Unreadable(ENCODING, "a NUL character, as in UTF-16 or in a binary file", encoding.place_after(text[:at]))
    return text


def _uncompressed(content: bytes) -> bytes:
    for magic, name, suffix in ((_GZIP, "gzip", ".gz"), (_ZSTD, "zstd", ".zst")):
        if content.startswith(magic):
            raise Unreadable(COMPRESSION, f"{name}, though the file's name does not end in {suffix}")
    return content


def _decompress(content: bytes, compression: str) -> bytes:
    magic, start = (_GZIP, _start_gzip) if compression == ".gz" else (_ZSTD, _start_zstd)
    if not content.startswith(magic):
        found = "nothing" if not content else f"bytes that do not begin as a {compression} file does"
        raise Unreadable(COMPRESSION, found)
    plain = bytearray()
    try:
        for piece in _pieces(content, magic, start):
            plain += piece
            if len(plain) > MAX_SIZE:
                raise _too_large("the file has, decompressed,")
    except (zlib.error, zstandard.ZstdError) as error:
        raise Unreadable(COMPRESSION, f"damage after {len(plain)} bytes of content ({error})") from error
    return bytes(plain)


def _pieces(content: bytes, magic: bytes, start: Callable[[], _Decompressor]) -> Iterator[bytes]:
    member, members, at = start(), 1, 0
    while at < len(content):
        if member.eof:
            _expect_member(content[at : at + len(magic)], magic, members)
            member, members = start(), members + 1
        piece = content[at : at + _PIECE]
        yield member.decompress(piece)
        at += len(piece) - len(member.unused_data)
    if not member.eof:
        raise Unreadable(COMPRESSION, "the end of the file in the midst of compressed content: it is cut off")


def _expect_member(found: bytes, magic: bytes, members: int) -> None:
    if found != magic:
        raise Unreadable(COMPRESSION, "something else behind the compressed content")
    if members == _MAX_MEMBERS:
        raise Unreadable(COMPRESSION, f"more than {_MAX_MEMBERS} compressed files one behind the other")


def _start_gzip() -> _Decompressor:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _start_zstd() -> _Decompressor:
    return zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()


def _too_large(what: str) -> Unreadable:
    return Unreadable(TOO_LARGE, f"{what} more than {MAX_SIZE // 1024**2} MiB")
