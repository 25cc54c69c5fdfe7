"""Killed before and after every step and between every two writes of the ledger, then started again.

Each change takes effect exactly once, the connector ends in its desired state, and the ledger has it as applied.
"""

from __future__ import annotations

import pytest

from death.stories import (
    BACK,
    STOPPED,
    Each,
    Recorder,
    Story,
    finish,
    require_once,
    require_position,
    require_settled,
    running,
)
from death.trials import Trial
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow


def test_each_change_takes_effect_once_and_the_connector_ends_as_desired(deaths: Each, worker: Recorder) -> None:
    """Two offset changes of a running connector, and another config."""
    changed = running(BACK, ("forth", "alter", 3), **{"batch.size": "100"})
    story = Story(running(), changed, ("back", "forth"), 3)
    for trial, _ in deaths(story):
        place = trial.place
        finish(trial, worker, story)
        require_once(worker, place)
        assert worker.state() == "RUNNING", place
        assert trial.result["planned"] == 0, place
        require_settled(trial, worker, story, place)
        require_position(trial, worker, story, place)


@pytest.mark.thorough
def test_a_kill_with_a_new_ledger_reapplies_nothing(deaths: Each, worker: Recorder) -> None:
    """Killed in the first reconciliation: the next one must not take old changes in the repository for new."""
    changes = (BACK, ("exact", "replace", 3, "rewind, tombstone"))
    stopped, wanted = running(*changes, spec=STOPPED), running(*changes)

    def lose(trial: Trial) -> list[str]:
        for file in trial.directory.glob("state.db*"):
            file.unlink()
        return wanted(trial)

    for trial, _ in deaths(Story(stopped, lose)):
        place = trial.place
        finish(trial, worker, Story(stopped, wanted))
        assert "offsets" not in [verb for _, verb, _ in worker.done], place
        states = {name: record.state for name, record in trial.records().items()}
        assert states == {"back": OffsetChangeState.UNKNOWN, "exact": OffsetChangeState.UNKNOWN}, place
        assert worker.state() == "RUNNING", place
