"""A ledger with a row in every table, and a function that edits it as a person with an SQL shell does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

from operation_values import LOCAL, NOON, SKIP, STOOD

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ConnectorName, Digest, OperationName, Revision
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose, ReviewedPlan

NAME = OperationName("skip")
_TIME = "2026-11-21T12:00:00.000000Z"


def fill(directory: Path) -> None:
    """Create `state.db` in `directory`, with its key."""
    ledger = Ledger.open("sqlite:///state.db", directory, None)
    ledger.record(Ownership(LOCAL, ConnectorName("orders"), Origin.CREATED, Revision("r1"), NOON, None, {}))
    ledger.operations.begin(LOCAL, SKIP, STOOD, NOON)
    ledger.record_attempt(LOCAL, Revision("r1"), NOON)
    plan = ReviewedPlan(7, Revision("r1"), Digest("d"))
    ledger.reviews.record(plan, PlanPurpose.REVIEW, NOON)
    ledger.reviews.approve(Approval(7, plan.digest, "ana", NOON, "https://git.example/7"))
    ledger.close()
    with closing(connect(directory / "state.db")) as database, database:
        database.execute("INSERT INTO leases VALUES ('other', 1, 't', 'h', 'p', 1, 1.0, ?, ?)", (_TIME, _TIME))
        database.execute("INSERT INTO operation_pieces VALUES ('local', 'skip', 'before', 0, 1, x'00')")


def edit(directory: Path, table: str, column: str, value: Any) -> None:
    """Set a column of the only row."""
    with closing(connect(directory / "state.db")) as database, database:
        assert database.execute(f"UPDATE {table} SET {column} = ?", (value,)).rowcount == 1  # noqa: S608 - names of tests
