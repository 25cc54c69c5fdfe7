"""Rows that gitops-connect never wrote: found when the ledger is opened, before anything is decided by them.

The database protects its own file. It does not detect a value that someone edited, or that another program wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    Integer,
    LargeBinary,
    String,
    Table,
)

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger.config_histories import is_config_history
from gitops_connect.ledger.pieces import OffsetsPart
from gitops_connect.ledger.review_store import is_stored_plan
from gitops_connect.ledger.tables import (
    APPROVALS,
    CONDITIONS,
    CONFIG_HISTORIES,
    LEASES,
    OFFSET_POSITIONS,
    OPERATIONS,
    OWNERSHIP,
    PIECES,
    RESTART_REQUESTS,
    RESTARTS,
    REVIEWED_PLANS,
    REVISIONS,
    STEPS,
    STOPPED,
    SUSPENSIONS,
    UtcTime,
)
from gitops_connect.model.conditions import ConditionStatus, ConditionType
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.operations import Acknowledgement, OperationKind, OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action
from gitops_connect.model.restarts import RestartKind
from gitops_connect.model.reviewed_plans import PlanPurpose

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_LONGEST_SHOWN = 60
_ACKNOWLEDGEMENTS = [one.value for one in Acknowledgement]

_TABLES = (
    OWNERSHIP,
    OPERATIONS,
    PIECES,
    RESTARTS,
    RESTART_REQUESTS,
    SUSPENSIONS,
    STOPPED,
    REVIEWED_PLANS,
    APPROVALS,
    REVISIONS,
    CONDITIONS,
    CONFIG_HISTORIES,
    OFFSET_POSITIONS,
    STEPS,
    LEASES,
)

Check = Callable[[Any], bool]


def check_rows(connection: Connection, place: str) -> None:
    """Raise LedgerUnusable, which names table, row and column, for the first value that cannot be read."""
    for table in _TABLES:
        for found in _damaged(connection, table):
            raise LedgerUnusable(f"the ledger {place} is damaged: {found}; nothing was changed; restore a backup")


def _damaged(connection: Connection, table: Table) -> Iterator[str]:
    # A query as text: its rows are not converted, and SQLAlchemy would compile each query for 2 ms when it starts.
    columns = ", ".join(_raw(column, connection) for column in table.c)
    for row in connection.exec_driver_sql(f"SELECT {columns} FROM {table.name}"):  # noqa: S608 - our own names
        for column, value in zip(table.c, row, strict=True):
            expected, is_sound = _expected(column)
            if not (value is None and column.nullable) and not is_sound(value):
                key = ", ".join(str(value) for one, value in zip(table.c, row, strict=True) if one.primary_key)
                where = f"table {table.name}, row {_shown(key)}, column {column.name}"
                yield f"{where}: found {_shown(value)}, expected {expected}"


def _raw(column: Column[Any], connection: Connection) -> str:
    """The stored value; for a blob, which may be large, only its type in SQLite and its length elsewhere."""
    if not isinstance(column.type, LargeBinary):
        return column.name
    return f"{'typeof' if connection.dialect.name == 'sqlite' else 'length'}({column.name})"


def _expected(column: Column[Any]) -> tuple[str, Check]:
    """The expected content of a column, in words and as a check."""
    known = _KNOWN.get(f"{column.table.name}.{column.name}")
    if known is not None:
        return known
    return next(rule for kind, rule in _BY_TYPE.items() if isinstance(column.type, kind))


def _one_of(kind: type[Enum]) -> tuple[str, Check]:
    values = [str(one.value) for one in kind]
    return f"one of {', '.join(values)}", lambda value: value in values


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _is_texts(value: Any) -> bool:
    found = _parsed(value)
    return isinstance(found, dict) and all(isinstance(one, str) for one in found.values())


def _is_acknowledgements(value: Any) -> bool:
    found = _parsed(value)
    return isinstance(found, list) and all(one in _ACKNOWLEDGEMENTS for one in found)


_KNOWN: Mapping[str, tuple[str, Check]] = {
    "ownership.origin": _one_of(Origin),
    "ownership.on_delete": _one_of(OnDelete),
    "ownership.applied": ("a JSON object of digests", _is_texts),
    "ownership.secret_references": ("a JSON object of references", _is_texts),
    "operations.kind": _one_of(OperationKind),
    "operations.state": _one_of(OperationState),
    "operations.acknowledged": ("a JSON list of acknowledgements", _is_acknowledgements),
    "operation_pieces.part": _one_of(OffsetsPart),
    "restart_requests.kind": _one_of(RestartKind),
    "config_histories.history": ("a JSON object of a config history", is_config_history),
    "stopped_connectors.returns_to": _one_of(TargetState),
    "conditions.type": _one_of(ConditionType),
    "conditions.status": _one_of(ConditionStatus),
    "reviewed_plans.purpose": _one_of(PlanPurpose),
    "reviewed_plans.plan": ("a JSON object of a reviewed plan", is_stored_plan),
    "approvals.plan": ("a JSON object of a reviewed plan", is_stored_plan),
    "steps.action": _one_of(Action),
    "steps.result": _one_of(Result),
}
_BY_TYPE: Mapping[Any, tuple[str, Check]] = {
    UtcTime: ("a time such as 2026-11-21T10:00:00.000000Z", _is_time),
    LargeBinary: ("bytes", lambda value: value in ("blob", "null", None) or isinstance(value, int)),
    Boolean: ("0 or 1", lambda value: value in (0, 1)),
    Integer: ("a whole number", lambda value: isinstance(value, int)),
    Double: ("a number", lambda value: isinstance(value, int | float)),
    String: ("a string", lambda value: isinstance(value, str)),
}
"""In this order: `UtcTime` decorates a String."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
