from __future__ import annotations

from dataclasses import replace

import pytest
from support.cluster.memory_cluster import connector
from support.planner.plans_of_steps import step

from gitops_connect.apply.effects import Progress, check_effect, wanted
from gitops_connect.model.desired import TargetState
from gitops_connect.model.observed_state import TaskStatus, WorkerState
from gitops_connect.model.plans import Action, Change

S = WorkerState
DONE, PENDING, FAILED = Progress.DONE, Progress.PENDING, Progress.FAILED


def tasks(*states: WorkerState) -> tuple[TaskStatus, ...]:
    return tuple(TaskStatus(number, state, "w") for number, state in enumerate(states))


@pytest.mark.parametrize(
    ("action", "state", "task_states", "progress"),
    [
        (Action.STOP, S.STOPPED, [], DONE),
        (Action.STOP, S.STOPPED, [S.RUNNING], PENDING),
        (Action.STOP, S.RUNNING, [], PENDING),
        (Action.STOP, S.FAILED, [], PENDING),
        (Action.PAUSE, S.PAUSED, [], DONE),
        (Action.PAUSE, S.PAUSED, [S.PAUSED, S.FAILED], DONE),
        (Action.PAUSE, S.PAUSED, [S.PAUSED, S.RUNNING], PENDING),
        (Action.PAUSE, S.PAUSED, [S.UNASSIGNED], PENDING),
        (Action.PAUSE, S.FAILED, [], FAILED),
        (Action.RESUME, S.RUNNING, [], DONE),
        (Action.RESUME, S.UNASSIGNED, [], PENDING),
        (Action.RESUME, S.FAILED, [], FAILED),
        (Action.CONFIGURE, S.RUNNING, [], DONE),
        (Action.CONFIGURE, S.STOPPED, [], DONE),
        (Action.CONFIGURE, S.RESTARTING, [], PENDING),
        (Action.CONFIGURE, S.FAILED, [], FAILED),
        (Action.CREATE, S.RUNNING, [], DONE),
        (Action.CREATE, S.FAILED, [], FAILED),
        (Action.CREATE, S.STOPPED, [], PENDING),
        (Action.DELETE, S.STOPPED, [], PENDING),
    ],
)
def test_the_observed_state_decides(
    action: Action, state: WorkerState, task_states: list[WorkerState], progress: Progress
) -> None:
    seen = replace(connector("a", state), tasks=tasks(*task_states))
    assert check_effect(step("a", action), seen).progress is progress
    assert check_effect(step("a", action), None).progress is PENDING


@pytest.mark.parametrize("initial", [TargetState.STOPPED, TargetState.PAUSED, TargetState.RUNNING, None])
def test_a_connector_is_created_when_it_has_the_state_that_was_asked_for(initial: TargetState | None) -> None:
    create = step("a", Action.CREATE, initial=initial)
    reached = {state for state in S if check_effect(create, replace(connector("a", state), tasks=())).progress is DONE}
    assert {state.value for state in reached} == {(initial or TargetState.RUNNING).name}
    assert (initial or TargetState.RUNNING).name in wanted(create)


@pytest.mark.parametrize("action", [Action.CREATE, Action.CONFIGURE])
@pytest.mark.parametrize(
    ("observed", "same"),
    [
        ({"k": "v"}, True),
        ({"k": "v", "added.by.the.server": "1"}, True),
        ({"k": "********"}, True),
        ({"k": "w"}, False),
        ({}, False),
    ],
)
def test_only_the_keys_that_were_sent_are_compared(action: Action, observed: dict[str, str], same: bool) -> None:
    verdict = check_effect(
        step("a", action, {"k": "v"}), connector("a", S.STOPPED if action is Action.CONFIGURE else S.RUNNING, observed)
    )
    assert (verdict.progress is DONE) == same
    assert same or verdict.found.startswith("another config (keys that differ: k); ")


def test_a_key_that_was_taken_away_must_be_gone() -> None:
    remove = step("a", Action.CONFIGURE, {"k": "v"}, changes=(Change("old", "1", None),))
    assert check_effect(remove, connector("a", S.STOPPED, {"k": "v", "old": "1"})).progress is PENDING
    assert check_effect(remove, connector("a", S.STOPPED, {"k": "v"})).progress is DONE


def test_a_mask_proves_nothing_of_a_request_without_an_answer() -> None:
    change = step("a", Action.CONFIGURE, {"p": "new", "q": "old"}, changes=(Change("p", "***", "new", sensitive=True),))
    seen = connector("a", S.STOPPED, {"p": "********", "q": "********"})
    assert "(keys that differ: p)" in check_effect(change, seen, doubtful=True).found
    assert check_effect(change, seen).progress is DONE


def test_a_state_that_may_be_the_one_before_has_to_last() -> None:
    configure = step("a", Action.CONFIGURE)
    assert check_effect(configure, connector("a", S.RUNNING)).lasting > 0
    assert (
        check_effect(configure, connector("a", S.FAILED)).lasting
        > check_effect(configure, connector("a", S.RUNNING)).lasting
    )
    assert check_effect(configure, connector("a", S.STOPPED)).lasting == 0
    assert check_effect(step("a", Action.RESUME), connector("a", S.RUNNING)).lasting == 0


def test_what_was_found_is_short_and_shows_no_value() -> None:
    seen = replace(connector("a", S.RUNNING, {"p": "hunter2"}), tasks=tasks(*[S.RUNNING] * 40))
    assert check_effect(step("a", Action.STOP), seen).found.endswith("4 RUNNING and 35 more")
    assert "hunter2" not in check_effect(step("a", Action.CREATE, {"p": "hunter3"}), seen).found
    assert "hunter3" not in check_effect(step("a", Action.CREATE, {"p": "hunter3"}), seen).found


def test_the_first_line_of_a_trace_is_the_reason() -> None:
    seen = connector("a", S.FAILED, trace="java.lang.Boom: why\n\tat here")
    assert check_effect(step("a", Action.RESUME), seen).found == "it is FAILED: java.lang.Boom: why"
    assert "no trace" in check_effect(step("a", Action.RESUME), connector("a", S.FAILED)).found
