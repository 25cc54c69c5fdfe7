"""The values of an archive: how a column is written as JSON, and read again."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import Boolean, Column, Integer, LargeBinary

from gitops_connect.ledger import archived_pieces
from gitops_connect.ledger.config_histories import is_config_history
from gitops_connect.ledger.pieces import OffsetsPart
from gitops_connect.ledger.review_store import is_stored_plan
from gitops_connect.ledger.tables import (
    APPROVALS,
    CONFIG_HISTORIES,
    OPERATIONS,
    OWNERSHIP,
    PIECES,
    RESTART_REQUESTS,
    REVIEWED_PLANS,
    REVISIONS,
    STOPPED,
    UtcTime,
)
from gitops_connect.model.canonical import canonical
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.offsets import OffsetPatch, pack, unpack
from gitops_connect.model.operations import Acknowledgement, OperationKind, OperationState
from gitops_connect.model.ownership import Origin
from gitops_connect.model.restarts import RestartKind
from gitops_connect.model.reviewed_plans import PlanPurpose

_LARGEST = 2**31 - 1
"""The largest INTEGER of PostgreSQL."""


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
    REVIEWED_PLANS.c.purpose: PlanPurpose,
    REVISIONS.c.kind: _Mark,
}


_PLANS = {REVIEWED_PLANS.c.plan, APPROVALS.c.plan}
_TEXTS = {OWNERSHIP.c.applied, OWNERSHIP.c.secret_references}
_JSON = {*_TEXTS, OPERATIONS.c.acknowledged, CONFIG_HISTORIES.c.history, *_PLANS}


def written(column: Column[Any], value: Any) -> Any:
    """The value of a column as JSON."""
    if value is None:
        return None
    if isinstance(column.type, UtcTime):
        return value.isoformat()
    if isinstance(column.type, LargeBinary):
        return base64.b64encode(value).decode()
    if column in _JSON:
        return json.loads(value)
    return value


def read(column: Column[Any], found: Any, where: str) -> Any:
    """The value of a column from JSON. Raises ValueError, which names `where`, if it is not what `written` returns."""
    if found is None and column.nullable:
        return None
    return _reader(column)(where, found)


def _reader(column: Column[Any]) -> Callable[[str, Any], Any]:
    if column in _WORDS:
        return lambda where, found: _word(where, found, _WORDS[column])
    of_columns: dict[Column[Any], Callable[[str, Any], Any]] = {
        OPERATIONS.c.acknowledged: _acknowledgements,
        PIECES.c.content: _lines,
        CONFIG_HISTORIES.c.history: _history,
        **dict.fromkeys(_TEXTS, _texts),
        **dict.fromkeys(_PLANS, _plan),
    }
    of_types: dict[type, Callable[[str, Any], Any]] = {
        UtcTime: _time,
        LargeBinary: _offsets,
        Boolean: _truth,
        Integer: _count,
    }
    return of_columns.get(column) or of_types.get(type(column.type), read_text)


def read_text(where: str, found: Any) -> str:
    """A string that every database accepts."""
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
        time = datetime.fromisoformat(read_text(where, found))
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


def _texts(where: str, found: Any) -> str:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object, found {_shown(found)}")
    return canonical(
        {read_text(where, key): read_text(f"{where}.{key}", value) for key, value in found.items()}
    ).decode()


def _acknowledgements(where: str, found: Any) -> str:
    if not isinstance(found, list):
        raise ValueError(f"{where}: expected a list, found {_shown(found)}")
    return json.dumps(sorted(_word(where, word, Acknowledgement) for word in found))


def _history(where: str, found: Any) -> str:
    if not is_config_history(json.dumps(found)):
        raise ValueError(f"{where}: expected the configs of a connector, found {_shown(found)}")
    return canonical(found).decode()


def _plan(where: str, found: Any) -> str:
    if not is_stored_plan(json.dumps(found)):
        raise ValueError(f"{where}: expected a reviewed plan, found {_shown(found)}")
    return canonical(found).decode()


def _offsets(where: str, found: Any) -> bytes:
    """Unpack and pack again: equal offsets are equal bytes, no matter which zlib wrote the archive."""
    try:
        offsets = unpack(base64.b64decode(read_text(where, found), validate=True))
        _require_offsets(offsets)
    except (ValueError, TypeError, zlib.error, RecursionError) as error:
        raise ValueError(f"{where}: expected packed offsets ({error})") from error
    return pack(offsets)


def _lines(where: str, found: Any) -> bytes:
    """Unpack and pack the lines of a piece again, so that equal lines are equal bytes."""
    try:
        return archived_pieces.read_lines(base64.b64decode(read_text(where, found), validate=True))
    except (ValueError, zlib.error, RecursionError) as error:
        raise ValueError(f"{where}: expected packed lines of offsets ({error})") from error


def _require_offsets(offsets: OffsetPatch) -> None:
    for text in (*offsets.keys(), *(offset for offset in offsets.values() if offset is not None)):
        value = json.loads(text)
        if not isinstance(value, dict) or canonical(value).decode() != text:
            raise ValueError(f"{_shown(text)} is not a canonical JSON object")


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 60 else f"{text[:60]}…"
