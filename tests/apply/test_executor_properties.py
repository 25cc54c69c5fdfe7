"""Properties of every plan, whatever the cluster answers and whenever the plan is interrupted."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import FAILED, RUNNING, STOPPED, Fault, MemoryCluster, connector
from support.cluster.memory_journal import execute_options
from support.planner.plans_of_steps import OF_THE_CONNECTOR, plan, request_of, step

from gitops_connect.apply.executor import execute
from gitops_connect.errors import ConnectUnavailable, OutcomeUnknown, RebalanceInProgress, Rejected
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action

NAMES = ("a", "b", "c", "d")
ERRORS = (
    Fault(Rejected("no")),
    Fault(RebalanceInProgress("rebalancing")),
    Fault(ConnectUnavailable("nobody")),
    Fault(OutcomeUnknown("no answer")),
    Fault(OutcomeUnknown("no answer"), happens=True),
)

steps = st.builds(
    lambda name, action, config: step(name, action, config if action is Action.CREATE or action.changes_config else {}),
    st.sampled_from(NAMES),
    st.sampled_from(OF_THE_CONNECTOR),
    st.sampled_from([{"k": "v"}, {"k": "w"}, {"start": "fail"}]),
)
faults = st.dictionaries(
    st.tuples(st.sampled_from([action.value for action in Action]), st.sampled_from(NAMES)),
    st.lists(st.sampled_from(ERRORS), max_size=3),
    max_size=6,
)
states = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([RUNNING, STOPPED, FAILED]))


@pytest.mark.slow
@settings(max_examples=3 * settings().max_examples)
@given(
    wanted=st.lists(steps, max_size=9),
    faults=faults,
    states=states,
    parallelism=st.integers(1, 3),
    calls_allowed=st.none() | st.integers(0, 6),
)
def test_every_plan_ends_in_order_and_once(wanted, faults, states, parallelism: int, calls_allowed) -> None:
    cluster = MemoryCluster(ManualClock(), *(connector(name, state) for name, state in states.items()))
    for key, errors in faults.items():
        cluster.faults[key].extend(errors)
    begun: list[bool] = []
    reported: list[StepOutcome] = []

    def interrupted() -> bool:
        return calls_allowed is not None and len(cluster.calls) >= calls_allowed

    the_plan = plan(*wanted)
    options = execute_options(
        cluster.clock,
        parallelism=parallelism,
        settle_timeout=20,
        interrupted=interrupted,
        before_effect=lambda: begun.append(True),
        on_outcomes=reported.extend,
    )
    outcomes = execute(the_plan, cluster, options)

    # Each step ends once, and is reported once; the outcomes are in the plan's order.
    assert [outcome.step for outcome in outcomes] == list(the_plan.steps)
    assert Counter(map(id, reported)) == Counter(map(id, outcomes))
    # After a step that did not succeed, all later steps of its connector are skipped.
    for _, run in groupby(outcomes, key=lambda outcome: outcome.step.connector):
        after_failure = [outcome.result for outcome in run]
        while after_failure and after_failure[0] is Result.APPLIED:
            after_failure.pop(0)
        assert set(after_failure[1:]) <= {Result.SKIPPED}
    # The requests of a connector are those of its steps, in their order; each may be repeated before the next one.
    for name in NAMES:
        sent = [verb for verb, of in cluster.calls if of == name]
        allowed = [request_of(one.action) for one in the_plan.steps if one.connector == name]
        assert _is_in_order(sent, allowed)
    # After an interrupt no step begins: only the requests that were in progress are completed.
    if calls_allowed is not None:
        assert len(cluster.calls) <= max(0, calls_allowed + parallelism - 1)
    assert cluster.most_at_once <= parallelism
    # Every failure and every skip has a message.
    assert all(outcome.message for outcome in outcomes if outcome.result is not Result.APPLIED)


def _is_in_order(sent: list[str], allowed: list[str]) -> bool:
    """True if `sent` is a prefix of `allowed`, its items repeated any number of times."""
    pattern = ""
    for verb in reversed(allowed):
        pattern = f"(({verb} )+{pattern})?"
    return re.fullmatch(pattern, "".join(f"{verb} " for verb in sent)) is not None
