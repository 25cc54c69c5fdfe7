"""Which offset changes are checked again, depending on their records in the ledger."""

from __future__ import annotations

import pytest
from support.planner.situations import change, record

from gitops_connect.model.offset_changes import OffsetChangeHistory, OffsetChangeState, Past

CHANGE = change("skip", "orders")


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("state", "past"),
    [
        (OffsetChangeState.SETTLED, Past.DONE),
        (OffsetChangeState.OPEN, Past.DONE),
        (OffsetChangeState.UNKNOWN, Past.UNKNOWN),
        (OffsetChangeState.FAILED, Past.PENDING),
        (OffsetChangeState.INTENDED, Past.PENDING),
        (OffsetChangeState.RELEASED, Past.PENDING),
    ],
)
def test_a_record_says_whether_it_took_effect(state: OffsetChangeState, past: Past, *, is_complete: bool) -> None:
    history = OffsetChangeHistory({CHANGE.name: record(CHANGE, state.value)}, is_complete)
    assert history.past(CHANGE.name) is past


def test_without_a_record_it_depends_on_whether_the_ledger_knows_its_cluster() -> None:
    assert OffsetChangeHistory({}, is_complete=True).past(CHANGE.name) is Past.PENDING
    assert OffsetChangeHistory().past(CHANGE.name) is Past.UNKNOWN
