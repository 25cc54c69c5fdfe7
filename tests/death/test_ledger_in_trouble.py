"""A ledger that is deleted at critical moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from death.stories import BACK, STOPPED, Recorder, running
from death.trials import Program, Trial
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow


@pytest.fixture
def trial(orders: Program, worker: Recorder, tmp_path: Path) -> Trial:
    """A trial whose connector has read its file, and whose offset is about to be rewound."""
    worker.begin_anew()
    trial = Trial(tmp_path / "trial", worker.url, orders)
    trial.grow(5)
    trial.declare(*running()(trial))
    assert trial.cycle()
    worker.look()
    worker.done.clear()
    trial.declare(*running(BACK)(trial))
    return trial


@pytest.mark.parametrize("step", ["stop", "begin", "alter_offsets", "settle", "resume"])
def test_a_ledger_that_is_deleted_during_a_reconciliation(trial: Trial, worker: Recorder, step: str) -> None:
    """Nothing is applied without the ledger, and a new ledger does not take old changes in the repository for new."""
    assert trial.cycle(lose_at=step)
    assert "LedgerUnusable" in trial.result["error"], trial.result
    changed = [verb for _, verb, _ in worker.done].count("offsets")
    assert changed == (step in ("settle", "resume")), "the lease is looked up directly before the request"
    for _ in range(3):
        trial.grow()
        worker.look()
        assert trial.cycle()
    assert any("offsets/unknown" in one for one in trial.result["diagnostics"])
    assert trial.records()["back"].state is OffsetChangeState.UNKNOWN
    assert [verb for _, verb, _ in worker.done].count("offsets") == changed
    assert worker.state() == "RUNNING"


def test_a_ledger_that_is_deleted_between_two_reconciliations(trial: Trial, worker: Recorder) -> None:
    assert trial.cycle()
    for file in trial.directory.glob("state.db*"):
        file.unlink()
    trial.declare(*running(BACK, ("forth", "alter", 3, "skip"), spec=STOPPED)(trial))
    for _ in range(3):
        worker.look()
        assert trial.cycle()
    assert [verb for _, verb, _ in worker.done].count("offsets") == 1
    assert {name: one.state for name, one in trial.records().items()} == {
        "back": OffsetChangeState.UNKNOWN,
        "forth": OffsetChangeState.UNKNOWN,
    }
    assert worker.state() == "STOPPED"
