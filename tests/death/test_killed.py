"""Killed before and after every step and between every two writes of the ledger, then started again.

Each change takes effect once, none is lost, the connector ends in its desired state, and the ledger says settled.
"""

from __future__ import annotations

import pytest

from death.stories import (
    BACK,
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
from death.trials import Trial
from gitops_connect.model.operations import OperationState

pytestmark = pytest.mark.slow


STORIES = {
    "alter": Story(running(), running(BACK), None, ("back",), 2),
    "alter a stopped one": Story(running(spec=STOPPED), running(BACK, spec=STOPPED), None, ("back",), 2, "STOPPED"),
    "replace": Story(running(), running(("exact", "replace", 2, "rewind, tombstone")), None, ("exact",), 2, exact=True),
    "replace in a stopped one": Story(
        running(spec=STOPPED),
        running(("exact", "replace", 2, "rewind, tombstone"), spec=STOPPED),
        None,
        ("exact",),
        2,
        "STOPPED",
        exact=True,
    ),
    "reset": Story(running(), running(("nothing", "reset", None, "reset")), None, ("nothing",), 0, exact=True),
    "two changes and another config": Story(
        running(),
        running(BACK, ("forth", "alter", 3), **{"batch.size": "100"}),
        None,
        ("back", "forth"),
        3,
    ),
    "initial offsets": Story(lambda _: [], seeded(), None, (SEED,), 2),
    "initial offsets of a paused one": Story(lambda _: [], seeded("state: paused"), None, (SEED,), 2, "PAUSED"),
}


@pytest.mark.parametrize("name", STORIES)
def test_each_change_takes_effect_once_and_the_connector_ends_as_desired(
    name: str, deaths: Each, worker: Recorder
) -> None:
    story = STORIES[name]
    for trial, _ in deaths(story):
        place = trial.place
        finish(trial, worker, story)
        require_once(worker, place)
        assert worker.state() == story.state, place
        assert trial.told["planned"] == 0, place
        require_settled(trial, worker, story, place)
        require_position(trial, worker, story, place)


def test_what_was_begun_is_finished_though_it_was_withdrawn_and_nothing_else_is(deaths: Each, worker: Recorder) -> None:
    story = Story(running(), running(BACK), running(), ("back",), 2)
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


def test_a_new_ledger_that_dies_replays_nothing(deaths: Each, worker: Recorder) -> None:
    """Killed in its first cycle: what the repository already held is not taken for new by the next one."""
    changes = (BACK, ("exact", "replace", 3, "rewind, tombstone"))
    stopped, wanted = running(*changes, spec=STOPPED), running(*changes)

    def lose(trial: Trial) -> list[str]:
        for file in trial.folder.glob("state.db*"):
            file.unlink()
        return wanted(trial)

    for trial, _ in deaths(Story(stopped, lose)):
        place = trial.place
        finish(trial, worker, Story(stopped, wanted))
        assert "offsets" not in [verb for _, verb, _ in worker.done], place
        states = {name: record.state for name, record in trial.records().items()}
        assert states == {"back": OperationState.UNKNOWN, "exact": OperationState.UNKNOWN}, place
        assert worker.state() == "RUNNING", place
