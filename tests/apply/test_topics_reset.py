"""A step that resets active topics ends when they are gone, or when the connector may use them again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, STOPPED, Fault, MemoryCluster, connector
from support.cluster.memory_journal import execute_options
from support.planner.plans_of_steps import plan, step

from gitops_connect.apply.executor import execute
from gitops_connect.errors import LedgerBusy, OutcomeUnknown, TopicTrackingDisabled
from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step

REQUESTED = step("a", Action.RESET_TOPICS)
AFTER_DELETION = replace(REQUESTED, topics=TopicsReset())


def carried_out(cluster: MemoryCluster, *steps: Step) -> tuple[StepOutcome, ...]:
    return execute(plan(*steps), cluster, execute_options(cluster.clock, settle_timeout=30.0))


def cluster_with(clock: ManualClock, *present: object, topics: str = "xy") -> MemoryCluster:
    cluster = MemoryCluster(clock, *present)
    cluster.rules._active["a"] = set(topics)
    return cluster


@pytest.mark.parametrize("present", [[], [connector("a", STOPPED)]])
def test_it_ends_when_the_topics_of_a_connector_that_does_not_work_are_gone(
    clock: ManualClock, present: list[object]
) -> None:
    cluster = cluster_with(clock, *present)
    (outcome,) = carried_out(cluster, REQUESTED)
    assert (outcome.result, outcome.message) == (Result.APPLIED, "")
    assert cluster.active_topics("a") == frozenset()
    assert cluster.calls == [("reset-topics", "a")]


def test_a_running_connector_may_have_its_topics_back_at_once(clock: ManualClock) -> None:
    cluster = cluster_with(clock, connector("a", RUNNING))
    cluster.rules.delay = 1000
    assert [one.result for one in carried_out(cluster, REQUESTED)] == [Result.APPLIED]


@pytest.mark.parametrize(("delay", "result"), [(20, Result.APPLIED), (1000, Result.FAILED)])
def test_topics_that_a_running_sink_does_not_read_any_more_must_be_gone(
    clock: ManualClock, delay: int, result: Result
) -> None:
    cluster = cluster_with(clock, connector("a", RUNNING))
    cluster.rules.delay = delay
    outdated = replace(REQUESTED, topics=TopicsReset(topics=["x", "y"], outdated=["y"]))
    assert [one.result for one in carried_out(cluster, outdated)] == [result]
    assert cluster.calls == [("reset-topics", "a")]


def test_topics_that_a_running_sink_still_reads_may_stay(clock: ManualClock) -> None:
    cluster = cluster_with(clock, connector("a", RUNNING), topics="x")
    cluster.rules.delay = 1000
    outdated = replace(REQUESTED, topics=TopicsReset(topics=["x", "y"], outdated=["y"]))
    assert [one.result for one in carried_out(cluster, outdated)] == [Result.APPLIED]


def test_topics_that_stay_fail_the_step(clock: ManualClock) -> None:
    cluster = cluster_with(clock)
    cluster.rules.delay = 1000
    (outcome,) = carried_out(cluster, REQUESTED)
    assert outcome.result is Result.FAILED
    assert outcome.message == "expected no active topics, but found x, y after 30 s"


@pytest.mark.parametrize(
    ("error", "result"),
    [(TopicTrackingDisabled("reset is disabled"), Result.FAILED), (LedgerBusy("the lease was lost"), Result.SKIPPED)],
)
def test_a_rejected_reset_fails_the_step(clock: ManualClock, error: Exception, result: Result) -> None:
    cluster = cluster_with(clock)
    cluster.faults["reset-topics", "a"].append(Fault(error))
    first, second = carried_out(cluster, REQUESTED, step("a", Action.CREATE, {}))
    assert (first.result, second.result) == (result, Result.SKIPPED)
    assert str(error) in first.message


@pytest.mark.parametrize("present", [[], [connector("a", STOPPED)], [connector("a", RUNNING)]])
@pytest.mark.parametrize("happens", [True, False])
def test_a_reset_without_an_answer_is_sent_again(clock: ManualClock, *, happens: bool, present: list[object]) -> None:
    cluster = cluster_with(clock, *present)
    cluster.faults["reset-topics", "a"].append(Fault(OutcomeUnknown("no answer"), happens))
    assert [one.result for one in carried_out(cluster, REQUESTED)] == [Result.APPLIED]
    assert len(cluster.calls) == 2


def test_after_a_deletion_only_what_connect_has_left_is_reset(clock: ManualClock) -> None:
    cluster = cluster_with(clock, connector("a", RUNNING))
    cluster.rules.later("a", cluster.rules._active.clear, 2)
    outcomes = carried_out(cluster, step("a", Action.DELETE), AFTER_DELETION)
    assert [one.result for one in outcomes] == [Result.APPLIED, Result.APPLIED]
    assert cluster.calls == [("delete", "a")], "Connect has reset its topics"
    left = cluster_with(clock)
    assert [one.result for one in carried_out(left, AFTER_DELETION)] == [Result.APPLIED]
    assert left.calls == [("reset-topics", "a")]
    assert left.active_topics("a") == frozenset()


def test_a_reset_does_not_shorten_how_long_a_new_config_is_watched(clock: ManualClock) -> None:
    """The reset leaves the connector as it is, so the step before it is the one that must work."""
    cluster = cluster_with(clock, connector("a", RUNNING))
    cluster.rules.task_fails_after["a"] = 3
    first, second = execute(
        plan(step("a", Action.CONFIGURE, {"k": "v"}), REQUESTED),
        cluster,
        execute_options(clock, settle_timeout=30.0, min_running=5.0),
    )
    assert (first.result, second.result) == (Result.FAILED, Result.SKIPPED)
