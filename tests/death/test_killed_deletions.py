"""Killed at any step of a deletion with offsets: a deletion that was begun is always completed."""

from __future__ import annotations

import pytest

from death.stories import CLEAR, Each, Recorder, Story, finish, running, seeded
from death.trials import LOCAL, Trial
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow
DELETE = "onDelete: {offsets: reset}"
OTHER = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: other}\nspec: {class: X, state: absent}\n"
DELETIONS = {
    "absent": Story(running(spec=DELETE), running(spec=f"{DELETE}\nstate: absent")),
    "absent, and it was seeded": Story(seeded(DELETE), seeded(f"{DELETE}\nstate: absent")),
    "pruned": Story(running(spec=DELETE), lambda _: [OTHER], more="prune = true"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.thorough if name in ("absent", "pruned") else ()) for name in DELETIONS],
)
def test_a_deletion_with_offsets_leaves_no_half(name: str, deaths: Each, worker: Recorder) -> None:
    story = DELETIONS[name]
    for trial, _ in deaths(story):
        place = trial.place
        finish(trial, worker, story)
        require_gone(trial, worker, place)
        assert worker.sent()[:5] == list(range(5)) or name != "absent", place


def require_gone(trial: Trial, worker: Recorder, place: str) -> None:
    assert worker.state() is None, place
    assert worker.offsets() == {}, place
    assert trial.ledger().ownership(LOCAL) == {}, place
    records = trial.records()
    assert {record.state for record in records.values()} == {OffsetChangeState.RELEASED}, place
    assert trial.ledger().offset_changes.snapshot(LOCAL, CLEAR) == worker.before[-1 if worker.before[-1] else 0], place


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


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [False, True])
def test_a_deletion_is_finished_though_git_wants_the_connector_back_and_it_can_be_deleted_again(
    seed: bool, deaths: Each, worker: Recorder
) -> None:
    wanted = seeded if seed else lambda spec: running(spec=spec)
    gone, back = wanted(f"{DELETE}\nstate: absent"), wanted(DELETE)
    story, again = Story(back, gone, after=back), Story(back, gone)
    for trial, _ in deaths(story):
        place = trial.place
        begun = "begin" in trial.events
        finish(trial, worker, story)
        assert worker.state() == "RUNNING", place
        verbs = [(method, verb) for method, verb, _ in worker.done]
        assert (("DELETE", "lines") in verbs) == begun, place
        sent = worker.sent()
        assert sent.count(0) == (0 if seed else 1 + begun), f"{place}: {sent}"
        assert sent.count(2) == 1 + begun, f"{place}: {sent}"
        finish(trial, worker, again)
        require_gone(trial, worker, place)
