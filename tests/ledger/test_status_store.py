"""Conditions, offset positions and the journal of steps in the ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.planner.operation_values import LOCAL, NOON

from gitops_connect.ledger import status_store
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.observed_state import OffsetPosition
from gitops_connect.model.outcomes import JournalEntry, Result
from gitops_connect.model.plans import Action
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType

ORDERS = ConnectorName("orders")
READY = Condition(ConditionType.READY, ConditionStatus.TRUE, "Ready", "", NOON, Revision("r1"))
FAILED = Condition(ConditionType.READY, ConditionStatus.FALSE, "Failed", "task 0", NOON, Revision("r2"))


def step(number: int, cluster: ClusterName = LOCAL, connector: str = "orders") -> JournalEntry:
    at = NOON + timedelta(seconds=number)
    names = (cluster, at, Revision("r1"), "Ann", ConnectorName(connector))
    return JournalEntry(*names, Action.ALTER, "back", Result.APPLIED, "declared", f"number {number}", 0.5)


def test_conditions_and_offset_positions_are_replaced_and_removed(ledger: Ledger) -> None:
    first, second = (OffsetPosition(Digest(text), NOON) for text in "ab")
    ledger.status.offset_positions.record(LOCAL, {ORDERS: first, ConnectorName("x"): first})
    ledger.status.offset_positions.record(LOCAL, {ORDERS: second}, [ConnectorName("x")])
    assert ledger.status.offset_positions.of(LOCAL) == {ORDERS: second}
    key, other = (ORDERS, ConditionType.READY), (ConnectorName(""), ConditionType.READY)
    ledger.status.conditions.record(LOCAL, {key: READY, other: READY})
    ledger.status.conditions.record(LOCAL, {key: FAILED}, [other])
    assert ledger.status.conditions.of(LOCAL) == {key: FAILED}
    assert ledger.status.conditions.of(ClusterName("another")) == {}


def test_the_journal_returns_the_newest_steps_first_in_pages(ledger: Ledger) -> None:
    for number in range(5):
        ledger.status.record_step(step(number))
    ledger.status.record_step(step(5, ClusterName("another")))
    ledger.status.record_step(step(6, connector="payments"))
    page = ledger.status.steps(LOCAL, ORDERS, limit=2)
    assert [one.message for one in page] == ["number 4", "number 3"]
    following = ledger.status.steps(LOCAL, ORDERS, before=page[-1].id, limit=2)
    assert [one.message for one in following] == ["number 2", "number 1"]
    assert [one.cluster for one in ledger.status.steps(limit=2)] == [LOCAL, "another"]
    assert page[0].author == "Ann"


def test_the_oldest_steps_of_a_cluster_are_removed(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_store, "KEPT_STEPS", 3)
    ledger.status.record_step(step(0, ClusterName("another")))
    for number in range(5):
        ledger.status.record_step(step(number))
    assert [one.message for one in ledger.status.steps(LOCAL)] == ["number 4", "number 3", "number 2"]
    assert len(ledger.status.steps(ClusterName("another"))) == 1
