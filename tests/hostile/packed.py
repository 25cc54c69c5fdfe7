"""Zeros, compressed by hand: 10 GB in a few hundred KiB, without writing 10 GB first."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from functools import cache

from standin.raw_answers import head

ZSTD_BLOCK = 128 * 1024
DEFLATE_BLOCK = 64 * 1024 * 1024


@cache
def gzip_of_zeros(size: int) -> bytes:
    """One gzip member without its end; the compressed form of each block is the same."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = packer.compress(bytes(DEFLATE_BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(DEFLATE_BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + more * (size // DEFLATE_BLOCK - 1)


def bomb(status: int = 200) -> Iterator[bytes]:
    """An HTTP answer with 8 GiB of zeros in 8 MiB."""
    zeros = gzip_of_zeros(8 * 1024**3)
    yield head(status, "Content-Encoding: gzip")
    yield zeros


def gigabyte() -> Iterator[bytes]:
    """An HTTP answer with one string of 1 GiB."""
    yield head(200, f"Content-Length: {1024**3}")
    yield b'["'
    yield from itertools.repeat(b"a" * 65536)


def zstd_of(byte: bytes, size: int) -> bytes:
    """One zstd frame (RFC 8878, section 3.1.1) with a window of 2 MiB; each of its blocks repeats one byte."""
    block = struct.pack("<I", (ZSTD_BLOCK << 3) | (1 << 1))[:3] + byte
    last = struct.pack("<I", (ZSTD_BLOCK << 3) | (1 << 1) | 1)[:3] + byte
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * (size // ZSTD_BLOCK - 1) + last
