"""Killed before and after every step and between every two writes of the ledger, then started again.

Each change takes effect exactly once, the connector ends in its desired state, and the ledger has it as applied.
"""

from __future__ import annotations

import pytest
from standin.connect import Call

from death.stories import (
    BACK,
    EXACT,
    SEED,
    STOPPED,
    Each,
    Recorder,
    Story,
    finish,
    require_once,
    require_position,
    require_settled,
    running,
    seeded,
)
from death.trials import LOCAL, Trial
from gitops_connect.model.names import OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow


STORIES = {
    "alter": Story(running(), running(BACK), ("back",), 2),
    "alter a stopped one": Story(running(spec=STOPPED), running(BACK, spec=STOPPED), ("back",), 2, "STOPPED"),
    "replace": Story(running(), running(EXACT), ("exact",), 2, exact=True),
    "replace in a stopped one": Story(
        running(spec=STOPPED), running(EXACT, spec=STOPPED), ("exact",), 2, "STOPPED", exact=True
    ),
    "reset": Story(running(), running(("nothing", "reset", None, "reset")), ("nothing",), 0, exact=True),
    "two changes and another config": Story(
        running(), running(BACK, ("forth", "alter", 3), **{"batch.size": "100"}), ("back", "forth"), 3
    ),
    "initial offsets": Story(lambda _: [], seeded(), (SEED,), 2),
    "initial offsets of a paused one": Story(lambda _: [], seeded("state: paused"), (SEED,), 2, "PAUSED"),
}


IN_MAKE_TEST = ("two changes and another config", "initial offsets of a paused one")
"""Together they have several changes of a running connector, and those of a new one."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_MAKE_TEST else pytest.mark.thorough) for name in STORIES]
)
def test_each_change_takes_effect_once_and_the_connector_ends_as_desired(
    name: str, deaths: Each, worker: Recorder
) -> None:
    story = STORIES[name]
    for trial, _ in deaths(story):
        place = trial.place
        finish(trial, worker, story)
        require_once(worker, place)
        assert worker.state() == story.state, place
        assert trial.result["planned"] == 0, place
        require_settled(trial, worker, story, place)
        require_position(trial, worker, story, place)


@pytest.mark.thorough
def test_a_change_in_progress_is_finished_after_its_removal_from_git_and_no_other(
    deaths: Each, worker: Recorder
) -> None:
    story = Story(running(), running(BACK), ("back",), 2, after=running())
    finished = []
    for trial, _ in deaths(story):
        place = trial.place
        begun = "begin" in trial.events
        finish(trial, worker, story)
        assert worker.state() == "RUNNING", place
        finished.append(begun)
        if begun:
            require_once(worker, place)
            require_settled(trial, worker, story, place)
            require_position(trial, worker, story, place)
        else:
            assert trial.records() == {}, place
            assert worker.sent() == list(range(trial.lines)), place
    assert set(finished) == {False, True}


def test_a_connector_that_was_started_after_the_kill_is_never_rewound(deaths: Each, worker: Recorder) -> None:
    """It reads on to exactly its former position, so its offsets do not show whether the change took effect."""
    story = Story(running(), running(BACK), ("back",), 2)
    found = 0
    for trial, lived in deaths(story):
        begun = not lived and "begin" in trial.events and worker.state() == "STOPPED"
        settled = begun and trial.records()["back"].state is OffsetChangeState.SETTLED
        if not begun or settled:
            continue
        worker.carry_out(Call("PUT", "/connectors/lines/resume"))
        worker.look()
        assert worker.offsets().items() >= trial.at(5).items()
        changed = [verb for _, verb, _ in worker.done].count("offsets")
        for _ in range(2):
            assert trial.cycle(), trial.place
            assert [verb for _, verb, _ in worker.done].count("offsets") == changed, trial.place
        assert trial.records()["back"].state is OffsetChangeState.UNKNOWN, trial.place
        assert any("ledger resolve back" in one for one in trial.result["diagnostics"]), trial.place
        assert trial.ledger().offset_changes.snapshot(LOCAL, OffsetChangeName("back")) is not None
        assert worker.state() == "RUNNING"
        found += 1
    assert found >= 3, "before it was sent, before it was looked at, before it was settled"


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
