"""Killed at any step of a deletion with offsets: a deletion that was begun is always completed."""

from __future__ import annotations

import pytest

from death.stories import CLEAR, Each, Recorder, Story, finish, running, seeded
from death.trials import LOCAL
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow
DELETE = "onDelete: {offsets: reset}"
OTHER = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: other}\nspec: {class: X, state: absent}\n"


def test_a_deletion_with_offsets_leaves_no_half(deaths: Each, worker: Recorder) -> None:
    story = Story(seeded(DELETE), seeded(f"{DELETE}\nstate: absent"))
    for trial, _ in deaths(story):
        place = trial.place
        finish(trial, worker, story)
        assert worker.state() is None, place
        assert worker.offsets() == {}, place
        assert trial.ledger().ownership(LOCAL) == {}, place
        assert {record.state for record in trial.records().values()} == {OffsetChangeState.RELEASED}, place
        before = worker.before[-1 if worker.before[-1] else 0]
        assert trial.ledger().offset_changes.snapshot(LOCAL, CLEAR) == before, place


@pytest.mark.thorough
@pytest.mark.parametrize("pruned", [False, True])
def test_the_topics_that_a_deletion_leaves_are_reset(
    pruned: bool, deaths: Each, worker: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "leaves_topics", True)
    spec = "onDelete: {topics: reset}"
    gone = (lambda _: [OTHER]) if pruned else running(spec=f"{spec}\nstate: absent")
    story = Story(running(spec=spec), gone, more="prune = true" if pruned else "")
    for trial, _ in deaths(story):
        finish(trial, worker, story)
        assert (worker.state(), worker.cluster.active_topics("lines")) == (None, {"lines": {"topics": []}}), trial.place
        assert trial.ledger().ownership(LOCAL) == {}, trial.place
