"""Automatic restarts of connectors that have failed: when each is due, and when the daemon gives up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.planner.situations import NOW, seen, situation, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Action, Plan
from gitops_connect.model.restart_records import AutoRestart, Restart, RestartOutlook, RestartRecord
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import uncounted, until_next_restart
from gitops_connect.plan.situation import Policy

ORDERS = ConnectorName("orders")
DAEMON = Policy(concurrent_restarts=5)
FAILED = seen("orders", tasks=["java.lang.Boom: no\n\tat org.example.Task.poll(Task.java:7)"])


def ago(**time: float) -> datetime:
    return NOW - timedelta(**time)


def record(count: int, **time: float) -> dict[ConnectorName, RestartRecord]:
    return {ORDERS: RestartRecord(count, ago(**time))}


def planned(observed: ObservedConnector = FAILED, policy: Policy = DAEMON, **more: Any) -> Plan:
    """The plan of a daemon; `desired` are fields of the document."""
    declared = wanted("orders", **more.pop("desired", {}))
    return plan(situation([declared], [observed], owned=["orders"], policy=policy, **more))


def outlook(made: Plan) -> RestartOutlook:
    (one,) = made.unhealthy
    assert one.restarts is not None
    return one.restarts


def test_the_schedule_is_that_of_strimzi() -> None:
    """Minute 0, 2, 6, 12, 20 and 30 of continued failure; then it is given up. Reconciled every 30 seconds."""
    restarts: dict[ConnectorName, RestartRecord] = {}
    minutes = []
    for half_minute in range(240):
        now = NOW + timedelta(minutes=half_minute / 2)
        if planned(restarts=restarts, now=now).steps:
            minutes.append(half_minute / 2)
            count = restarts[ORDERS].count if restarts else 0
            restarts = {ORDERS: RestartRecord(count + 1, now)}
    assert minutes == [0, 2, 6, 12, 20, 30]
    end = outlook(planned(restarts=restarts, now=now))
    assert (end.gave_up, end.next, end.why_not) == (True, None, "gave up after 6 automatic restarts")


def test_the_step_names_its_number_and_the_failure() -> None:
    (step,) = planned(restarts=record(1, minutes=3)).steps
    assert (step.action, step.restart) == (Action.RESTART, Restart())
    assert step.reason == "automatic restart 2 of 6; task 0 is FAILED: java.lang.Boom: no"


def test_a_failed_connector_is_restarted_in_the_plan_that_adopts_it() -> None:
    made = plan(situation([wanted("orders")], [FAILED], policy=DAEMON))
    assert [step.action for step in made.steps] == [Action.ADOPT, Action.RESTART]


def test_only_the_daemon_restarts() -> None:
    made = planned(policy=Policy())
    assert made.is_empty
    assert outlook(made).next == NOW, "but a plan shows that it is due"


def test_a_pause_grows_to_an_hour_and_not_further() -> None:
    allowed = {"auto_restart": AutoRestart(max_restarts=100)}
    assert planned(desired=allowed, restarts=record(60, minutes=59)).is_empty
    assert not planned(desired=allowed, restarts=record(60, minutes=60)).is_empty


def test_workers_before_3_0_get_a_request_for_each_failed_part() -> None:
    failed = seen("orders", "FAILED", tasks=["RUNNING", "Boom", "Boom"])
    (step,) = planned(failed, version="2.8.1").steps
    assert step.restart == Restart(parts=(None, 1, 2))


@pytest.mark.parametrize(
    ("desired", "policy", "why_not"),
    [
        ({"auto_restart": AutoRestart(enabled=False)}, DAEMON, "spec.autoRestart.enabled is false"),
        ({"auto_restart": AutoRestart(max_restarts=0)}, DAEMON, "gave up after 0 automatic restarts"),
        ({}, replace(DAEMON, auto_restart=False), "auto_restart is off in the settings"),
        ({}, replace(DAEMON, enforce=False), "the cluster is in mode observe"),
        ({"suspend": True}, DAEMON, "suspended by its document"),
        ({"mode": "observe"}, DAEMON, "its document sets mode: observe"),
    ],
)
def test_what_turns_them_off_is_named(desired: dict[str, Any], policy: Policy, why_not: str) -> None:
    made = planned(policy=policy, desired=desired)
    assert made.is_empty
    assert (outlook(made).next, outlook(made).why_not) == (None, why_not)


class TestPatterns:
    @pytest.mark.parametrize(
        ("never_on", "is_restarted"),
        [(["Boom"], False), (["Task.poll"], False), (["java.*no"], False), (["Bang"], True), ([], True)],
    )
    def test_never_on(self, never_on: Iterable[str], is_restarted: bool) -> None:
        made = planned(desired={"auto_restart": AutoRestart(never_on=tuple(never_on))})
        assert bool(made.steps) is is_restarted
        if not is_restarted:
            assert "in spec.autoRestart.neverOn" in outlook(made).why_not

    @pytest.mark.parametrize(
        ("only_on", "traces", "is_restarted"),
        [
            (["Timeout"], ["a.Timeout: 1"], True),
            (["Timeout"], ["a.Timeout: 1", "Boom"], False),
            (["Timeout", "Boom"], ["a.Timeout: 1", "Boom"], True),
            (["Timeout"], ["Boom"], False),
        ],
    )
    def test_only_on_must_match_every_failed_part(
        self, only_on: Iterable[str], traces: list[str], is_restarted: bool
    ) -> None:
        allowed = AutoRestart(only_on=tuple(only_on))
        assert bool(planned(seen("orders", tasks=traces), desired={"auto_restart": allowed}).steps) is is_restarted


@pytest.mark.parametrize("observed", [seen("orders"), seen("orders", tasks=[]), seen("orders", "UNASSIGNED")])
def test_only_what_is_failed_is_restarted(observed: ObservedConnector) -> None:
    assert planned(observed).is_empty


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_a_connector_that_must_not_run_is_not_restarted(state: str) -> None:
    made = plan(situation([wanted("orders", state)], [FAILED], owned=["orders"], policy=DAEMON))
    assert Action.RESTART not in {step.action for step in made.steps}


def test_a_connector_that_is_not_declared_is_not_restarted() -> None:
    made = plan(situation([], [FAILED], owned=["orders"], policy=DAEMON))
    assert made.is_empty
    assert made.unhealthy[0].restarts is None


def test_other_steps_come_first() -> None:
    made = planned(desired={"config": {"file": "other"}})
    assert [step.action for step in made.steps] == [Action.CONFIGURE]


class TestManyAtOnce:
    def made(self, at_most: int) -> Plan:
        names = ["a", "b", "c", "d"]
        failed = [seen(name, tasks=["Boom"]) for name in names]
        earlier = {
            ConnectorName("d"): RestartRecord(1, ago(minutes=9)),
            ConnectorName("b"): RestartRecord(1, ago(minutes=5)),
        }
        policy = Policy(concurrent_restarts=at_most)
        return plan(situation(map(wanted, names), failed, owned=names, policy=policy, restarts=earlier))

    def test_those_that_are_due_for_the_longest_time_come_first(self) -> None:
        assert [step.connector for step in self.made(2).steps] == ["b", "d"]
        assert [step.connector for step in self.made(3).steps] == ["a", "b", "d"]

    def test_the_others_follow_at_once(self) -> None:
        assert until_next_restart(self.made(2), NOW) == 0
        assert until_next_restart(self.made(4), NOW) == 120


class TestUntilTheNext:
    @pytest.mark.parametrize(
        ("restarts", "seconds"),
        [({}, 120), (record(1, minutes=2), 240), (record(2, minutes=1), 180), (record(6, minutes=1), math.inf)],
    )
    def test_seconds(self, restarts: dict[ConnectorName, RestartRecord], seconds: float) -> None:
        assert until_next_restart(planned(restarts=restarts), NOW) == seconds

    def test_a_restart_that_other_steps_prevent_causes_no_hurry(self) -> None:
        assert until_next_restart(planned(desired={"config": {"file": "other"}}), NOW) == math.inf


class TestUncounted:
    def names(self, observed: Iterable[ObservedConnector], count: int = 3, **more: Any) -> list[str]:
        given = situation([wanted("orders", **more.pop("desired", {}))], observed, restarts=record(count, **more))
        return [*uncounted(given, plan(given))]

    def test_a_connector_that_has_worked_for_ten_minutes(self) -> None:
        assert self.names([seen("orders")], minutes=10) == ["orders"]
        assert self.names([seen("orders")], minutes=9) == []
        assert self.names([FAILED], minutes=10) == []

    def test_a_connector_with_another_config(self) -> None:
        assert self.names([FAILED], minutes=1, desired={"config": {"file": "other"}}) == ["orders"]

    def test_a_connector_that_does_not_exist(self) -> None:
        assert self.names([], minutes=1) == ["orders"]

    def test_a_connector_whose_state_is_unknown_is_kept(self) -> None:
        given = situation([wanted("orders")], [], unknown=["orders"], restarts=record(3, minutes=60))
        assert [*uncounted(given, plan(given))] == []
