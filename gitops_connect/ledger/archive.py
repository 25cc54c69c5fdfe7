"""A ledger as one JSON document, to move it to another database: complete, checked field by field, without its key."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import Boolean, Column, Integer, LargeBinary, Table

from gitops_connect.errors import UsageError
from gitops_connect.ledger import archived_pieces
from gitops_connect.ledger.config_histories import is_config_history
from gitops_connect.ledger.pieces import OffsetsPart
from gitops_connect.ledger.tables import (
    CONFIG_HISTORIES,
    OPERATIONS,
    OWNERSHIP,
    PIECES,
    RESTART_REQUESTS,
    RESTARTS,
    REVISIONS,
    STOPPED,
    SUSPENSIONS,
    UtcTime,
)
from gitops_connect.model.canonical import canonical
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.offsets import OffsetPatch, offsets_digest, pack, unpack
from gitops_connect.model.operations import Acknowledgement, OperationKind, OperationState
from gitops_connect.model.ownership import Origin
from gitops_connect.model.restarts import RestartKind

FORMAT_VERSION = 4
"""Version 1 had no large operations, version 2 no restarts, and version 3 no rollbacks. All can be read."""
_SINCE_3 = (RESTARTS, RESTART_REQUESTS)
_SINCE_4 = (CONFIG_HISTORIES, SUSPENSIONS, STOPPED)
TABLES = (OWNERSHIP, OPERATIONS, PIECES, *_SINCE_3, *_SINCE_4, REVISIONS)
"""The tables on which plans depend, and the revisions: not leases, properties, and what only reports the past."""

ArchiveRow = Mapping[str, Any]
"""The columns of one row by name, as the database reads and returns them."""

_LARGEST = 2**31 - 1
"""The largest INTEGER of PostgreSQL."""
_DIGITS = 10
"""The width of a number in a sort key, so that 10 comes after 9."""


class _Mark(Enum):
    """The kinds of a revision."""

    ATTEMPTED = "attempted"
    APPLIED = "applied"


_WORDS: Mapping[Column[Any], type[Enum]] = {
    OWNERSHIP.c.origin: Origin,
    OWNERSHIP.c.on_delete: OnDelete,
    OPERATIONS.c.kind: OperationKind,
    OPERATIONS.c.state: OperationState,
    PIECES.c.part: OffsetsPart,
    RESTART_REQUESTS.c.kind: RestartKind,
    STOPPED.c.returns_to: TargetState,
    REVISIONS.c.kind: _Mark,
}


_JSON = {OWNERSHIP.c.applied, OPERATIONS.c.acknowledged, CONFIG_HISTORIES.c.history}


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
        document[table.name] = [{column.name: _written(column, row[column.name]) for column in table.c} for row in rows]
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
        document = _of_version_1(document)
    for version, tables in ((3, _SINCE_3), (4, _SINCE_4)):
        if document["format_version"] < version:
            document = {**{table.name: [] for table in tables}, **document}
    _require_fields("the document", document, names)
    fingerprint = _text("key_fingerprint", document["key_fingerprint"])
    rows = {table.name: _rows(table, document[table.name]) for table in TABLES}
    archived_pieces.require_whole(rows[OPERATIONS.name], rows[PIECES.name])
    return Archive(fingerprint, rows)


def _of_version_1(document: Mapping[str, Any]) -> Mapping[str, Any]:
    operations = document.get(OPERATIONS.name)
    if isinstance(operations, list):
        operations = [{"entries": None, "sent": None, **row} if isinstance(row, dict) else row for row in operations]
    return {PIECES.name: [], **document, OPERATIONS.name: operations}


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
    row = {column.name: _value(column, found[column.name], f"{where}.{column.name}") for column in table.c}
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


def _written(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, UtcTime):
        return value.isoformat()
    if isinstance(column.type, LargeBinary):
        return base64.b64encode(value).decode()
    if column in _JSON:
        return json.loads(value)
    return value


def _value(column: Column[Any], found: Any, where: str) -> Any:
    if found is None and column.nullable:
        return None
    return _reader(column)(where, found)


def _reader(column: Column[Any]) -> Callable[[str, Any], Any]:
    if column in _WORDS:
        return lambda where, found: _word(where, found, _WORDS[column])
    if column is OWNERSHIP.c.applied:
        return _digests
    if column is OPERATIONS.c.acknowledged:
        return _acknowledgements
    if column is PIECES.c.content:
        return _lines
    if column is CONFIG_HISTORIES.c.history:
        return _history
    readers: dict[type, Callable[[str, Any], Any]] = {
        UtcTime: _time,
        LargeBinary: _offsets,
        Boolean: _truth,
        Integer: _count,
    }
    return readers.get(type(column.type), _text)


def _text(where: str, found: Any) -> str:
    if not isinstance(found, str) or "\0" in found:
        raise ValueError(f"{where}: expected a string, found {_shown(found)}")
    found.encode()  # half of a surrogate pair, which no database accepts, is a ValueError
    return found


def _word(where: str, found: Any, words: type[Enum]) -> str:
    known = [word.value for word in words]
    if found not in known:
        raise ValueError(f"{where}: expected one of {', '.join(known)}, found {_shown(found)}")
    return str(found)


def _time(where: str, found: Any) -> datetime:
    try:
        time = datetime.fromisoformat(_text(where, found))
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(f"{where}: expected a time such as 2026-11-21T10:00:00+00:00, found {_shown(found)}")
    return time.astimezone(UTC)


def _truth(where: str, found: Any) -> bool:
    if not isinstance(found, bool):
        raise ValueError(f"{where}: expected true or false, found {_shown(found)}")
    return found


def _count(where: str, found: Any) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _LARGEST:
        raise ValueError(f"{where}: expected a number from 0 to {_LARGEST}, found {_shown(found)}")
    return found


def _digests(where: str, found: Any) -> str:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object, found {_shown(found)}")
    return canonical({_text(where, key): _text(f"{where}.{key}", value) for key, value in found.items()}).decode()


def _acknowledgements(where: str, found: Any) -> str:
    if not isinstance(found, list):
        raise ValueError(f"{where}: expected a list, found {_shown(found)}")
    return json.dumps(sorted(_word(where, word, Acknowledgement) for word in found))


def _history(where: str, found: Any) -> str:
    if not is_config_history(json.dumps(found)):
        raise ValueError(f"{where}: expected the configs of a connector, found {_shown(found)}")
    return canonical(found).decode()


def _offsets(where: str, found: Any) -> bytes:
    """Unpack and pack again: equal offsets are equal bytes, no matter which zlib wrote the archive."""
    try:
        offsets = unpack(base64.b64decode(_text(where, found), validate=True))
        _require_offsets(offsets)
    except (ValueError, TypeError, zlib.error, RecursionError) as error:
        raise ValueError(f"{where}: expected packed offsets ({error})") from error
    return pack(offsets)


def _lines(where: str, found: Any) -> bytes:
    """Unpack and pack the lines of a piece again, so that equal lines are equal bytes."""
    try:
        return archived_pieces.read_lines(base64.b64decode(_text(where, found), validate=True))
    except (ValueError, zlib.error, RecursionError) as error:
        raise ValueError(f"{where}: expected packed lines of offsets ({error})") from error


def _require_offsets(offsets: OffsetPatch) -> None:
    for text in (*offsets.keys(), *(offset for offset in offsets.values() if offset is not None)):
        value = json.loads(text)
        if not isinstance(value, dict) or canonical(value).decode() != text:
            raise ValueError(f"{_shown(text)} is not a canonical JSON object")


def _key(table: Table, row: ArchiveRow) -> tuple[str, ...]:
    return tuple(
        str(row[column.name]).rjust(_DIGITS * isinstance(column.type, Integer)) for column in table.primary_key
    )


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 60 else f"{text[:60]}…"
