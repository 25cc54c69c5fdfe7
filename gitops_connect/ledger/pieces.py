"""The offsets of large offset changes: lines in pieces, so that all of them are never in memory at once.

Each piece is written and read in its own transaction. On SQLite, one transaction over all pieces would block every
other user of the database, including the thread that renews the lease.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from gitops_connect.ledger.tables import PIECES, OffsetsPart
from gitops_connect.model.names import ClusterName, Digest, OffsetChangeName

PIECE = 2 << 20
"""Bytes of lines in a piece, before compression; a longer line is a piece by itself."""


class Damaged(Exception):
    """A piece is missing, or is not what was written."""


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """Whole lines, compressed, and their number."""

    entries: int
    content: bytes


class PartKey(NamedTuple):
    """One part of one offset change, by the names of the columns."""

    cluster: ClusterName
    name: OffsetChangeName
    part: OffsetsPart


def piece_of(lines: bytes) -> StoredBlock:
    """Whole lines as one piece; equal lines give equal bytes with the same zlib."""
    return StoredBlock(lines.count(b"\n"), zlib.compress(lines))


class BlockCounts:
    """Cuts lines into pieces, or joins pieces to lines, and counts the lines and their SHA-256."""

    def __init__(self) -> None:
        self.entries = 0
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> Digest:
        return Digest(self._digest.hexdigest())

    def cut(self, blocks: Iterable[bytes], size: int = PIECE) -> Iterator[StoredBlock]:
        """Pieces of about `size` bytes of whole lines; `blocks` may be of any size, and end anywhere."""
        rest = bytearray()
        for block in blocks:
            rest += block
            while len(rest) >= size:
                end = rest.rfind(b"\n", 0, size) + 1 or rest.find(b"\n", size) + 1
                if not end:
                    break
                yield self._piece(bytes(memoryview(rest)[:end]))
                del rest[:end]
        if rest:
            yield self._piece(bytes(rest) if rest.endswith(b"\n") else bytes(rest) + b"\n")

    def lines(self, piece: StoredBlock | None) -> bytes:
        if piece is None:
            raise Damaged("a piece is missing")
        try:
            lines = zlib.decompress(piece.content)
        except zlib.error as error:
            raise Damaged(str(error)) from error
        if self._count(lines) != piece.entries or not lines.endswith(b"\n"):
            raise Damaged(f"expected {piece.entries:,} complete lines")
        return lines

    def _piece(self, lines: bytes) -> StoredBlock:
        self._count(lines)
        return piece_of(lines)

    def _count(self, lines: bytes) -> int:
        entries = lines.count(b"\n")
        self.entries += entries
        self._digest.update(lines)
        return entries


def put(connection: Connection, key: PartKey, number: int, piece: StoredBlock) -> None:
    columns = {"number": number, "entries": piece.entries, "content": piece.content}
    connection.execute(insert(PIECES).values(**key._asdict(), **columns))


def get(connection: Connection, key: PartKey, number: int) -> StoredBlock | None:
    """Read one piece; None after the last one."""
    row = connection.execute(select(PIECES).filter_by(**key._asdict(), number=number)).one_or_none()
    return None if row is None else StoredBlock(row.entries, row.content)


def count(connection: Connection, key: PartKey) -> tuple[int, int]:
    """The number of pieces, and the number of entries in them."""
    sums = select(func.count(), func.coalesce(func.sum(PIECES.c.entries), 0)).select_from(PIECES)
    pieces, entries = connection.execute(sums.filter_by(**key._asdict())).one()
    return int(pieces), int(entries)


def remove(connection: Connection, cluster: ClusterName, name: OffsetChangeName, *parts: OffsetsPart) -> None:
    """Delete the pieces of these parts of an offset change."""
    these = delete(PIECES).filter_by(cluster=cluster, name=name).where(PIECES.c.part.in_(parts))
    connection.execute(these)
