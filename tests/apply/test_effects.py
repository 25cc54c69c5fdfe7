"""What must be observed of a connector after a step, and for how long after its last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from support.cluster.memory_cluster import connector
from support.files.tables import rows, table
from support.planner.plans_of_steps import OF_THE_CONNECTOR, step

from gitops_connect.apply.connector_run import advice
from gitops_connect.apply.effects import (
    TASKS_SECONDS,
    Progress,
    Watched,
    check_effect,
    failed_parts,
    leaves_running,
    wanted,
)
from gitops_connect.apply.step_execution import AwaitEffect, ClusterSnapshot, StepExecution, StepResult
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Change

S = WorkerState
DONE, PENDING = Progress.DONE, Progress.PENDING
TRACE = "org.example.Gone: no longer there\n\tat org.example.Task.poll(Task.java:1)"
OTHER_TRACE = "org.example.Gone: no longer there\n\tat org.example.Task.start(Task.java:2)"
RUNS = (Action.CREATE, Action.CONFIGURE, Action.ROLL_BACK, Action.RESUME)


def seen(*tasks: WorkerState, state: WorkerState = S.RUNNING, trace: str = TRACE) -> ObservedConnector:
    statuses = tuple(TaskStatus(number, one, "w", trace if one is S.FAILED else "") for number, one in enumerate(tasks))
    return replace(connector("a", state, trace=trace if state is S.FAILED else ""), tasks=statuses)


def look(number: int, one: ObservedConnector) -> ClusterSnapshot:
    return ClusterSnapshot(number, 0.0, {ConnectorName("a"): one})


def watched_attempt(action: Action, before: ObservedConnector | None = None) -> StepExecution:
    attempt = StepExecution(step("a", action), 0, 30, Watched(5.0, failed_parts(before) if before else {}))
    attempt.answered(None, 0, 0)
    return attempt


@pytest.mark.parametrize("action", RUNS)
@pytest.mark.parametrize(("states", "expected"), rows(__file__, "running"))
def test_the_connector_and_all_its_tasks_must_run(action: Action, states: list[str], expected: str) -> None:
    one, progress = as_written(states), Progress[expected]
    verdict = check_effect(step("a", action), one, Watched(5.0))
    assert verdict.progress is progress
    assert verdict.lasting >= 5.0 or progress in (PENDING, Progress.FAILED)
    assert verdict.took_effect == (progress in (DONE, Progress.FAILED))


@pytest.mark.parametrize("state", [S.STOPPED, S.PAUSED])
def test_a_new_config_of_a_connector_that_does_not_run_is_done_at_once(state: WorkerState) -> None:
    verdict = check_effect(step("a", Action.CONFIGURE), seen(state=state), Watched(5.0))
    assert (verdict.progress, verdict.lasting) == (DONE, 0)


@pytest.mark.parametrize("watched", [None, Watched(5.0)])
@pytest.mark.parametrize("state", [S.STOPPED, S.PAUSED])
def test_a_connector_that_someone_stops_after_its_creation_was_created(
    state: WorkerState, watched: Watched | None
) -> None:
    verdict = check_effect(step("a", Action.CREATE), seen(state=state), watched)
    assert verdict.progress is Progress.UNCONFIRMED
    assert verdict.found == f"someone has paused or stopped it: it is {state.value}"


def test_a_short_time_to_run_shortens_neither_a_restart_nor_the_assignment_of_tasks() -> None:
    def lasting(action: Action, seconds: float, *tasks: WorkerState) -> float:
        return check_effect(step("a", action), seen(*tasks), Watched(seconds)).lasting

    assert lasting(Action.CONFIGURE, 0.01, S.RUNNING) > lasting(Action.RESUME, 0.01, S.RUNNING) == 0.01
    assert lasting(Action.CREATE, 0.01) == TASKS_SECONDS
    assert lasting(Action.CREATE, 60) == 60


@pytest.mark.parametrize("action", [Action.CREATE, Action.CONFIGURE])
def test_the_new_config_is_waited_for_in_any_state_of_the_tasks(action: Action) -> None:
    one = replace(seen(S.FAILED), config={"k": "old"})
    assert check_effect(step("a", action, {"k": "v"}), one, Watched(5.0)).progress is PENDING


def test_the_first_part_that_failed_is_named_with_its_reason_and_the_others_are_counted() -> None:
    resume = step("a", Action.RESUME)
    assert check_effect(resume, seen(S.RUNNING, S.FAILED), Watched(5.0)).found == (
        "task 1 is FAILED: org.example.Gone: no longer there"
    )
    assert check_effect(resume, seen(S.FAILED, S.FAILED, state=S.FAILED), Watched(5.0)).found == (
        "it is FAILED: org.example.Gone: no longer there (and 2 more of its tasks)"
    )
    assert "no trace" in check_effect(resume, seen(state=S.FAILED, trace="")).found


@pytest.mark.parametrize("case", table(__file__, "timelines"), ids=lambda case: case["case"])
def test_timeline(case: Mapping[str, Any]) -> None:
    attempt = watched_attempt(Action(case["action"]), as_written(case["before"]) if "before" in case else None)
    for number, (seconds, one, follows) in enumerate(case["observed"], 1):
        move = attempt.observe(look(number, as_written(one)), seconds)
        match follows:
            case "wait":
                assert move == AwaitEffect()
            case "applied":
                assert move == StepResult(Result.APPLIED)
            case str(words) if words.startswith("unconfirmed: "):
                assert move == StepResult(Result.UNCONFIRMED, words.removeprefix("unconfirmed: "))
            case message:
                assert move == StepResult(Result.FAILED, message, took_effect="is FAILED" in message)


def as_written(states: Sequence[str]) -> ObservedConnector:
    """The state of the connector, and those of its tasks; a task that failed `elsewhere` has another trace.

    The last tasks may be `starting`.
    """
    own, *tasks = states
    trace = OTHER_TRACE if "FAILED elsewhere" in tasks else TRACE
    starting = tuple(number for number, task in enumerate(tasks) if task == "starting")
    states = (S[task.split()[0]] for task in tasks if task != "starting")
    return replace(seen(*states, state=S[own], trace=trace), starting=starting)


def test_the_timeout_limits_the_wait() -> None:
    attempt, states, number = watched_attempt(Action.RESUME), (S.RUNNING, S.UNASSIGNED), 0
    while isinstance(move := attempt.observe(look(number + 1, seen(states[number % 2])), number), AwaitEffect):
        number += 1
    assert number == 30
    assert isinstance(move, StepResult)
    assert (
        move.message == "expected RUNNING with all its tasks for 5 s, but found RUNNING with tasks 0 RUNNING after 30 s"
    )


def test_a_failure_from_before_a_new_config_is_never_taken_for_one_after_it() -> None:
    attempt = watched_attempt(Action.CONFIGURE, before=seen(S.FAILED))
    moves = {attempt.observe(look(second, seen(S.FAILED)), second) for second in range(1, 30)}
    assert moves == {AwaitEffect()}
    ending = attempt.observe(look(30, seen(S.FAILED)), 30)
    assert isinstance(ending, StepResult)
    assert ending.took_effect
    same = "found the same failure as before the change: task 0 is FAILED: org.example.Gone: no longer there"
    assert same in ending.message


@pytest.mark.parametrize(("kind", "reason"), [(ConnectorType.SOURCE, "nothing to read"), (ConnectorType.SINK, "log")])
def test_a_connector_without_tasks_is_not_confirmed(kind: ConnectorType, reason: str) -> None:
    attempt = watched_attempt(Action.CREATE)
    attempt.observe(look(1, replace(seen(), type=kind)), 1.0)
    ending = attempt.observe(look(2, replace(seen(), type=kind)), 6.0)
    assert isinstance(ending, StepResult)
    assert ending.result is Result.UNCONFIRMED
    assert ending.message.startswith("it runs without tasks: ")
    assert reason in ending.message


def test_which_steps_leave_a_connector_running() -> None:
    assert {action for action in OF_THE_CONNECTOR if leaves_running(step("a", action))} == {*RUNS, Action.RESTART}
    assert not leaves_running(step("a", Action.CREATE, initial=TargetState.STOPPED))


def test_the_expected_state_is_described_with_its_duration() -> None:
    assert wanted(step("a", Action.CREATE), Watched(2.5)) == (
        "RUNNING with all its tasks and the config that was sent for 2.5 s"
    )


def applied(action: Action, change: str = "") -> StepOutcome:
    name, kind = OffsetChangeName(change), OffsetChangeKind.ALTER
    offset_change = OffsetChange(name, ConnectorName("a"), kind, Digest("d"), Revision("r")) if change else None
    return StepOutcome(replace(step("a", action), offset_change=offset_change), Result.APPLIED)


STOP, CONFIGURE, ALTER = applied(Action.STOP), applied(Action.CONFIGURE), applied(Action.ALTER, "first")
FIX = "fix its config in the repository"
UNDO = "to restore the offsets, run: gitops-connect offsets undo"


@pytest.mark.parametrize(
    ("before", "action", "expected"),
    [
        ([STOP, ALTER, applied(Action.RESET, "second")], Action.RESUME, f"{UNDO} first"),
        ([applied(Action.ALTER, "a b")], Action.RESUME, f"{UNDO} 'a b'"),
        (
            [STOP, CONFIGURE, ALTER],
            Action.RESUME,
            f"{UNDO} first; {FIX} (Git has the previous version), and apply again",
        ),
        ([], Action.CREATE, f"{FIX}, and apply again"),
        ([applied(Action.PAUSE)], Action.RESUME, ""),
    ],
)
def test_the_advice_is_to_undo_the_first_offset_change_and_to_fix_a_new_config(
    before: list[StepOutcome], action: Action, expected: str
) -> None:
    assert advice(before, step("a", action)) == expected


@pytest.mark.parametrize(("action", "state", "task_states", "progress"), rows(__file__, "observed"))
def test_the_observed_state_decides(action: str, state: str, task_states: list[str], progress: str) -> None:
    one = step("a", Action[action])
    assert check_effect(one, as_written([state, *task_states])).progress is Progress[progress]
    assert check_effect(one, None).progress is PENDING


@pytest.mark.parametrize("initial", [TargetState.STOPPED, TargetState.PAUSED, TargetState.RUNNING, None])
def test_a_connector_is_created_when_it_has_the_state_that_was_asked_for(initial: TargetState | None) -> None:
    create = step("a", Action.CREATE, initial=initial)
    reached = {state for state in S if check_effect(create, seen(state=state)).progress is DONE}
    assert {state.value for state in reached} == {(initial or TargetState.RUNNING).name}
    assert (initial or TargetState.RUNNING).name in wanted(create)


@pytest.mark.parametrize("action", [Action.CREATE, Action.CONFIGURE])
@pytest.mark.parametrize(("observed", "same"), rows(__file__, "configs"))
def test_only_the_keys_that_were_sent_are_compared(action: Action, observed: dict[str, str], same: bool) -> None:
    there = connector("a", S.STOPPED if action is Action.CONFIGURE else S.RUNNING, observed)
    verdict = check_effect(step("a", action, {"k": "v"}), there)
    assert (verdict.progress is DONE) == same
    assert same or verdict.found.startswith("another config (keys that differ: k); ")


def test_a_key_that_was_taken_away_must_be_gone() -> None:
    remove = step("a", Action.CONFIGURE, {"k": "v"}, changes=(Change("old", "1", None),))
    assert check_effect(remove, connector("a", S.STOPPED, {"k": "v", "old": "1"})).progress is PENDING
    assert check_effect(remove, connector("a", S.STOPPED, {"k": "v"})).progress is DONE


def test_a_mask_proves_nothing_of_a_request_without_an_answer() -> None:
    change = step("a", Action.CONFIGURE, {"p": "new", "q": "old"}, changes=(Change("p", "***", "new", sensitive=True),))
    there = connector("a", S.STOPPED, {"p": "********", "q": "********"})
    assert "(keys that differ: p)" in check_effect(change, there, doubtful=True).found
    assert check_effect(change, there).progress is DONE


def test_a_state_that_may_be_the_one_before_has_to_last() -> None:
    def lasting(action: Action, state: WorkerState) -> float:
        return check_effect(step("a", action), connector("a", state)).lasting

    assert lasting(Action.CONFIGURE, S.FAILED) > lasting(Action.CONFIGURE, S.RUNNING) > 0
    assert lasting(Action.CONFIGURE, S.STOPPED) == lasting(Action.RESUME, S.RUNNING) == 0


def test_what_was_found_is_short_and_shows_no_value() -> None:
    there = replace(seen(*[S.RUNNING] * 40), config={"p": "hunter2"})
    assert check_effect(step("a", Action.STOP), there).found.endswith("4 RUNNING and 35 more")
    assert "hunter2" not in check_effect(step("a", Action.CREATE, {"p": "hunter3"}), there).found
    assert "hunter3" not in check_effect(step("a", Action.CREATE, {"p": "hunter3"}), there).found
