"""Plans carried out over HTTP: on the stand-in, and on a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from contract.under_test import Contract
from manual_clock import ManualClock
from plans_of_steps import plan, step
from standin.connect import StandIn

from gitops_connect.apply.executor import ExecuteOptions, execute
from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName
from gitops_connect.model.observed import WorkerState
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.settings.sections import ClusterSettings
from gitops_connect.world import SystemClock

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED


@dataclass
class World(Contract):
    """A cluster under test, and the clock to apply on: nobody waits for the stand-in."""

    clock: Clock = field(default_factory=SystemClock)


@pytest.fixture(params=["standin", pytest.param("real", marks=pytest.mark.e2e)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "standin":
        with StandIn() as standin:
            yield standin.url
    else:
        yield request.getfixturevalue("sandbox").worker_urls[0]


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    return SystemClock() if request.node.get_closest_marker("e2e") else ManualClock()


@pytest.fixture
def world(url: str, clock: Clock, tmp_path: Path) -> Iterator[World]:
    with ConnectClient(ClusterSettings(ClusterName("apply"), (url,)), clock) as client:
        world = World(client, url, tmp_path, clock=clock)
        yield world
        for name in world.made:
            client.delete(name)
        world.session.close()


def run(world: World, *steps: Step) -> dict[tuple[str, Action], StepOutcome]:
    options = ExecuteOptions(clock=world.clock, settle_timeout=30, min_running=0.5)
    outcomes = execute(plan(*steps), world.client, options)
    return {(outcome.step.connector, outcome.step.action): outcome for outcome in outcomes}


def messages(outcomes: dict[tuple[str, Action], StepOutcome]) -> list[str]:
    return [outcome.message for outcome in outcomes.values() if outcome.result is not APPLIED]


def state(world: World, name: str) -> WorkerState:
    return world.client.connectors()[0][name].state


def test_the_life_of_connectors(world: World) -> None:
    running, paused, stopped = (world.name(text) for text in ("running", "paused", "stopped"))
    created = run(
        world,
        step(running, Action.CREATE, world.source()),
        step(paused, Action.CREATE, world.source(), initial=TargetState.PAUSED),
        step(stopped, Action.CREATE, world.source(), initial=TargetState.STOPPED),
    )
    assert messages(created) == []
    assert [state(world, name).value for name in (running, paused, stopped)] == ["RUNNING", "PAUSED", "STOPPED"]
    changed = run(
        world,
        step(running, Action.PAUSE),
        step(running, Action.CONFIGURE, world.source(topic="second")),
        step(paused, Action.STOP),
        step(paused, Action.RESUME),
        step(stopped, Action.CONFIGURE, world.source(topic="third")),
        step(stopped, Action.RESUME),
    )
    assert messages(changed) == []
    assert [state(world, name).value for name in (running, paused, stopped)] == ["PAUSED", "RUNNING", "RUNNING"]
    assert world.client.connectors()[0][stopped].config["topic"] == "third"
    gone = run(world, *(step(name, Action.DELETE) for name in (running, paused, stopped)))
    assert messages(gone) == []
    assert world.client.names().isdisjoint({running, paused, stopped})


def test_a_running_connector_is_given_another_config(world: World) -> None:
    name = world.name()
    outcomes = run(
        world, step(name, Action.CREATE, world.source()), step(name, Action.CONFIGURE, world.source(topic="b"))
    )
    assert messages(outcomes) == []
    assert world.client.connectors()[0][name].config["topic"] == "b"


def test_a_connector_that_cannot_start_is_a_failure_and_can_be_stopped(world: World) -> None:
    name, other = world.name("bad"), world.name("good")
    created = run(
        world,
        step(name, Action.CREATE, world.mirror()),
        step(name, Action.STOP),
        step(other, Action.CREATE, world.source()),
    )
    assert [outcome.result for outcome in created.values()] == [BAD, SKIPPED, APPLIED]
    assert created[name, Action.CREATE].message.startswith("it is FAILED: org.apache.kafka.")
    assert messages(run(world, step(name, Action.STOP))) == []
    assert state(world, name) is WorkerState.STOPPED


def test_a_pause_of_a_failed_connector_is_found_to_have_failed(world: World) -> None:
    name = world.create("bad", world.mirror())
    world.await_state(name, "FAILED")
    (outcome,) = run(world, step(name, Action.PAUSE)).values()
    assert outcome.message.startswith("the connector cannot be paused: it is FAILED: org.apache.kafka.")


def test_a_config_that_connect_rejects_ends_with_its_words(world: World) -> None:
    name = world.name()
    config = {**world.source(), "tasks.max": "many"}
    outcome = run(world, step(name, Action.CREATE, config), step(name, Action.STOP))[name, Action.CREATE]
    assert outcome.result is BAD
    assert "Invalid value many for configuration tasks.max" in outcome.message
    assert name not in world.client.names()


def test_a_config_that_breaks_a_running_connector_is_noticed(world: World) -> None:
    name = world.create("turns", world.source())
    world.await_state(name, "RUNNING")
    outcome = run(world, step(name, Action.CONFIGURE, world.mirror()))[name, Action.CONFIGURE]
    assert outcome.result is BAD
    assert outcome.message.startswith("it is FAILED: org.apache.kafka.")


def test_a_create_of_what_is_there_fails(world: World) -> None:
    name = world.create("twice", world.source())
    (outcome,) = run(world, step(name, Action.CREATE, world.source())).values()
    assert outcome.result is BAD
    assert f"Connector {name} already exists" in outcome.message


class TestFaults:
    """What only a worker does that is told to."""

    @pytest.fixture
    def standin(self) -> Iterator[StandIn]:
        with StandIn() as standin:
            yield standin

    @pytest.fixture
    def url(self, standin: StandIn) -> str:
        return standin.url

    def test_a_lost_answer_does_not_create_twice(self, standin: StandIn, world: World) -> None:
        standin.drop("POST", "/connectors", effect=True)
        assert messages(run(world, step(world.name(), Action.CREATE, world.source()))) == []
        assert standin.count("POST", "/connectors") == 1

    def test_a_rebalance_and_a_cluster_that_cannot_be_read_are_waited_for(self, standin: StandIn, world: World) -> None:
        text = "Cannot complete request momentarily due to conflicting operation (e.g. worker rebalance)"
        standin.refuse("PUT", ".*/stop", 409, text, times=2)
        standin.refuse("GET", r"/connectors\?.*", 500, "Request cannot be completed because a rebalance is expected")
        name = world.create("busy", world.source())
        assert messages(run(world, step(name, Action.STOP))) == []

    def test_a_lag_of_the_status_is_waited_for(self, standin: StandIn, world: World) -> None:
        standin.cluster.lag = 2
        name = world.name()
        steps = [step(name, Action.CREATE, world.source()), step(name, Action.STOP), step(name, Action.RESUME)]
        assert messages(run(world, *steps)) == []

    def test_masked_passwords_are_no_obstacle(self, standin: StandIn, world: World) -> None:
        standin.cluster.masks_passwords = True
        name = world.name()
        config = world.mirror(
            **{"source.cluster.bootstrap.servers": "127.0.0.1:1", "source.cluster.ssl.key.password": "x"}
        )
        assert messages(run(world, step(name, Action.CREATE, config))) == []

    def test_many_cost_as_many_looks_as_one(self, standin: StandIn, world: World) -> None:
        steps = [step(world.name(f"n{number}"), Action.CREATE, world.source()) for number in range(40)]
        assert messages(run(world, *steps)) == []
        assert standin.count("GET", r"/connectors\?expand.*|/connectors") <= 8
