from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from support.cluster.manual_clock import START, ManualClock
from support.cluster.memory_cluster import FAILED, RUNNING, STOPPED, Fault, MemoryCluster, connector
from support.cluster.memory_journal import MemoryJournal, execute_options
from support.files.tables import table
from support.planner.plans_of_steps import OF_THE_CONNECTOR, plan, request_of, step
from support.planner.situations import current_offsets

from gitops_connect.apply.connector_run import ConnectorRun
from gitops_connect.apply.executor import execute
from gitops_connect.apply.step_context import StoppedConnectors
from gitops_connect.apply.step_execution import StepResult
from gitops_connect.connect.exchanges import Exchange
from gitops_connect.errors import (
    AlreadyExists,
    LedgerBusy,
    LedgerUnusable,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
)
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import ObservedConnector, TaskStatus, WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Change, Step
from gitops_connect.model.restart_records import RequestKind, Restart, RestartRequest

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
A = ConnectorName("a")
LOST = OutcomeUnknown("no answer")
BACK = OffsetChange(
    OffsetChangeName("back"), A, OffsetChangeKind.ALTER, Digest("d"), Revision("r"), current_offsets(a=10)
)
OFFSET_CHANGE = (step("a", Action.STOP), replace(step("a", Action.ALTER), offset_change=BACK), step("a", Action.RESUME))


@dataclass
class Announcing(MemoryJournal):
    """Calls `listen` with the connectors that are about to be created."""

    listen: Callable[[Sequence[str]], None] = field(kw_only=True)

    def creating(self, steps: Collection[Step]) -> None:
        self.listen([one.connector for one in steps])


def run(cluster: MemoryCluster, *steps: Step, **options: object) -> tuple[StepOutcome, ...]:
    options = {"settle_timeout": 30.0, **options}
    return execute(plan(*steps), cluster, execute_options(cluster.clock, **options))


def results(outcomes: tuple[StepOutcome, ...]) -> list[Result]:
    return [outcome.result for outcome in outcomes]


def test_an_outcome_has_the_last_request_of_its_own_step_and_no_secret_of_the_connector(clock: ManualClock) -> None:
    """Several requests are sent if Connect refuses the first ones, or if a restart has parts."""
    change = Change("password", "old-secret", "new-secret", sensitive=True)
    configured = replace(step("a", Action.CONFIGURE, {"password": "new-secret"}), changes=(change,))
    planned = plan(step("a", Action.STOP), configured, step("a", Action.RESUME))
    connector_run = ConnectorRun(planned.connectors[0], planned.cluster, execute_options(clock))
    sent = [
        [("PUT /a/stop", "409"), ("PUT /a/stop", "HTTP 204")],
        [("PUT /a/config", "new-secret and old-secret are wrong")],
        [],
    ]
    outcomes = []
    for exchanges in sent:
        connector_run.exchanges.extend(Exchange(*one) for one in exchanges)
        outcomes.append(connector_run.end(StepResult(APPLIED), 0.0, clock.now()))
    assert [(one.request, one.answer) for one in outcomes] == [
        ("PUT /a/stop (the last of 2 requests)", "HTTP 204"),
        ("PUT /a/config", "*** and *** are wrong"),
        ("", ""),
    ]


CASES = [*table(__file__, "cases"), *table(__file__, "effects")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.get("case", " ".join(case["steps"])))
def test_case(clock: ManualClock, case: Mapping[str, Any]) -> None:
    cluster, journal, stopped = cluster_of(case, clock), MemoryJournal(), StoppedConnectors()
    journal.faults.update({call: deque([Fault.of(one).error]) for call, one in case.get("ledger", {}).items()})
    options = {"min_running": case["min_running"]} if "min_running" in case else {}
    requests = case.get("interrupted", math.inf)
    before = dict(cluster.present) if case.get("known") else {}
    steps = [step_of(text, case) for text in case["steps"]]
    options |= {"journal": journal, "stopped": stopped, "before": before}
    outcomes = run(cluster, *steps, interrupted=lambda: len(cluster.calls) >= requests, **options)

    least, most = case.get("took", [0, 1000])
    assert least <= clock.seconds <= most
    found = {
        "results": [one.result.value for one in outcomes],
        "message": next((one.message for one in outcomes if one.message), ""),
        "skipped": next((one.message for one in outcomes if one.result is SKIPPED), ""),
        "took_effect": [one.took_effect for one in outcomes],
        "calls": [" ".join(call) for call in cluster.calls],
        "reads_done": cluster.looks,
        "listed": sorted(cluster.listed),
        "states": {name: one.state.value for name, one in cluster.present.items()},
        "tasks": [task.state.value for one in cluster.present.values() for task in one.tasks],
        "adopted": [list(names) for names in journal.adopted],
        "restarts": journal.restarts,
        "journal": [call for call, _ in journal.calls],
        "settled": list(journal.settled),
        "left": [name for _, name in stopped.now],
    }
    expected = {"results": ["applied"] * len(outcomes), **{key: case[key] for key in found.keys() & case.keys()}}
    assert {key: found[key] for key in expected} == expected
    assert case.get("says", "") in found["message"]
    if "case" not in case:
        assert (found["calls"], found["message"]) == ([f"{case['steps'][0]} a"], "")
        assert outcomes[0].seconds > 0
        assert outcomes[0].finished
        assert outcomes[0].finished > START
        assert not cluster.present or cluster.present[A].config == case.get("config", {})


def cluster_of(case: Mapping[str, Any], clock: ManualClock) -> MemoryCluster:
    there = [observed(name, one) for name, one in case.get("there", {"a": "RUNNING"}).items()]
    cluster, times = MemoryCluster(clock, *there, delay=case.get("delay", 0.5)), case.get("times", 1)
    for verb, faults in case.get("faults", {}).items():
        cluster.faults[verb, "a"].extend([Fault.of(one) for one in faults] * times)
    cluster.look_faults.extend([Fault.of(one).error for one in case.get("reads", [])] * times)
    cluster.unreadable.update(case.get("unreadable", []))
    cluster.rules.no_tasks.update(case.get("no_tasks", []))
    if "task_fails_after" in case:
        cluster.rules.task_fails_after["a"] = case["task_fails_after"]
    if "stored" in case:
        cluster.stored[A] = current_offsets(**case["stored"])
    return cluster


def observed(name: str, given: str | Mapping[str, Any]) -> ObservedConnector:
    fields = {"state": given} if isinstance(given, str) else given
    state = WorkerState[fields.get("state", "RUNNING")]
    one = connector(name, state, fields.get("config"), fields.get("trace", ""))
    if "tasks" not in fields:
        return one
    tasks = [
        TaskStatus(number, WorkerState[task], "w")
        if task in WorkerState.__members__
        else TaskStatus(number, FAILED, "w", task)
        for number, task in enumerate(fields["tasks"])
    ]
    return replace(one, tasks=tuple(tasks))


def step_of(text: str, case: Mapping[str, Any]) -> Step:
    word, _, name = text.partition(" ")
    action = Action(word)
    config = case.get("config") if action in (Action.CREATE, Action.CONFIGURE) else None
    initial = TargetState(case["initial"]) if "initial" in case else None
    made = step(name or "a", action, config, initial=initial)
    if action in (Action.ALTER, Action.RECORD):
        return replace(made, offset_change=BACK)
    if "parts" in case.get("restart", {}):
        return replace(made, restart=Restart(parts=tuple(case["restart"]["parts"])))
    if "requested" in case.get("restart", {}):
        request = RestartRequest(RequestKind.CONNECTOR, "1")
        return replace(made, restart=Restart(only_failed=False, request=request))
    return made


def test_all_adoptions_are_recorded_at_once_before_any_request(clock: ManualClock) -> None:
    cluster, journal = MemoryCluster(clock, *(connector(name, RUNNING) for name in "ab")), MemoryJournal()
    before: list[list[tuple[ConnectorName, ...]]] = []
    cluster.on_call = lambda *_: before.append(list(journal.adopted))
    steps = [step("a", Action.ADOPT), step("a", Action.STOP), step("b", Action.ADOPT), step("c", Action.CREATE, {})]
    assert results(run(cluster, *steps, journal=journal)) == [APPLIED] * 4
    assert before
    assert all(adopted == [("a", "b")] for adopted in before)


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

    def listen(outcomes: Sequence[StepOutcome]) -> None:
        reported.extend(outcomes)
        threads.add(threading.current_thread())

    steps = (step("a", Action.CREATE, {}), step("a", Action.STOP), step("b", Action.STOP))
    outcomes = run(cluster, *steps, on_outcomes=listen)
    assert [outcome.step for outcome in outcomes] == list(steps)
    assert {id(one) for one in reported} == {id(one) for one in outcomes}
    assert reported[-1].step == steps[1]
    assert threads == {threading.current_thread()}


def test_steps_that_one_poll_shows_are_reported_together_and_each_before_the_next_of_its_connector(
    clock: ManualClock,
) -> None:
    cluster = MemoryCluster(clock, *(connector(f"c{number}") for number in range(8)))
    reported: list[tuple[int, int]] = []

    def listen(outcomes: Sequence[StepOutcome]) -> None:
        reported.append((len(outcomes), sum(verb == "resume" for verb, _ in cluster.calls)))

    steps = (step(f"c{number}", action) for number in range(8) for action in (Action.STOP, Action.RESUME))
    assert set(results(run(cluster, *steps, on_outcomes=listen))) == {APPLIED}
    assert reported == [(8, 0), (8, 8)]


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


def test_reads_are_rare_while_nothing_depends_on_the_connectors_that_queue_up(clock: ManualClock) -> None:
    """A read in each second would be 60 reads. Slow threads can only make them fewer."""
    cluster = MemoryCluster(clock)
    cluster.on_call = lambda verb, _: clock.sleep(1)
    creations = [replace(step(f"n{i}", Action.CREATE, {}), initial_state=TargetState.STOPPED) for i in range(60)]
    assert set(results(run(cluster, *creations, parallelism=1))) == {APPLIED}
    assert cluster.looks < 25


@pytest.mark.parametrize(
    ("actions", "state", "expected"),
    [
        ([Action.CREATE], TargetState.STOPPED, True),
        ([Action.CREATE], TargetState.RUNNING, False),
        ([Action.CREATE, Action.ALTER, Action.RESUME], TargetState.STOPPED, False),
        ([Action.DELETE], None, True),
        ([Action.STOP, Action.DELETE], None, False),
    ],
)
def test_what_depends_on_how_soon_an_effect_is_seen(
    clock: ManualClock, actions: Sequence[Action], state: TargetState | None, expected: bool
) -> None:
    steps = tuple(replace(step("a", action), initial_state=state) for action in actions)
    planned = plan(*steps)
    assert ConnectorRun(planned.connectors[0], planned.cluster, execute_options(clock)).can_wait is expected


def test_requests_run_in_parallel_up_to_the_limit(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    together = threading.Barrier(3)
    cluster.on_call = lambda verb, name: verb == "create" and together.wait(timeout=10)
    outcomes = run(cluster, *(step(f"n{i}", Action.CREATE, {}) for i in range(9)), parallelism=3)
    assert set(results(outcomes)) == {APPLIED}
    assert cluster.most_at_once == 3


def test_reads_of_new_connectors_count_as_requests_and_hold_up_no_other_connector(clock: ManualClock) -> None:
    cluster, all_created, pair = MemoryCluster(clock), threading.Event(), threading.Barrier(2)
    created, reads, at_once = list[str](), list[str](), list[int]()

    def hang(verb: str, name: str) -> None:
        at_once.append(cluster.at_once + len(reads))
        if verb == "create":
            pair.wait(timeout=10)
            clock.seconds += 0.6
            created.append(name)
            if len(created) == 20:
                all_created.set()
        elif not all_created.is_set():  # no read ends before that
            reads.append(name)
            clock.seconds += 2.5
            assert all_created.wait(10)

    cluster.on_call = hang
    outcomes = run(cluster, *(step(f"n{i}", Action.CREATE, {}) for i in range(20)), parallelism=4)
    assert set(results(outcomes)) == {APPLIED}
    assert len(reads) == 2
    assert max(at_once) <= 4


@pytest.mark.parametrize(("state", "seconds", "most"), [(TargetState.RUNNING, 1, 40), (TargetState.STOPPED, 3, 7)])
def test_new_connectors_are_read_soon_and_many_at_a_time(
    clock: ManualClock, state: TargetState, seconds: int, most: int
) -> None:
    """A worker has a rebalance for all connectors that it creates between two reads."""
    cluster, order, began = MemoryCluster(clock), list[str](), dict[str, float]()

    def note(verb: str, name: str) -> None:
        order.append(verb)
        if verb == "create":
            clock.seconds += 0.1
            began[name] = clock.seconds
        else:
            clock.seconds += 0.01
            assert clock.seconds - began[name] < seconds

    cluster.on_call = note
    creations = (replace(step(f"n{i}", Action.CREATE, {}), initial_state=state) for i in range(100))
    outcomes = run(cluster, *creations, parallelism=4)
    assert set(results(outcomes)) == {APPLIED}
    bursts = sum(pair == ("create", "offsets") for pair in pairwise(order))
    assert order.count("offsets") == 100
    assert 3 <= bursts <= most


def test_a_connector_that_fails_to_start_says_why_without_its_secrets(clock: ManualClock) -> None:
    trace = "org.example.Oops: cannot log in with hunter22 or old-one at host\n\tat org.example.Secret(hunter22)"
    cluster = MemoryCluster(clock, delay=0)
    cluster.on_call = lambda verb, name: cluster.rules.fail("a", trace)
    change = Change("x", "old-one", "hunter22", sensitive=True)
    cluster.put(connector("a"))
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"x": "hunter22"}, changes=(change,)))
    assert outcome.result is BAD
    assert outcome.message.startswith("it is FAILED: org.example.Oops: cannot log in with *** or *** at host; fix its")
    assert "hunter22" not in repr(outcome)


@pytest.mark.parametrize("action", OF_THE_CONNECTOR)
@pytest.mark.parametrize("happens", [True, False])
def test_a_request_without_an_answer_is_sent_again_only_if_it_was_lost(
    clock: ManualClock, action: Action, happens: bool
) -> None:
    failed = replace(connector("a"), tasks=(TaskStatus(0, FAILED, "w", "java.lang.Boom"),))
    before = {Action.CREATE: [], Action.RESUME: [connector("a", STOPPED)], Action.RESTART: [failed]}
    there = before.get(action, [connector("a")])
    cluster = MemoryCluster(clock, *there)
    cluster.faults[request_of(action), "a"].append(Fault(LOST, happens))
    (outcome,) = run(cluster, step("a", action, {"k": "v"}))
    assert outcome.result is APPLIED
    assert len(cluster.calls) == (1 if happens else 2)


def test_a_create_without_an_answer_is_not_confused_with_that_of_another_client(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.faults["create", "a"].append(Fault(LOST))
    cluster.on_call = lambda verb, name: cluster.put(connector("a", RUNNING, {"k": "another"}))
    cluster.faults["create", "a"].append(Fault(AlreadyExists("exists")))
    (outcome,) = run(cluster, step("a", Action.CREATE, {"k": "v"}))
    assert outcome.result is BAD
    assert "found another config (keys that differ: k)" in outcome.message


@pytest.mark.parametrize(
    ("errors", "is_certain"),
    [
        ([], True),
        ([Rejected("no")], True),
        ([RebalanceInProgress("wait")], True),
        ([LedgerBusy("the lease was lost")], True),
        ([LOST], False),
        ([LOST, Rejected("no")], False),
        ([ZeroDivisionError("after the request")], False),
    ],
    ids=["of someone else", "rejected", "late", "not sent", "an answer was lost", "lost and rejected", "a bug"],
)
def test_an_outcome_says_whether_a_create_was_certainly_never_carried_out(
    clock: ManualClock, errors: list[Exception], *, is_certain: bool
) -> None:
    cluster = MemoryCluster(clock, connector("a", RUNNING, {"k": "another"}))
    cluster.faults["create", "a"].extend(map(Fault, errors))
    cluster.faults["configure", "b"].append(Fault(Rejected("no")))
    outcomes = run(cluster, step("a", Action.CREATE, {"k": "v"}), step("b", Action.CONFIGURE, {"k": "v"}))
    assert [one.result.is_in_place for one in outcomes] == [False, False]
    assert [one.created_nothing for one in outcomes] == [is_certain, False]


def test_creations_are_recorded_before_they_are_due(clock: ManualClock) -> None:
    """After answers at the same time, the next requests need no transaction. Only a few are recorded so early."""
    cluster, announced = MemoryCluster(clock), list[tuple[int, str]]()
    journal = Announcing(listen=lambda names: announced.append((len(cluster.calls), "".join(names))))
    steps = [step(name, Action.CREATE, {"k": "v"}) for name in "abcdefg"]
    assert results(run(cluster, *steps, parallelism=2, journal=journal)) == [APPLIED] * 7
    assert next(one for one in announced if len(one[1]) > 1) == (0, "abcd")
    for number, (_, name) in enumerate(cluster.calls):
        recorded = "".join(names for sent, names in announced if sent <= number)
        assert name in recorded
        assert len(set(recorded)) <= number + 6


def test_a_creation_that_was_recorded_and_not_begun_has_certainly_created_nothing(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    steps = [step(name, Action.CREATE, {"k": "v"}) for name in "abc"]
    outcomes = run(cluster, *steps, parallelism=1, interrupted=lambda: bool(cluster.calls))
    found = [(one.result, one.created_nothing) for one in outcomes]
    assert found == [(APPLIED, False), (SKIPPED, True), (SKIPPED, False)]


def test_an_error_of_the_records_of_several_creations_is_only_for_the_one_that_caused_it(clock: ManualClock) -> None:
    def fail(names: Sequence[str]) -> None:
        if "b" in names:
            raise LedgerUnusable("the row is too long")

    steps = [step(name, Action.CREATE, {"k": "v"}) for name in "abc"]
    outcomes = run(MemoryCluster(clock), *steps, journal=Announcing(listen=fail))
    assert results(outcomes) == [APPLIED, BAD, APPLIED]
    assert outcomes[1].message == "the row is too long"


def test_a_masked_value_is_no_evidence_that_a_new_one_has_arrived(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a", STOPPED, {"p": "********"}))
    cluster.faults["configure", "a"].append(Fault(LOST))
    change = Change("p", "********", "new", sensitive=True)
    (outcome,) = run(cluster, step("a", Action.CONFIGURE, {"p": "new"}, changes=(change,)))
    assert outcome.result is APPLIED
    assert len(cluster.calls) == 2


def test_a_delete_that_a_rebalancing_worker_answered_too_early_is_sent_again(clock: ManualClock) -> None:
    """The worker that answers does not know the connector yet; the client takes its 404 for a completed deletion."""
    cluster = MemoryCluster(clock, connector("a"))
    real, cluster.delete = cluster.delete, lambda name: setattr(cluster, "delete", real)  # type: ignore[method-assign]
    assert results(run(cluster, step("a", Action.DELETE))) == [APPLIED]
    assert cluster.listed == set()


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


def test_a_lost_lease_stops_before_the_next_effect(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b"))
    checks = []

    def check() -> None:
        checks.append(threading.current_thread())
        if len(checks) > 1:
            raise LedgerBusy("the lease was lost")

    steps = [step("a", Action.STOP), step("a", Action.DELETE), step("b", Action.STOP)]
    outcomes = run(cluster, *steps, before_effect=check, parallelism=1)
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


def test_the_lease_is_not_checked_again_for_each_of_many_creations(clock: ManualClock) -> None:
    """They are recorded under the lease, and the client checks it directly before each request."""
    checks: list[float] = []
    steps = [step(f"c{number:02}", Action.CREATE, {"k": "v"}) for number in range(40)]
    stop = step("d", Action.STOP)
    cluster = MemoryCluster(clock, connector("d"))
    run(cluster, *steps, stop, parallelism=4, before_effect=lambda: checks.append(clock.monotonic()))
    assert len(cluster.calls) == 41
    assert len(checks) == 2


def test_an_outcome_that_cannot_be_recorded_stops_the_run_and_is_raised_at_its_end(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name) for name in "abc"))
    reported: list[StepOutcome] = []

    def listen(outcomes: Sequence[StepOutcome]) -> None:
        reported.extend(outcomes)
        if len(reported) == len(outcomes):
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        run(cluster, *(step(name, Action.STOP) for name in "abc"), parallelism=1, on_outcomes=listen)
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
        run(cluster, step("a", Action.STOP), on_outcomes=reported.extend)
    assert results(tuple(reported)) == [BAD]


def test_a_keyboard_interrupt_reaches_the_caller(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cluster, step("a", Action.STOP), before_effect=interrupt)


def test_only_the_last_step_of_a_connector_is_watched(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b", STOPPED))
    outcomes = run(
        cluster,
        *(step("a", Action.CONFIGURE, {"k": "v"}), step("a", Action.STOP)),
        *(step("b", Action.CONFIGURE, {"k": "v"}), step("b", Action.RESUME)),
    )
    seconds = [outcome.seconds for outcome in outcomes]
    assert max(seconds[:3]) < 5 < seconds[3]


def test_steps_that_start_no_connector_do_not_wait_for_those_that_do(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, *(connector(name, STOPPED) for name in "ab"), connector("c"))
    reported_at: dict[str, float] = {}
    outcomes = run(
        cluster,
        *(step(name, Action.RESUME) for name in "ab"),
        *(step("c", Action.PAUSE), step("c", Action.DELETE)),
        parallelism=1,
        on_outcomes=lambda ended: reported_at.update({one.step.connector: clock.monotonic() for one in ended}),
    )
    assert {outcome.result for outcome in outcomes} == {APPLIED}
    assert reported_at["c"] < 5 < reported_at["a"] == reported_at["b"] < 12


class TestStopped:
    """The connectors that a process must report as left stopped if it is ended at once."""

    def test_a_connector_is_listed_from_its_stop_until_its_resume_is_accepted(self, clock: ManualClock) -> None:
        stopped = StoppedConnectors()
        cluster, seen, later = MemoryCluster(clock, connector("a")), [], set()
        cluster.on_call = lambda verb, name: seen.append((verb, bool(stopped.now)))
        clock.meanwhile = lambda: later.add((cluster.calls[-1][0], bool(stopped.now)))
        run(cluster, *OFFSET_CHANGE, stopped=stopped)
        assert [verb for verb, known in seen if known] == ["stop", "offsets", "alter", "offsets", "resume"]
        assert {("stop", True), ("resume", False)} <= later
        assert ("resume", True) not in later
        assert stopped.now == frozenset()

    def test_a_connector_that_was_created_stopped_is_listed(self, clock: ManualClock) -> None:
        stopped = StoppedConnectors()
        cluster, known = MemoryCluster(clock), []
        cluster.on_call = lambda verb, name: known.append((verb, ("local", A) in stopped.now))
        create = step("a", Action.CREATE, initial=TargetState.STOPPED)
        run(cluster, create, step("a", Action.RESUME), stopped=stopped)
        assert known == [("create", True), ("offsets", True), ("resume", True)]
        assert stopped.now == frozenset()

    def test_a_connector_that_is_declared_stopped_is_not_listed(self, clock: ManualClock) -> None:
        stopped = StoppedConnectors()
        known = []
        cluster = MemoryCluster(clock, connector("a"))
        cluster.on_call = lambda verb, name: known.append(stopped.now)
        create = step("b", Action.CREATE, initial=TargetState.STOPPED)
        run(cluster, step("a", Action.STOP), create, stopped=stopped)
        assert set(known) == {frozenset()}
