"""A ledger with rows of every kind, and a function that edits it as a person with an SQL shell does."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import connect
from typing import Any

from support.planner.offset_change_values import EARLIER, LATER, LOCAL, NOON, SKIP, effect_at, offsets, record_of

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.config_histories import ConfigHistory, ConfigTrial, DeclaredConfig, RolledBack
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.offset_changes import Failure, OffsetChangeState
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.outcomes import JournalEntry, Result
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import Action
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.reviewed_plans import (
    Approval,
    DestructiveEffect,
    DestructiveKind,
    PlanPurpose,
    ReviewedConnector,
    ReviewedPlan,
)
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType
from gitops_connect.model.suspensions import SuspendedBy, Suspension

KEY = b"k" * 32
BEFORE, AFTER = Revision("a" * 40), Revision("b" * 40)
NAME, PAYMENTS = ConnectorName("orders"), ConnectorName("payments")
ORDERS = Ownership(
    LOCAL,
    NAME,
    Origin.CREATED,
    BEFORE,
    NOON,
    Digest("d" * 64),
    {"database.password": Digest("e" * 64)},
    OnDelete.RESET,
    {"database.password": "env:ORDERS_PASSWORD"},
)
HISTORY = ConfigHistory(
    DeclaredConfig({"topic": "a", "name": "Bestellungen für Köln"}, {"password": ("env", "ORDERS")}),
    ConfigTrial(Digest("d1"), BEFORE, NOON, was_healthy=True),
    RolledBack(Digest("d2"), AFTER, "task 0 is FAILED", ("topic",), LATER),
)
REWIND = DestructiveEffect(
    DestructiveKind.REWIND,
    SKIP.name,
    SKIP.digest,
    len(EARLIER),
    tuple(EARLIER),
    distance=7,
    far="7 records",
)
REVIEWED = ReviewedPlan(
    7,
    BEFORE,
    Digest("d" * 64),
    {LOCAL: {NAME: ReviewedConnector((Digest("e" * 64),), (DestructiveEffect(DestructiveKind.DELETE), REWIND))}},
)
_MOVE = Move(PartitionText("{}"), OffsetText('{"position":7}'), OffsetText('{"position":1}'), Direction.REWIND, 6)
EFFECT = AppliedEffect(NOON, Difference({Direction.REWIND: 1}, {Direction.REWIND: 6}, (_MOVE,)))
LARGE = replace(SKIP, name=OffsetChangeName("very-large"), offsets={}, is_large=True)
BLOCK_BEFORE = b'{"partition":{"filename":"/0"},"offset":{"position":7}}\n'
BLOCK_DECLARED = BLOCK_BEFORE.replace(b"7", b"1") + b'{"partition":{"filename":"/1"},"offset":null}\n'


def fill(ledger: Ledger) -> Ledger:
    """Write the rows."""
    ledger.record(ORDERS, Ownership(LOCAL, PAYMENTS, Origin.ADOPTED, BEFORE, LATER))
    ledger.record_attempt(LOCAL, AFTER, LATER, "1 of 3 steps failed")
    ledger.record_applied(LOCAL, BEFORE, NOON)
    ledger.restarts.record(LOCAL, {NAME: RestartRecord(2, LATER)})
    ledger.restart_requests.record(LOCAL, {(NAME, RequestKind.CONNECTOR): "INC-1"})
    ledger.configs.record(LOCAL, {NAME: HISTORY, PAYMENTS: ConfigHistory()})
    for name in (NAME, None):
        ledger.suspend(LOCAL, name, Suspension(SuspendedBy.COMMAND, name is None, "ana@ops-1", NOON, "INC-1"))
    ledger.stopped.record(LOCAL, {NAME: TargetState.RUNNING})
    ledger.reviews.record(REVIEWED, PlanPurpose.REVIEW, NOON)
    assert ledger.reviews.approve(Approval(7, REVIEWED.digest, "ana", LATER, "https://git.example/7#1"))
    _fill_offset_changes(ledger)
    _fill_status(ledger)
    return ledger


def fill_file(directory: Path) -> None:
    """Create `state.db` in `directory`, with its key, these rows and a lease."""
    fill(Ledger.open("sqlite:///state.db", directory, None)).close()
    with closing(connect(directory / "state.db")) as database, database:
        time = "2026-11-21T12:00:00.000000Z"
        database.execute("INSERT INTO leases VALUES ('other', 1, 't', 'h', 'p', 1, 1.0, ?, ?)", (time, time))


def edit(directory: Path, table: str, column: str, value: Any) -> None:
    """Set a column of the first row."""
    with closing(connect(directory / "state.db")) as database, database:
        done = database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))  # noqa: S608 - our names
        assert done.rowcount == 1


def _fill_offset_changes(ledger: Ledger) -> None:
    offset_changes = ledger.offset_changes
    offset_changes.begin(LOCAL, SKIP, EARLIER, NOON, EFFECT)
    offset_changes.settle(LOCAL, SKIP.name, offsets(1), "externally managed", LATER)
    offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("open")), EARLIER, NOON)
    unknown = replace(record_of(SKIP), name=OffsetChangeName("unknown"), state=OffsetChangeState.UNKNOWN, digest=None)
    offset_changes.mark(LOCAL, unknown)
    offset_changes.begin_large(LOCAL, LARGE, [BLOCK_BEFORE], [BLOCK_DECLARED], effect_at(NOON))
    offset_changes.sent(LOCAL, LARGE.name, 1)
    offset_changes.fail(LOCAL, replace(SKIP, name=OffsetChangeName("refused")), Failure("400: no", final=True), LATER)
    offset_changes.intend(LOCAL, replace(SKIP, name=OffsetChangeName("seed")), NOON)


def _fill_status(ledger: Ledger) -> None:
    ready = Condition(ConditionType.READY, ConditionStatus.FALSE, "TaskFailed", "task 0 is FAILED", NOON, BEFORE)
    keys = [(NAME, ConditionType.READY, ""), (ConnectorName(""), ConditionType.READY, "")]
    ledger.status.conditions.record(LOCAL, dict.fromkeys(keys, ready))
    ledger.status.offset_positions.record(LOCAL, {NAME: OffsetPosition(Digest("f" * 64), NOON)})
    names = (LOCAL, LATER, BEFORE, "Ann", NAME)
    altered = JournalEntry(*names, Action.ALTER, "skip", Result.APPLIED, "declared", "", 0.5)
    failed = JournalEntry(*names, Action.CONFIGURE, "", Result.FAILED, "differs", "400: no", 1.25)
    ledger.status.record_steps(LOCAL, [altered, failed])
