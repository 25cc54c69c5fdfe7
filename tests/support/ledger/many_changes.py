"""A ledger with very many old offset changes, and how many of them are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, insert

from gitops_connect.ledger import offset_change_store
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.tables import OPERATIONS
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.offset_changes import OffsetChangeKind, OffsetChangeRecord, OffsetChangeState

OLD = 20_000
CONNECTORS = 4


def fill(database: Database, cluster: ClusterName, now: datetime) -> None:
    """Add old changes of a few connectors, `c0` to `c3`; the newest is `old-0`."""
    with database.write() as connection:
        connection.execute(insert(OPERATIONS), [_old(number, cluster, now) for number in range(OLD)])


def _old(number: int, cluster: ClusterName, now: datetime) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "name": f"old-{number}",
        "connector": f"c{number % CONNECTORS}",
        "kind": OffsetChangeKind.ALTER,
        "state": OffsetChangeState.SETTLED,
        "digest": f"d{number}",
        "revision": Revision("0" * 40),
        "since": now - timedelta(hours=number),
        "failures": 0,
        "final": False,
        "message": "",
        "warning": "",
        "acknowledged": frozenset(),
    }


class Statements:
    """The statements of a block on offset changes, and how many rows they returned."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, Any]] = []
        self.rows = 0

    def plans(self, database: Database) -> set[str]:
        """How SQLite finds the rows."""
        with database.read() as connection:
            return {
                step[-1]
                for statement, parameters in self.executed
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                if "operations" in step[-1]
            }


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    found = Statements()

    def listen(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "FROM operations" in statement and "typeof(" not in statement:  # the check when a ledger is opened
            found.executed.append((statement, parameters))

    def counting(*values: Any) -> OffsetChangeRecord:
        found.rows += 1
        return OffsetChangeRecord(*values)

    monkeypatch.setattr(offset_change_store, "OffsetChangeRecord", counting)
    event.listen(Engine, "before_cursor_execute", listen)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", listen)
        monkeypatch.undo()
