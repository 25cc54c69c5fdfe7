"""Properties of every plan, for generated situations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.planner.situations import NOW, as_observed, seen, situation, wanted

from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, Plan
from gitops_connect.plan.ownership_records import drifted, remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Policy, Situation

pytestmark = pytest.mark.slow

names = st.sampled_from([ConnectorName(f"connector-{letter}") for letter in "abcdefgh"])
configs = st.dictionaries(
    st.sampled_from(["file", "topic", "batch.size", "database.password"]), st.text(max_size=8), max_size=4
)
present = st.sampled_from(["running", "paused", "stopped"])
worker_states = st.sampled_from(["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"])
versions = st.sampled_from(["3.6.2", "3.7.0", "4.3.1"])
STATES = {TargetState.RUNNING: WorkerState.RUNNING, TargetState.PAUSED: WorkerState.PAUSED}


def desired_connectors(states: st.SearchStrategy[str]) -> st.SearchStrategy[list[DesiredConnector]]:
    one = st.builds(lambda name, state, config: wanted(name, state, config=config), names, states, configs)
    return st.lists(one, unique_by=lambda connector: connector.name)


observed_connectors = st.lists(
    st.builds(lambda name, state, config: seen(name, state, config=config), names, worker_states, configs),
    unique_by=lambda connector: connector.name,
)
situations = st.builds(
    lambda desired, observed, owned, version, prune: situation(
        desired, observed, owned=owned, version=version, policy=Policy(prune=prune, max_deletions=1)
    ),
    desired_connectors(st.one_of(present, st.just("absent"))),
    observed_connectors,
    st.sets(names),
    versions,
    st.booleans(),
)


@given(desired_connectors(present), versions)
def test_a_cluster_that_is_as_declared_is_only_adopted(desired: list[DesiredConnector], version: str) -> None:
    observed, names = [*map(as_observed, desired)], [one.name for one in desired]
    assert plan(situation(desired, observed, owned=names, version=version)).is_empty
    made = plan(situation(desired, observed, version=version))
    assert [step.action for step in made.steps] == [Action.ADOPT] * len(desired)
    assert set(made.adopted) == set(names)


@given(situations)
def test_every_plan(given_: Situation) -> None:
    made = plan(given_)
    assert plan(applied(given_)).is_empty, "what was applied needs nothing more"
    turned = replace(
        given_,
        desired=replace(given_.desired, connectors=given_.desired.connectors[::-1]),
        observed=replace(given_.observed, connectors=dict(reversed(given_.observed.connectors.items()))),
        ownership=dict(reversed(given_.ownership.items())),
    )
    assert plan(turned) == made, "the order of the input does not count"
    assert {step.connector for step in made.steps if step.action is Action.DELETE} <= given_.ownership.keys()
    assert all(step.reason for step in made.steps)
    for step in made.steps:
        if step.action is Action.CONFIGURE:
            assert dict(step.config) != dict(given_.observed.connectors[step.connector].config)
    order = {Action.DELETE: 0, Action.CREATE: 0, Action.STOP: 1, Action.CONFIGURE: 2, Action.RESUME: 3}
    for connector in made.connectors:
        ranks = [order[step.action] for step in connector.steps if step.action in order]
        assert ranks == sorted(ranks), "what stops comes before the config, and what starts after it"


@given(situations, st.text(min_size=1, max_size=8))
def test_a_change_by_hand_after_an_apply_is_drift_and_a_change_in_git_is_not(given_: Situation, value: str) -> None:
    settled = recorded(applied(given_))
    for connector in settled.desired.connectors:
        if connector.state is not TargetState.ABSENT:
            assert drifted(settled, connector)
            assert not drifted(settled, replace(connector, config={**connector.config, "new": value}))


def applied(before: Situation) -> Situation:
    """The situation once every step of its plan took effect, by the rules of Connect."""
    made = plan(before)
    there, by_name = dict(before.observed.connectors), {one.name: one for one in before.desired.connectors}
    new = [by_name[step.connector] for step in made.steps if step.action in (Action.ADOPT, Action.CREATE)]
    managed = {**before.ownership, **{one.name: remember(before, one, Origin.ADOPTED, NOW) for one in new}}
    for step in made.steps:
        match step.action:
            case Action.CREATE:
                state = step.initial_state or TargetState.RUNNING
                there[step.connector] = replace(seen(step.connector, state.value.upper()), config=dict(step.config))
            case Action.CONFIGURE:
                there[step.connector] = configured(there[step.connector], dict(step.config))
            case Action.STOP:
                there[step.connector] = replace(there[step.connector], state=WorkerState.STOPPED)
            case Action.PAUSE:
                there[step.connector] = replace(there[step.connector], state=WorkerState.PAUSED)
            case Action.RESUME:
                there[step.connector] = replace(there[step.connector], state=WorkerState.RUNNING)
            case Action.DELETE:
                del there[step.connector]
    return replace(before, observed=replace(before.observed, connectors=there), ownership=managed)


def configured(connector: ObservedConnector, config: dict[str, str]) -> ObservedConnector:
    """A new config restarts a failed connector."""
    state = WorkerState.RUNNING if connector.state is WorkerState.FAILED else connector.state
    return replace(connector, config=config, state=state)


def recorded(settled: Situation) -> Situation:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    records = {one.name: remember(settled, one, Origin.CREATED, now) for one in settled.desired.connectors}
    return replace(settled, ownership=records)


def test_the_digest_of_a_plan_moves_with_its_steps() -> None:
    def made(file: str) -> Plan:
        return plan(situation([wanted("orders", config={"file": file})]))

    assert made("/a").digest == made("/a").digest
    assert made("/a").digest != made("/b").digest


def test_the_fingerprint_moves_with_what_was_observed_and_not_with_what_is_not_read() -> None:
    def made(observed: ObservedConnector) -> Plan:
        return plan(situation([wanted("orders")], [observed, seen("theirs", config={"file": observed.worker})]))

    before = made(seen("orders"))
    assert made(replace(seen("orders"), worker="another:8083", tasks=())).fingerprint == before.fingerprint
    assert made(seen("orders", "PAUSED")).fingerprint != before.fingerprint
    assert made(seen("orders", config={"file": "/b"})).fingerprint != before.fingerprint
