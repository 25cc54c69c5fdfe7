"""Restarts that documents request: once for each id, after the other steps, for managed connectors that run."""

from __future__ import annotations

from typing import Any

import pytest
from support.planner.situations import seen, situation, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.restart_records import Restart, RestartKind, RestartRequest
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import seen_before_managed

ORDERS = ConnectorName("orders")
WHOLE = RestartRequest(RestartKind.CONNECTOR, "1")
TASKS = RestartRequest(RestartKind.TASKS, "1", tasks=(0, 2))


def planned(*requests: RestartRequest, done: tuple[RestartRequest, ...] = (), **more: Any) -> Plan:
    declared = wanted("orders", more.pop("state", "running"), restarts=requests, config=more.pop("config", None))
    observed = more.pop("observed", seen("orders", tasks=["RUNNING", "Boom"]))
    accepted = {(ORDERS, one.kind): one.id for one in done}
    owned = more.pop("owned", ["orders"])
    return plan(situation([declared], [observed], owned=owned, restart_requests=accepted, **more))


def test_a_new_id_restarts_the_connector() -> None:
    (step,) = planned(WHOLE).steps
    assert (step.action, step.restart) == (Action.RESTART, Restart(True, False, request=WHOLE))
    assert step.reason == "spec.restart.id is '1'"


def test_an_id_that_was_carried_out_does_nothing() -> None:
    assert planned(WHOLE, TASKS, done=(WHOLE, TASKS)).is_empty


def test_another_id_is_another_restart() -> None:
    assert not planned(RestartRequest(RestartKind.CONNECTOR, "2"), done=(WHOLE,)).is_empty


def test_tasks_have_a_request_each() -> None:
    (step,) = planned(WHOLE, TASKS, done=(WHOLE,)).steps
    assert step.restart == Restart(parts=(0, 2), request=TASKS)
    assert step.reason == "spec.restartTasks.id is '1'"


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        (WHOLE, (None, 0, 1)),
        (RestartRequest(RestartKind.CONNECTOR, "1", only_failed=True), (1,)),
        (RestartRequest(RestartKind.CONNECTOR, "1", include_tasks=False), (None,)),
    ],
)
def test_workers_before_3_0_get_a_request_for_each_part(
    request_: RestartRequest, parts: tuple[int | None, ...]
) -> None:
    (step,) = planned(request_, version="2.8.1").steps
    assert step.restart is not None
    assert step.restart.parts == parts


VERSION = RestartRequest(RestartKind.SECRETS, "2")


def test_a_new_secret_version_restarts_the_connector_and_its_tasks_once() -> None:
    (step,) = planned(VERSION, done=(RestartRequest(RestartKind.SECRETS, "1"),)).steps
    assert (step.action, step.restart) == (Action.RESTART, Restart(True, False, request=VERSION))
    assert step.reason == "spec.secretVersion is '2': the worker reads the values of config providers again"
    assert planned(VERSION, done=(VERSION,)).is_empty
    assert [one.action for one in planned(VERSION, owned=[]).steps] == [Action.ADOPT]


def test_a_new_secret_version_covers_the_other_requests() -> None:
    (step,) = planned(WHOLE, TASKS, VERSION).steps
    assert step.restart == Restart(True, False, request=VERSION, also=(WHOLE, TASKS))
    assert step.reason.endswith("again; spec.restart.id is '1'; spec.restartTasks.id is '1'")
    assert len(planned(WHOLE, TASKS, VERSION, done=(VERSION,)).steps) == 2


def test_it_comes_after_the_other_steps() -> None:
    made = planned(WHOLE, observed=seen("orders", "STOPPED"), config={"file": "other"})
    assert [step.action for step in made.steps] == [Action.CONFIGURE, Action.RESUME, Action.RESTART]


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_a_connector_that_must_not_run_is_restarted_later(state: str) -> None:
    assert Action.RESTART not in {step.action for step in planned(WHOLE, state=state).steps}


def test_a_connector_that_is_not_managed_yet_is_adopted_without_a_restart() -> None:
    """A lost ledger repeats no restart."""
    assert [step.action for step in planned(WHOLE, owned=[]).steps] == [Action.ADOPT]
    given = situation([wanted("orders", restarts=(WHOLE, TASKS))], [seen("orders")])
    assert [*seen_before_managed(given)] == [("orders", WHOLE), ("orders", TASKS)]
    managed = situation([wanted("orders", restarts=(WHOLE,))], [seen("orders")], owned=["orders"])
    assert [*seen_before_managed(managed)] == []


def test_a_new_connector_is_not_restarted() -> None:
    made = plan(situation([wanted("orders", restarts=(WHOLE,))], []))
    assert [step.action for step in made.steps] == [Action.CREATE]


def test_a_requested_restart_is_no_drift() -> None:
    assert planned(WHOLE).drifted == ()


def test_a_suspended_connector_is_not_restarted() -> None:
    declared = wanted("orders", restarts=(WHOLE,), suspend=True)
    assert plan(situation([declared], [seen("orders")], owned=["orders"])).is_empty
