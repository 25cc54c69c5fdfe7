from __future__ import annotations

from concurrent.futures import Future

import pytest
from support.cluster.memory_cluster import connector
from support.planner.plans_of_steps import step

from gitops_connect.apply.step_execution import (
    RETRY,
    AwaitEffect,
    ClusterSnapshot,
    SendAgain,
    StepExecution,
    StepResult,
)
from gitops_connect.errors import (
    AlreadyExists,
    ConnectRefused,
    ConnectUnavailable,
    LedgerBusy,
    NotFound,
    OutcomeUnknown,
    RebalanceInProgress,
    Unauthorized,
)
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action

STOPPED, RUNNING, FAILED = WorkerState.STOPPED, WorkerState.RUNNING, WorkerState.FAILED
APPLIED = StepResult(Result.APPLIED)


def stopping() -> StepExecution:
    return StepExecution(step("a", Action.STOP), 0, 30)


def look(number: int, state: WorkerState | None, config: dict[str, str] | None = None) -> ClusterSnapshot:
    return ClusterSnapshot(number, 0.0, {"a": connector("a", state, config)} if state else {})


def test_a_read_that_began_before_the_answer_is_ignored() -> None:
    """It may show the state before the request, which may already be the expected state."""
    attempt = stopping()
    assert attempt.answered(None, 3, 1) == AwaitEffect()
    assert attempt.observe(look(3, STOPPED), 1.1) == AwaitEffect()
    assert attempt.observe(look(4, STOPPED), 1.2) == APPLIED


def test_success_waits_for_the_remark_and_a_failure_does_not() -> None:
    remark: Future[str] = Future()
    attempt = StepExecution(step("a", Action.CREATE), 0, 30)
    assert attempt.answered(None, 0, 0, remark) == AwaitEffect()
    assert attempt.observe(look(1, RUNNING), 31) == AwaitEffect()
    failed = attempt.observe(look(2, FAILED), 32)
    assert isinstance(failed, StepResult)
    assert failed.result is Result.FAILED
    remark.set_result("1 offset")
    assert attempt.observe(look(3, RUNNING), 33) == StepResult(Result.APPLIED, "1 offset")


def test_a_request_without_an_answer_is_sent_again_after_three_reads() -> None:
    attempt = stopping()
    assert attempt.answered(OutcomeUnknown("no answer"), 0, 0) == AwaitEffect()
    moves = [attempt.observe(look(number, RUNNING), 10 + number) for number in (1, 2, 3)]
    assert [type(move) for move in moves] == [AwaitEffect, AwaitEffect, SendAgain]


@pytest.mark.parametrize("error", [RebalanceInProgress("x"), ConnectUnavailable("x")])
def test_pauses_between_refusals_grow_up_to_a_limit_and_end_at_the_timeout(error: Exception) -> None:
    attempt, now, pauses = stopping(), 0.0, []
    while isinstance(move := attempt.answered(error, 0, now), SendAgain):  # type: ignore[arg-type]
        pauses.append(move.at - now)
        now = move.at
    assert pauses == sorted(pauses)
    assert pauses[-1] == RETRY.longest
    assert 25 < now <= 30
    assert isinstance(move, StepResult)
    assert move.result is Result.FAILED


@pytest.mark.parametrize("error", [ConnectRefused("x"), Unauthorized("x"), NotFound("x"), AlreadyExists("x")])
def test_a_permanent_refusal_is_not_retried(error: ConnectRefused) -> None:
    assert StepExecution(step("a", Action.CREATE), 0, 30).answered(error, 0, 1) == StepResult(Result.FAILED, "x")


def test_a_lost_request_is_sent_again_once_and_not_at_once() -> None:
    attempt = stopping()
    assert attempt.answered(OutcomeUnknown("lost"), 0, 0) == AwaitEffect()
    assert [attempt.observe(look(number, RUNNING), number) for number in (1, 2, 3, 4)] == [AwaitEffect()] * 4
    assert attempt.observe(look(5, RUNNING), 5) == SendAgain(5)
    assert attempt.answered(OutcomeUnknown("lost again"), 5, 6) == AwaitEffect()
    assert {attempt.observe(look(number, RUNNING), number) for number in range(6, 36)} == {AwaitEffect()}
    ending = attempt.observe(look(36, RUNNING), 36)
    assert isinstance(ending, StepResult)
    assert "sent twice, and its outcome is unknown: lost again" in ending.message


def test_failed_reads_are_no_reason_to_send_again() -> None:
    attempt = stopping()
    attempt.answered(OutcomeUnknown("lost"), 0, 0)
    moves = [attempt.observe(ClusterSnapshot(number, 0.0, error="nobody answers"), number) for number in range(1, 30)]
    assert set(moves) == {AwaitEffect()}


def test_an_accepted_request_is_not_sent_again() -> None:
    attempt = stopping()
    attempt.answered(None, 0, 0)
    assert {attempt.observe(look(number, RUNNING), number) for number in range(1, 30)} == {AwaitEffect()}


def test_an_abandoned_step_is_skipped_if_it_had_no_effect_and_failed_otherwise() -> None:
    refused, lost = stopping(), stopping()
    refused.answered(RebalanceInProgress("busy"), 0, 0)
    lost.answered(OutcomeUnknown("lost"), 0, 0)
    assert refused.abandon("interrupted").result is Result.SKIPPED
    assert lost.abandon("interrupted").result is Result.FAILED
    assert stopping().answered(LedgerBusy("x"), 0, 0) == StepResult(Result.SKIPPED, "skipped: x")
    assert lost.answered(LedgerBusy("x"), 0, 0) == lost.abandon("x")
    assert stopping().abandon("x") == StepResult(Result.SKIPPED, "skipped: x")
