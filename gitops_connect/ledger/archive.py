"""A ledger as one JSON document, to move it to another database: complete, checked field by field, without its key."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, Connection, Table, delete, insert, select

from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.column_types import Count, read_text, type_of
from gitops_connect.ledger.pieces import BlockCounts, Damaged, StoredBlock
from gitops_connect.ledger.schema import FINGERPRINT
from gitops_connect.ledger.tables import (
    APPROVALS,
    CONFIG_HISTORIES,
    OPERATIONS,
    OWNERSHIP,
    PIECES,
    RESTART_REQUESTS,
    RESTARTS,
    REVIEWED_PLANS,
    REVISIONS,
    ROLLOUTS,
    STOPPED,
    SUSPENSIONS,
    OffsetsPart,
    get_property,
)
from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import offsets_digest, unpack

FORMAT_VERSION = 8
"""Version 1 had no large offset changes, 2 no restarts, 3 no rollbacks, 4 no reviews, 5 no references of secrets, 6 no
decisions about rollouts, and 7 no effects of offset changes.

All can be read.
"""
_SINCE_3 = (RESTARTS, RESTART_REQUESTS)
_SINCE_4 = (CONFIG_HISTORIES, SUSPENSIONS, STOPPED)
_SINCE_5 = (REVIEWED_PLANS, APPROVALS)
_SINCE_7 = (ROLLOUTS,)
TABLES = (OWNERSHIP, OPERATIONS, PIECES, *_SINCE_3, *_SINCE_4, *_SINCE_5, *_SINCE_7, REVISIONS)
"""The tables on which plans depend, and the revisions: not leases, properties, and what only reports the past."""

ArchiveRow = Mapping[str, Any]
"""The columns of one row by name, as the database reads and returns them."""
ArchiveRows = Sequence[ArchiveRow]

_DIGITS = 10
"""The width of a number in a sort key, so that 10 comes after 9."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The rows of each table, sorted by their keys, and a fingerprint of the key that their digests were made with."""

    key_fingerprint: str
    rows: Mapping[str, tuple[ArchiveRow, ...]] = field(repr=False)


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
    found: dict[str, ArchiveRows] = {
        table.name: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES
    }
    found[PIECES.name] = _referenced(found[OPERATIONS.name], found[PIECES.name])
    return Archive(fingerprint, {table.name: _in_order(table, found[table.name]) for table in TABLES})


def put_in(connection: Connection, archive: Archive, *, replace: bool) -> Restored:
    """Replace the content of the ledger with the content of the archive.

    Digests that were made with another key are left out: they would mark everything as changed. Raises UsageError if
    the ledger already has other content, unless `replace` is True.
    """
    there = take_out(connection)
    rows = dict(archive.rows)
    dropped = 0
    if archive.key_fingerprint != there.key_fingerprint:
        kept = [{**row, "desired": None, "applied": {}} for row in rows[OWNERSHIP.name]]
        dropped = sum(one != row for one, row in zip(kept, rows[OWNERSHIP.name], strict=True))
        rows[OWNERSHIP.name] = tuple(kept)
    unchanged = rows == there.rows
    if not unchanged:
        if any(there.rows.values()) and not replace:
            counts = ", ".join(f"{name}: {count}" for name, count in _counts(there.rows).items())
            raise UsageError(
                f"the ledger already contains other data ({counts}); export it if you need it, then"
                " import with --replace, which deletes that data"
            )
        for table in TABLES:
            connection.execute(delete(table))
            if found := rows[table.name]:
                connection.execute(insert(table), [dict(row) for row in found])
    return Restored(_counts(rows), dropped, unchanged)


def _counts(rows: Mapping[str, ArchiveRows]) -> dict[str, int]:
    """The rows of each table, without pieces: those belong to their offset changes."""
    return {name: len(found) for name, found in rows.items() if name != PIECES.name}


def write_archive(archive: Archive) -> str:
    document: dict[str, Any] = {"format_version": FORMAT_VERSION, "key_fingerprint": archive.key_fingerprint}
    for table in TABLES:
        rows = archive.rows[table.name]
        document[table.name] = [{column.name: _written(column, row) for column in table.c} for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _written(column: Column[Any], row: ArchiveRow) -> Any:
    value = row[column.name]
    return None if value is None else type_of(column).to_json(value)


def read_archive(text: str, place: str) -> Archive:
    """The archive that `text` contains; `place` is named in messages. Raises UsageError if it is incomplete."""
    try:
        return _read(parse_json(text))
    except ValueError as error:
        raise UsageError(
            f"{place} is damaged, or is not an export of the ledger: {error}; nothing was imported"
        ) from error


def _read(document: Any) -> Archive:
    names = {"format_version", "key_fingerprint", *(table.name for table in TABLES)}
    if not isinstance(document, dict) or "format_version" not in document:
        raise ValueError("expected an object with a format_version")
    if document["format_version"] not in range(1, FORMAT_VERSION + 1):
        raise ValueError(
            f"it has format_version {document['format_version']!r}, but this gitops-connect reads {FORMAT_VERSION}"
        )
    if document["format_version"] == 1:
        document = {PIECES.name: [], **_with(document, OPERATIONS, {"entries": None, "sent": None})}
    if document["format_version"] < 8:
        document = _with(document, OPERATIONS, {"lacks": [], "effect": None})
    if document["format_version"] < 6:
        document = _with(document, OWNERSHIP, {"secret_references": {}})
    for version, tables in ((3, _SINCE_3), (4, _SINCE_4), (5, _SINCE_5), (7, _SINCE_7)):
        if document["format_version"] < version:
            document = {**{table.name: [] for table in tables}, **document}
    _require_fields("the document", document, names)
    fingerprint = read_text("key_fingerprint", document["key_fingerprint"])
    rows = {table.name: _rows(table, document[table.name]) for table in TABLES}
    _require_whole(rows[OPERATIONS.name], rows[PIECES.name])
    return Archive(fingerprint, rows)


def _with(document: Mapping[str, Any], table: Table, columns: ArchiveRow) -> Mapping[str, Any]:
    """The document with these values for columns of a table that its version did not have."""
    rows = document.get(table.name)
    if isinstance(rows, list):
        rows = [{**columns, **row} if isinstance(row, dict) else row for row in rows]
    return {**document, table.name: rows}


def _rows(table: Table, found: Any) -> tuple[ArchiveRow, ...]:
    if not isinstance(found, list):
        raise ValueError(f"{table.name}: expected a list")
    rows = [_row(table, value, f"{table.name}[{number}]") for number, value in enumerate(found)]
    key, times = max(Counter(_key(table, row) for row in rows).items(), key=lambda one: one[1], default=((), 1))
    if times > 1:
        raise ValueError(f"{table.name}: {' of '.join(reversed(key))} occurs {times} times")
    return _in_order(table, rows)


def _row(table: Table, found: Any, where: str) -> ArchiveRow:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object")
    _require_fields(where, found, {column.name for column in table.c})
    row = {
        column.name: None
        if found[column.name] is None and column.nullable
        else type_of(column).from_json(f"{where}.{column.name}", found[column.name])
        for column in table.c
    }
    if table is OPERATIONS:
        _require_finishable(row, where)
        _require_snapshot(row, where)
    return row


def _require_fields(where: str, found: Mapping[str, Any], expected: set[str]) -> None:
    if missing := expected - found.keys():
        raise ValueError(f"{where} has no {min(missing)}")
    if unknown := found.keys() - expected:
        raise ValueError(f"{where} has an unknown field {min(unknown)!r}")


def _require_finishable(row: ArchiveRow, where: str) -> None:
    """Raise ValueError if fields are missing that are needed to finish a started offset change."""
    small = ("digest", "declared", "snapshot")
    large = ("digest", "digest_before", "sent")
    needed = {
        OffsetChangeState.OPEN: small if row["entries"] is None else large,
        OffsetChangeState.INTENDED: ("digest",),
    }
    for name in needed.get(row["state"], ()):
        if row[name] is None:
            raise ValueError(f"{where} is {row['state'].value}, but has no {name}")


def _require_snapshot(row: ArchiveRow, where: str) -> None:
    """Raise ValueError if the snapshot is not what was current before the change: the snapshot is the undo."""
    if row["snapshot"] is None:
        return
    earlier = unpack(row["snapshot"])
    if None in earlier.values() or offsets_digest(earlier) != row["digest_before"]:
        raise ValueError(f"{where}.snapshot: its offsets are not those of digest_before")


def _in_order(table: Table, rows: ArchiveRows) -> tuple[ArchiveRow, ...]:
    """The rows sorted by the primary key, so that equal ledgers give equal archives."""
    return tuple(sorted(rows, key=lambda row: _key(table, row)))


def _key(table: Table, row: ArchiveRow) -> tuple[str, ...]:
    return tuple(
        str(_written(column, row)).rjust(_DIGITS * isinstance(column.type, Count)) for column in table.primary_key
    )


def _referenced(offset_changes: ArchiveRows, pieces: ArchiveRows) -> ArchiveRows:
    """The pieces without those that are left over from an interrupted attempt."""
    known = {(row["cluster"], row["name"]): row for row in offset_changes}
    return [piece for piece in pieces if _is_referenced(known.get((piece["cluster"], piece["name"])), piece["part"])]


def _is_referenced(offset_change: ArchiveRow | None, part: OffsetsPart) -> bool:
    if offset_change is None:
        return False
    if part is OffsetsPart.DECLARED:
        return offset_change["entries"] is not None
    return offset_change["digest_before"] is not None and offset_change["snapshot"] is None


def _require_whole(offset_changes: ArchiveRows, pieces: ArchiveRows) -> None:
    """Raise ValueError if declared offsets (which are sent) or earlier offsets (which are the undo) are incomplete."""
    found: dict[tuple[str, str, OffsetsPart], list[ArchiveRow]] = defaultdict(list)
    for piece in pieces:
        found[piece["cluster"], piece["name"], piece["part"]].append(piece)
    for row in offset_changes:
        key = row["cluster"], row["name"]
        of = f"of {row['name']} on {row['cluster']}"
        declared, before = (found.pop((*key, part), []) for part in (OffsetsPart.DECLARED, OffsetsPart.BEFORE))
        sent = _joined(declared, f"the declared offsets {of}")
        if sent.entries != (row["entries"] or 0) or (row["sent"] or 0) > sent.entries:
            raise ValueError(f"the declared offsets {of}: found {sent.entries} entries, expected {row['entries']}")
        earlier = _joined(before, f"the earlier offsets {of}")
        needed = row["entries"] is not None and row["state"] is OffsetChangeState.OPEN
        if (before or needed) and earlier.digest != row["digest_before"]:
            raise ValueError(f"the earlier offsets {of} are not those of digest_before")
    for cluster, name, part in found:
        raise ValueError(f"it contains {part.value} offsets of {name} on {cluster}, but no such operation")


def _joined(pieces: ArchiveRows, what: str) -> BlockCounts:
    if [piece["number"] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(f"{what}: a piece is missing")
    seen = BlockCounts()
    for piece in pieces:
        try:
            seen.lines(StoredBlock(piece["entries"], piece["content"]))
        except Damaged as error:
            number = piece["number"]
            raise ValueError(f"{what}: piece {number} does not have {piece['entries']} entries") from error
    return seen
