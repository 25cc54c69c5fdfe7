"""A ledger as one JSON document, to move it to another database: complete, checked field by field, without its key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Integer, Table

from gitops_connect.errors import UsageError
from gitops_connect.ledger import archived_pieces
from gitops_connect.ledger.archived_values import read, read_text, written
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
    STOPPED,
    SUSPENSIONS,
)
from gitops_connect.model.offsets import offsets_digest, unpack

FORMAT_VERSION = 6
"""Version 1 had no large operations, 2 no restarts, 3 no rollbacks, 4 no reviews, and 5 no references of secrets.

All can be read.
"""
_SINCE_3 = (RESTARTS, RESTART_REQUESTS)
_SINCE_4 = (CONFIG_HISTORIES, SUSPENSIONS, STOPPED)
_SINCE_5 = (REVIEWED_PLANS, APPROVALS)
TABLES = (OWNERSHIP, OPERATIONS, PIECES, *_SINCE_3, *_SINCE_4, *_SINCE_5, REVISIONS)
"""The tables on which plans depend, and the revisions: not leases, properties, and what only reports the past."""

ArchiveRow = Mapping[str, Any]
"""The columns of one row by name, as the database reads and returns them."""

_DIGITS = 10
"""The width of a number in a sort key, so that 10 comes after 9."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The rows of each table, sorted by their keys, and a fingerprint of the key that their digests were made with."""

    key_fingerprint: str
    rows: Mapping[str, tuple[ArchiveRow, ...]] = field(repr=False)


def in_order(table: Table, rows: Sequence[ArchiveRow]) -> tuple[ArchiveRow, ...]:
    """The rows sorted by the primary key, so that equal ledgers give equal archives."""
    return tuple(sorted(rows, key=lambda row: _key(table, row)))


def write_archive(archive: Archive) -> str:
    """The archive as indented JSON."""
    document: dict[str, Any] = {"format_version": FORMAT_VERSION, "key_fingerprint": archive.key_fingerprint}
    for table in TABLES:
        rows = archive.rows[table.name]
        document[table.name] = [{column.name: written(column, row[column.name]) for column in table.c} for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_archive(text: str, place: str) -> Archive:
    """The archive that `text` contains; `place` is named in messages. Raises UsageError if it is incomplete."""
    try:
        return _read(json.loads(text))
    except (ValueError, RecursionError) as error:
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
    if document["format_version"] < 6:
        document = _with(document, OWNERSHIP, {"secret_references": {}})
    for version, tables in ((3, _SINCE_3), (4, _SINCE_4), (5, _SINCE_5)):
        if document["format_version"] < version:
            document = {**{table.name: [] for table in tables}, **document}
    _require_fields("the document", document, names)
    fingerprint = read_text("key_fingerprint", document["key_fingerprint"])
    rows = {table.name: _rows(table, document[table.name]) for table in TABLES}
    archived_pieces.require_whole(rows[OPERATIONS.name], rows[PIECES.name])
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
    return in_order(table, rows)


def _row(table: Table, found: Any, where: str) -> ArchiveRow:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object")
    _require_fields(where, found, {column.name for column in table.c})
    row = {column.name: read(column, found[column.name], f"{where}.{column.name}") for column in table.c}
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
    """Raise ValueError if fields are missing that are needed to finish a started operation."""
    small = ("digest", "declared", "snapshot")
    large = ("digest", "digest_before", "sent")
    needed = {"in_progress": small if row["entries"] is None else large, "intended": ("digest",)}
    for name in needed.get(row["state"], ()):
        if row[name] is None:
            raise ValueError(f"{where} is {row['state']}, but has no {name}")


def _require_snapshot(row: ArchiveRow, where: str) -> None:
    """Raise ValueError if the snapshot is not what was current before the change: the snapshot is the undo."""
    if row["snapshot"] is None:
        return
    earlier = unpack(row["snapshot"])
    if None in earlier.values() or offsets_digest(earlier) != row["digest_before"]:
        raise ValueError(f"{where}.snapshot: its offsets are not those of digest_before")


def _key(table: Table, row: ArchiveRow) -> tuple[str, ...]:
    return tuple(
        str(row[column.name]).rjust(_DIGITS * isinstance(column.type, Integer)) for column in table.primary_key
    )
