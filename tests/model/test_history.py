"""Which offset changes are checked again, depending on their records in the ledger."""

from __future__ import annotations

import pytest
from support.planner.situations import change, record

from gitops_connect.model.operations import OperationHistory, OperationState, Past

CHANGE = change("skip", "orders")


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("state", "past"),
    [
        (OperationState.SETTLED, Past.DONE),
        (OperationState.OPEN, Past.DONE),
        (OperationState.UNKNOWN, Past.UNKNOWN),
        (OperationState.FAILED, Past.PENDING),
        (OperationState.INTENDED, Past.PENDING),
        (OperationState.RELEASED, Past.PENDING),
    ],
)
def test_a_record_says_whether_it_took_effect(state: OperationState, past: Past, *, is_complete: bool) -> None:
    history = OperationHistory({CHANGE.name: record(CHANGE, state.value)}, is_complete)
    assert history.past(CHANGE.name) is past


def test_without_a_record_it_depends_on_whether_the_ledger_knows_its_cluster() -> None:
    assert OperationHistory({}, is_complete=True).past(CHANGE.name) is Past.PENDING
    assert OperationHistory().past(CHANGE.name) is Past.UNKNOWN
