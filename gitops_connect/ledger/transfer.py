"""Taking everything out of a ledger, and putting it into another one: each in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.archive import TABLES, Archive, ArchiveRow, in_order
from gitops_connect.ledger.archived_pieces import spoken_of
from gitops_connect.ledger.key import FINGERPRINT
from gitops_connect.ledger.schema import OPERATIONS, OWNERSHIP, PIECES, get_property


@dataclass(frozen=True, slots=True)
class Restored:
    """What an import did: how many rows of each table there are now, and for how many connectors digests were left out.

    `unchanged` is True where everything stood there before.
    """

    rows: Mapping[str, int]
    without_digests: int
    unchanged: bool


def take_out(connection: Connection) -> Archive:
    """Everything but the leases and the key."""
    fingerprint = get_property(connection, FINGERPRINT)
    if fingerprint is None:
        raise LedgerUnusable("the fingerprint of the key was removed from the ledger during this command; run it again")
    found: dict[str, Sequence[ArchiveRow]] = {
        table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES
    }
    found[PIECES.name] = spoken_of(found[OPERATIONS.name], found[PIECES.name])
    return Archive(fingerprint, {table.name: in_order(table, found[table.name]) for table in TABLES})


def put_in(connection: Connection, archive: Archive, *, replace: bool) -> Restored:
    """Everything that is in the archive, and nothing else.

    Digests that were made with another key are left out: they would call everything changed. Raises UsageError where
    the ledger holds something else already, unless that is to be replaced.
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
    """Pieces say nothing to anybody: they belong to their operations."""
    return {name: len(found) for name, found in rows.items() if name != PIECES.name}


def _counted(archive: Archive) -> str:
    return ", ".join(f"{name}: {count}" for name, count in _counts(archive.rows).items())
