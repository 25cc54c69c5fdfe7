"""Exports the whole content of a ledger, and imports it into another ledger: each in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.archive import TABLES, Archive, ArchiveRow, in_order
from gitops_connect.ledger.archived_pieces import referenced
from gitops_connect.ledger.key import FINGERPRINT
from gitops_connect.ledger.tables import OPERATIONS, OWNERSHIP, PIECES, get_property


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of an import: the rows of each table now, and for how many connectors digests were left out.

    `unchanged` is True if the ledger already had exactly this content.
    """

    rows: Mapping[str, int]
    without_digests: int
    unchanged: bool


def take_out(connection: Connection) -> Archive:
    """The whole content of the ledger, except its leases and its key."""
    fingerprint = get_property(connection, FINGERPRINT)
    if fingerprint is None:
        raise LedgerUnusable("the fingerprint of the key was removed from the ledger during this command; run it again")
    found: dict[str, Sequence[ArchiveRow]] = {
        table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES
    }
    found[PIECES.name] = referenced(found[OPERATIONS.name], found[PIECES.name])
    return Archive(fingerprint, {table.name: in_order(table, found[table.name]) for table in TABLES})


def put_in(connection: Connection, archive: Archive, *, replace: bool) -> Restored:
    """Replace the content of the ledger with the content of the archive.

    Digests that were made with another key are left out: they would mark everything as changed. Raises UsageError if
    the ledger already has other content, unless `replace` is True.
    """
    there = take_out(connection)
    rows = dict(archive.rows)
    dropped = 0
    if archive.key_fingerprint != there.key_fingerprint:
        kept = [_without_digests(row) for row in rows[OWNERSHIP.name]]
        dropped = sum(one != row for one, row in zip(kept, rows[OWNERSHIP.name], strict=True))
        rows[OWNERSHIP.name] = tuple(kept)
    unchanged = rows == there.rows
    if not unchanged:
        if any(there.rows.values()) and not replace:
            raise UsageError(
                f"the ledger already contains other data ({_counted(there)}); export it if you need it, then"
                " import with --replace, which deletes that data"
            )
        _exchange(connection, rows)
    return Restored(_counts(rows), dropped, unchanged)


def _exchange(connection: Connection, rows: Mapping[str, tuple[ArchiveRow, ...]]) -> None:
    for table in TABLES:
        connection.execute(delete(table))
        if found := rows[table.name]:
            connection.execute(insert(table), [dict(row) for row in found])


def _without_digests(row: ArchiveRow) -> dict[str, Any]:
    return {**row, "desired": None, "applied": "{}"}


def _counts(rows: Mapping[str, Sequence[ArchiveRow]]) -> dict[str, int]:
    """The rows of each table, without pieces: those belong to their operations."""
    return {name: len(found) for name, found in rows.items() if name != PIECES.name}


def _counted(archive: Archive) -> str:
    return ", ".join(f"{name}: {count}" for name, count in _counts(archive.rows).items())
