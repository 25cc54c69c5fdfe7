from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise

import pytest
from support.cluster.manual_clock import START, ManualClock
from support.cluster.memory_cluster import FAILED, PAUSED, RUNNING, STOPPED, Fault, MemoryCluster, connector, refused
from support.cluster.memory_journal import MemoryJournal, execute_options
from support.planner.plans_of_steps import OF_THE_CONNECTOR, plan, step

from gitops_connect.apply.executor import execute
from gitops_connect.errors import (
    AlreadyExists,
    ConnectUnavailable,
    LedgerBusy,
    LedgerUnusable,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
)
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import TaskStatus
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Change, Step

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
LOST = OutcomeUnknown("no answer")


def run(cluster: MemoryCluster, *steps: Step, **options: object) -> tuple[StepOutcome, ...]:
    options = {"settle_timeout": 30.0, **options}
    return execute(plan(*steps), cluster, execute_options(cluster.clock, **options))


def results(outcomes: tuple[StepOutcome, ...]) -> list[Result]:
    return [outcome.result for outcome in outcomes]


def test_an_empty_plan_asks_the_cluster_nothing(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    assert run(cluster) == ()
    assert (cluster.calls, cluster.looks, clock.slept) == ([], 0, [])


def test_an_adoption_is_recorded_and_asks_the_cluster_nothing(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, connector("a", RUNNING)), MemoryJournal()
    ended = run(cluster, step("a", Action.ADOPT), journal=journal)
    assert (results(ended), journal.adopted) == ([APPLIED], [("a",)])
    assert (cluster.calls, cluster.looks, clock.slept) == ([], 0, [])


def test_all_adoptions_are_recorded_at_once_before_any_request(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, *(connector(name, RUNNING) for name in "ab")), MemoryJournal()
    before: list[list[tuple[ConnectorName, ...]]] = []
    cluster.on_call = lambda *_: before.append(list(journal.adopted))
    steps = [step("a", Action.ADOPT), step("a", Action.STOP), step("b", Action.ADOPT), step("c", Action.CREATE, {})]
    assert results(run(cluster, *steps, journal=journal)) == [APPLIED] * 4
    assert before
    assert all(adopted == [("a", "b")] for adopted in before)


def test_an_interrupted_apply_adopts_nothing(clock: ManualClock) -> None:
    journal = MemoryJournal()
    ended = run(MemoryCluster(clock), step("a", Action.ADOPT), journal=journal, interrupted=lambda: True)
    assert (results(ended), journal.adopted) == ([SKIPPED], [])


def test_a_connector_that_cannot_be_recorded_as_managed_is_not_changed(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, connector("a", RUNNING)), MemoryJournal()
    journal.faults["adopt"].append(LedgerUnusable("the disk is full"))
    ended = run(cluster, step("a", Action.ADOPT), step("a", Action.STOP), journal=journal)
    assert results(ended) == [BAD, SKIPPED]
    assert ended[0].message == "the disk is full"
    assert cluster.calls == []


@pytest.mark.parametrize(
    ("state", "one", "after"),
    [
        (None, step("a", Action.CREATE, {"k": "v"}), RUNNING),
        (None, step("a", Action.CREATE, {"k": "v"}, initial=TargetState.STOPPED), STOPPED),
        (None, step("a", Action.CREATE, {"k": "v"}, initial=TargetState.PAUSED), PAUSED),
        (RUNNING, step("a", Action.CONFIGURE, {"k": "v"}), RUNNING),
        (FAILED, step("a", Action.CONFIGURE, {"k": "v"}), RUNNING),
        (STOPPED, step("a", Action.CONFIGURE, {"k": "v"}), STOPPED),
        (RUNNING, step("a", Action.STOP), STOPPED),
        (FAILED, step("a", Action.STOP), STOPPED),
        (RUNNING, step("a", Action.PAUSE), PAUSED),
        (STOPPED, step("a", Action.RESUME), RUNNING),
        (RUNNING, step("a", Action.DELETE), None),
    ],
)
def test_each_action_is_applied_when_its_effect_is_seen(clock: ManualClock, state, one: Step, after) -> None:
    cluster = MemoryCluster(clock, *([connector("a", state)] if state else []))
    (outcome,) = run(cluster, one)
    assert (outcome.result, outcome.message) == (APPLIED, "")
    assert outcome.seconds > 0
    assert outcome.finished
    assert outcome.finished > START
    assert [verb for verb, _ in cluster.calls] == [one.action.value]
    there = cluster.present.get("a")
    assert (there and there.state) == after
    if one.config:
        assert there.config == one.config


def test_the_steps_of_a_connector_run_in_order_and_each_after_the_effect_of_the_last(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), delay=1)
    seen = []
    cluster.on_call = lambda verb, name: seen.append((verb, cluster.present["a"].state))
    steps = (step("a", Action.STOP), step("a", Action.CONFIGURE, {"k": "v"}), step("a", Action.RESUME))
    assert results(run(cluster, *steps)) == [APPLIED] * 3
    assert seen == [("stop", RUNNING), ("configure", STOPPED), ("resume", STOPPED)]


def test_outcomes_are_in_the_order_of_the_plan_and_reported_as_they_end(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("b"))
    reported, threads = [], set()

    def listen(outcome: StepOutcome) -> None:
        reported.append(outcome)
        threads.add(threading.current_thread())

    steps = (step("a", Action.CREATE, {}), step("a", Action.STOP), step("b", Action.STOP))
    outcomes = run(cluster, *steps, on_outcome=listen)
    assert [outcome.step for outcome in outcomes] == list(steps)
    assert {id(one) for one in reported} == {id(one) for one in outcomes}
    assert reported[-1].step == steps[1]
    assert threads == {threading.current_thread()}


def test_a_plan_that_is_not_applicable_changes_nothing(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    options = execute_options(clock)
    assert execute(plan(step("a", Action.STOP), applicable=False), cluster, options) == ()
    assert cluster.calls == []


def test_one_read_serves_all_waiting_steps(clock: ManualClock) -> None:
    looks = []
    for count in (1, 60):
        cluster = MemoryCluster(ManualClock(), delay=7)
        assert set(results(run(cluster, *(step(f"n{i}", Action.CREATE, {}) for i in range(count))))) == {APPLIED}
        looks.append(cluster.looks)
    assert looks[0] == looks[1]
    assert looks[0] < 14


def test_requests_run_in_parallel_up_to_the_limit(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    together = threading.Barrier(3)
    cluster.on_call = lambda verb, name: verb == "create" and together.wait(timeout=10)
    outcomes = run(cluster, *(step(f"n{i}", Action.CREATE, {}) for i in range(9)), parallelism=3)
    assert set(results(outcomes)) == {APPLIED}
    assert cluster.most_at_once == 3


def test_a_connector_that_fails_does_not_stop_the_others(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b"))
    cluster.faults["stop", "a"].append(Fault(Rejected("Connect says no")))
    steps = [step(name, action) for name in "ab" for action in (Action.STOP, Action.PAUSE, Action.DELETE)]
    outcomes = run(cluster, *steps)
    assert results(outcomes) == [BAD, SKIPPED, SKIPPED, APPLIED, APPLIED, APPLIED]
    assert [outcome.message for outcome in outcomes[:3]] == [
        "Connect says no",
        "skipped: the step stop before it failed",
        "skipped: the step stop before it failed",
    ]
    assert ("pause", "a") not in cluster.calls


def test_a_connector_that_fails_to_start_says_why_without_its_secrets(clock: ManualClock) -> None:
    trace = "org.example.Oops: cannot log in with hunter22 or old-one at host\n\tat org.example.Secret(hunter22)"
    cluster = MemoryCluster(clock, delay=0)
    cluster.on_call = lambda verb, name: cluster.rules.fail("a", trace)
    change = Change("x", "old-one", "hunter22", sensitive=True)
    cluster.put(connector("a"))
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"x": "hunter22"}, changes=(change,)))
    assert outcome.result is BAD
    assert outcome.message.startswith("it is FAILED: org.example.Oops: cannot log in with *** or *** at host; fix its")


def test_a_refusal_that_quotes_a_secret_does_not_show_it(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.faults["create", "a"].append(refused("Invalid value hunter22 for configuration db.password"))
    (outcome,) = run(cluster, step("a", Action.CREATE, {"db.password": "hunter22"}))
    assert outcome.message == "Invalid value *** for configuration db.password"


def test_an_effect_that_never_appears_is_reported_with_the_expected_and_the_found_state(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), delay=1000)
    stop, after = run(cluster, step("a", Action.STOP), step("a", Action.DELETE))
    assert (stop.result, after.result) == (BAD, SKIPPED)
    assert stop.message == "expected STOPPED without tasks, but found RUNNING with tasks 0 RUNNING after 30 s"
    assert 30 <= clock.seconds < 35


def test_a_running_connector_that_its_new_config_breaks_is_not_called_configured(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), delay=0.7)
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"start": "fail"}))
    assert outcome.result is BAD
    assert outcome.took_effect
    assert outcome.message.startswith("it is FAILED: java.lang.IllegalStateException: no; fix its config")


def test_a_failed_connector_that_its_new_config_fixes_is_configured(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a", FAILED, trace="old"), delay=2.5)
    assert results(run(cluster, step("a", Action.CONFIGURE, {"k": "v"}))) == [APPLIED]


def test_a_pause_that_fails_inside_the_worker_is_found(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a", FAILED, trace="java.lang.Boom: x"))
    (outcome,) = run(cluster, step("a", Action.PAUSE))
    assert outcome.message == "the connector cannot be paused: it is FAILED: java.lang.Boom: x"
    assert clock.seconds < 10


def test_a_create_fails_if_the_connector_exists_by_now(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    (outcome,) = run(cluster, step("a", Action.CREATE, {"k": "v"}))
    assert (outcome.result, outcome.message) == (BAD, "Connector a already exists")
    assert cluster.looks == 0


@pytest.mark.parametrize("action", OF_THE_CONNECTOR)
@pytest.mark.parametrize("happens", [True, False])
def test_a_request_without_an_answer_is_sent_again_only_if_it_was_lost(
    clock: ManualClock, action: Action, happens: bool
) -> None:
    failed = replace(connector("a"), tasks=(TaskStatus(0, FAILED, "w", "java.lang.Boom"),))
    before = {Action.CREATE: [], Action.RESUME: [connector("a", STOPPED)], Action.RESTART: [failed]}
    there = before.get(action, [connector("a")])
    cluster = MemoryCluster(clock, *there)
    cluster.faults[action.value, "a"].append(Fault(LOST, happens))
    (outcome,) = run(cluster, step("a", action, {"k": "v"}))
    assert outcome.result is APPLIED
    assert len(cluster.calls) == (1 if happens else 2)


def test_a_create_that_appears_only_after_it_was_sent_again_is_applied(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, delay=12)
    cluster.faults["create", "a"].append(Fault(LOST, happens=True))
    (outcome,) = run(cluster, step("a", Action.CREATE, {"k": "v"}))
    assert outcome.result is APPLIED
    assert len(cluster.calls) == 2


def test_a_create_without_an_answer_is_not_confused_with_that_of_another_client(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.faults["create", "a"].append(Fault(LOST))
    cluster.on_call = lambda verb, name: cluster.put(connector("a", RUNNING, {"k": "another"}))
    cluster.faults["create", "a"].append(Fault(AlreadyExists("exists")))
    (outcome,) = run(cluster, step("a", Action.CREATE, {"k": "v"}))
    assert outcome.result is BAD
    assert "found another config (keys that differ: k)" in outcome.message


def test_a_request_that_is_never_answered_is_sent_twice_at_most(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.faults["stop", "a"].extend([Fault(LOST)] * 10)
    (outcome,) = run(cluster, step("a", Action.STOP))
    assert outcome.result is BAD
    assert outcome.message.endswith("the request was sent twice, and its outcome is unknown: no answer")
    assert len(cluster.calls) == 2


def test_a_masked_value_is_no_evidence_that_a_new_one_has_arrived(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a", STOPPED, {"p": "********"}))
    cluster.faults["configure", "a"].append(Fault(LOST))
    change = Change("p", "********", "new", sensitive=True)
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"p": "new"}, changes=(change,)))
    assert outcome.result is APPLIED
    assert len(cluster.calls) == 2


@pytest.mark.parametrize("error", [RebalanceInProgress("rebalancing"), ConnectUnavailable("nobody answers")])
def test_a_temporarily_refused_request_is_sent_again(clock: ManualClock, error: Exception) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.faults["stop", "a"].extend([Fault(error)] * 3)
    assert results(run(cluster, step("a", Action.STOP))) == [APPLIED]
    assert len(cluster.calls) == 4


def test_a_permanently_refused_request_fails_with_the_message_of_the_cluster(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.faults["stop", "a"].extend([Fault(RebalanceInProgress("rebalancing"))] * 100)
    (outcome,) = run(cluster, step("a", Action.STOP))
    assert outcome.result is BAD
    assert outcome.message.endswith("its last answer was: rebalancing")
    assert clock.seconds <= 30


def test_a_temporarily_unreadable_cluster_is_waited_for(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.look_faults.extend([ConnectUnavailable("nobody answers"), RebalanceInProgress("rebalancing")])
    assert results(run(cluster, step("a", Action.STOP))) == [APPLIED]


def test_a_cluster_that_stays_unreadable_ends_the_wait(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.look_faults.extend([ConnectUnavailable("nobody answers")] * 1000)
    (outcome,) = run(cluster, step("a", Action.STOP))
    assert outcome.result is BAD
    assert "no readable status (nobody answers)" in outcome.message


def test_an_unreadable_status_is_not_taken_for_the_effect(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.unreadable.add("a")
    (outcome,) = run(cluster, step("a", Action.STOP))
    assert outcome.result is BAD
    assert "no readable status" in outcome.message


def test_a_delete_is_done_only_when_no_worker_lists_the_name(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b"), delay=4)
    outcomes = run(cluster, step("a", Action.DELETE), step("b", Action.STOP))
    assert results(outcomes) == [APPLIED, APPLIED]
    assert outcomes[0].seconds >= 4
    assert cluster.listed == {"b"}
    assert cluster.name_looks <= cluster.looks


def test_a_delete_that_a_rebalancing_worker_answered_too_early_is_sent_again(clock: ManualClock) -> None:
    """The worker that answers does not know the connector yet; the client takes its 404 for a completed deletion."""
    cluster = MemoryCluster(clock, connector("a"))
    real, cluster.delete = cluster.delete, lambda name: setattr(cluster, "delete", real)  # type: ignore[method-assign]
    assert results(run(cluster, step("a", Action.DELETE))) == [APPLIED]
    assert cluster.listed == set()


def test_a_failed_task_does_not_keep_its_connector_from_being_paused(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, delay=0)
    tasks = (TaskStatus(0, PAUSED, "w"), TaskStatus(1, FAILED, "w"))
    cluster.put(replace(connector("a", PAUSED), tasks=tasks))
    cluster.pause = lambda name: None  # type: ignore[method-assign]
    assert results(run(cluster, step("a", Action.PAUSE))) == [APPLIED]


def test_an_interrupt_finishes_the_steps_in_progress_and_begins_no_other(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name) for name in "abc"), delay=5)
    stopping = threading.Event()
    cluster.on_call = lambda verb, name: stopping.set()
    steps = [step(name, action) for name in "abc" for action in (Action.STOP, Action.DELETE)]
    outcomes = run(cluster, *steps, parallelism=1, interrupted=stopping.is_set)
    assert cluster.calls == [("stop", "a")]
    assert results(outcomes) == [APPLIED, SKIPPED, SKIPPED, SKIPPED, SKIPPED, SKIPPED]
    assert {outcome.message for outcome in outcomes[1:]} == {"skipped: interrupted"}
    assert cluster.present["a"].state is STOPPED


def test_an_interrupt_ends_a_step_that_the_cluster_never_accepted(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.faults["stop", "a"].extend([Fault(RebalanceInProgress("rebalancing"))] * 100)
    (outcome,) = run(cluster, step("a", Action.STOP), interrupted=lambda: len(cluster.calls) > 1)
    assert outcome.result is SKIPPED
    assert "rebalancing" in outcome.message
    assert clock.seconds < 5


def test_a_request_without_an_answer_is_not_sent_again_after_an_interrupt(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.faults["stop", "a"].append(Fault(LOST))
    (outcome,) = run(cluster, step("a", Action.STOP), interrupted=lambda: bool(cluster.calls))
    assert outcome.result is BAD
    assert "its outcome is unknown" in outcome.message
    assert len(cluster.calls) == 1


def test_a_lost_lease_stops_before_the_next_effect(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b"))
    checks = []

    def check() -> None:
        checks.append(threading.current_thread())
        if len(checks) > 1:
            raise LedgerBusy("the lease was lost")

    outcomes = run(
        cluster, step("a", Action.STOP), step("a", Action.DELETE), step("b", Action.STOP), before_effect=check
    )
    assert results(outcomes) == [APPLIED, SKIPPED, SKIPPED]
    assert outcomes[1].message == "skipped: the lease was lost"
    assert len(cluster.calls) == 1
    assert set(checks) == {threading.current_thread()}


def test_a_lease_is_kept_alive_through_a_long_wait(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), delay=25)
    checks: list[float] = []
    run(cluster, step("a", Action.STOP), before_effect=lambda: checks.append(clock.monotonic()))
    assert checks[0] == 0
    assert max(later - earlier for earlier, later in pairwise(checks)) < 8
    assert checks[-1] > 15


def test_an_outcome_that_cannot_be_recorded_stops_the_run_and_is_raised_at_its_end(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name) for name in "abc"))
    reported: list[StepOutcome] = []

    def listen(outcome: StepOutcome) -> None:
        reported.append(outcome)
        if len(reported) == 1:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        run(cluster, *(step(name, Action.STOP) for name in "abc"), parallelism=1, on_outcome=listen)
    assert len(reported) == 3
    assert all(cluster.present[name].state is STOPPED for _, name in cluster.calls)


def test_a_bug_in_a_step_ends_only_the_steps_of_its_connector(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name) for name in "abc"))
    cluster.faults["stop", "b"].append(Fault(ZeroDivisionError("oops")))
    steps = (step(name, action) for name in "abc" for action in (Action.STOP, Action.RESUME))
    ended = run(cluster, *steps, parallelism=1)
    assert [(one.step.connector, one.result) for one in ended if one.step.action is Action.RESUME] == [
        ("a", APPLIED),
        ("b", SKIPPED),
        ("c", APPLIED),
    ]
    (failed,) = (one for one in ended if one.result is BAD)
    assert isinstance(failed.bug, ZeroDivisionError)
    assert "internal error" in failed.message


def test_a_bug_in_a_read_ends_every_wait_and_is_raised(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))
    cluster.look_faults.append(ZeroDivisionError("oops"))
    reported: list[StepOutcome] = []
    with pytest.raises(ZeroDivisionError):
        run(cluster, step("a", Action.STOP), on_outcome=reported.append)
    assert results(tuple(reported)) == [BAD]


def test_a_keyboard_interrupt_reaches_the_caller(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cluster, step("a", Action.STOP), before_effect=interrupt)


def test_no_secret_is_in_an_outcomes_repr(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    change = Change("x", None, "hunter22", sensitive=True)
    outcomes = run(cluster, step("a", Action.CREATE, {"x": "hunter22"}, changes=(change,)))
    assert "hunter22" not in repr(outcomes)
