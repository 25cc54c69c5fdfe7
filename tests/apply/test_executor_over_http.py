"""Plans applied over HTTP, on the stand-in and on a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from contract.under_test import Contract
from support.cluster.memory_journal import execute_options
from support.planner.plans_of_steps import plan, step

from gitops_connect.apply.executor import execute
from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import ClusterSettings

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED


@dataclass
class World(Contract):
    clock: Clock = field(default_factory=SystemClock)


@pytest.fixture
def runtime(url: str, worker_clock: Clock, tmp_path: Path) -> Iterator[World]:
    with ConnectClient(ClusterSettings(ClusterName("apply"), (url,)), worker_clock) as client:
        runtime = World(client, url, tmp_path, clock=worker_clock)
        yield runtime
        for name in runtime.made:
            client.delete(name)


def run(runtime: World, *steps: Step) -> dict[tuple[str, Action], StepOutcome]:
    options = execute_options(runtime.clock, settle_timeout=30, min_running=0.5)
    outcomes = execute(plan(*steps), runtime.client, options)
    return {(outcome.step.connector, outcome.step.action): outcome for outcome in outcomes}


def messages(outcomes: dict[tuple[str, Action], StepOutcome]) -> list[str]:
    return [outcome.message for outcome in outcomes.values() if outcome.result is not APPLIED]


def state(runtime: World, name: str) -> WorkerState:
    return runtime.client.connectors()[0][name].state


def test_the_life_of_connectors(runtime: World) -> None:
    running, paused, stopped = (runtime.name(text) for text in ("running", "paused", "stopped"))
    created = run(
        runtime,
        step(running, Action.CREATE, runtime.source()),
        step(running, Action.CONFIGURE, runtime.source(topic="first")),
        step(paused, Action.CREATE, runtime.source(), initial=TargetState.PAUSED),
        step(stopped, Action.CREATE, runtime.source(), initial=TargetState.STOPPED),
    )
    assert messages(created) == []
    assert [state(runtime, name).value for name in (running, paused, stopped)] == ["RUNNING", "PAUSED", "STOPPED"]
    assert runtime.client.connectors()[0][running].config["topic"] == "first"
    changed = run(
        runtime,
        step(running, Action.PAUSE),
        step(running, Action.CONFIGURE, runtime.source(topic="second")),
        step(paused, Action.STOP),
        step(paused, Action.RESUME),
        step(stopped, Action.CONFIGURE, runtime.source(topic="third")),
        step(stopped, Action.RESUME),
    )
    assert messages(changed) == []
    assert [state(runtime, name).value for name in (running, paused, stopped)] == ["PAUSED", "RUNNING", "RUNNING"]
    assert runtime.client.connectors()[0][stopped].config["topic"] == "third"
    gone = run(runtime, *(step(name, Action.DELETE) for name in (running, paused, stopped)))
    assert messages(gone) == []
    assert runtime.client.names().isdisjoint({running, paused, stopped})


def test_a_connector_that_cannot_start_is_a_failure_and_can_be_stopped(runtime: World) -> None:
    name, other = runtime.name("bad"), runtime.name("good")
    created = run(
        runtime,
        step(name, Action.CREATE, runtime.mirror()),
        step(name, Action.STOP),
        step(other, Action.CREATE, runtime.source()),
    )
    assert [outcome.result for outcome in created.values()] == [BAD, SKIPPED, APPLIED]
    assert created[name, Action.CREATE].message.startswith("it is FAILED: org.apache.kafka.")
    assert messages(run(runtime, step(name, Action.STOP))) == []
    assert state(runtime, name) is WorkerState.STOPPED


def test_a_config_that_connect_rejects_ends_with_its_words(runtime: World) -> None:
    name = runtime.name()
    config = {**runtime.source(), "tasks.max": "many"}
    outcome = run(runtime, step(name, Action.CREATE, config), step(name, Action.STOP))[name, Action.CREATE]
    assert outcome.result is BAD
    assert "Invalid value many for configuration tasks.max" in outcome.message
    assert name not in runtime.client.names()


def test_steps_that_fail_on_a_connector_that_exists(runtime: World) -> None:
    name = runtime.create("turns", runtime.source())
    runtime.await_state(name, "RUNNING")
    (again,) = run(runtime, step(name, Action.CREATE, runtime.source())).values()
    (broken,) = run(runtime, step(name, Action.CONFIGURE, runtime.mirror())).values()
    (paused,) = run(runtime, step(name, Action.PAUSE)).values()
    assert [one.result for one in (again, broken, paused)] == [BAD] * 3
    assert f"Connector {name} already exists" in again.message
    assert broken.message.startswith("it is FAILED: org.apache.kafka.")
    assert paused.message.startswith("the connector cannot be paused: it is FAILED: org.apache.kafka.")
