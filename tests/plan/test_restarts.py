"""Automatic restarts of connectors that have failed: when each is due, and when the daemon gives up."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.planner.situations import NOW, seen, situation, wanted

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Plan
from gitops_connect.model.restart_records import AutoRestart, RestartOutlook, RestartRecord
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import uncounted, until_next_restart
from gitops_connect.plan.situation import Policy
from gitops_connect.report.words import hints, remedy

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
    assert end.last == restarts[ORDERS].last


def test_only_the_daemon_restarts() -> None:
    made = planned(policy=Policy())
    assert made.is_empty
    assert outlook(made).next == NOW, "but a plan shows that it is due"


def test_of_many_those_that_are_due_for_the_longest_time_come_first_and_the_others_follow_at_once() -> None:
    names = ["a", "b", "c", "d"]
    failed = [seen(name, tasks=["Boom"]) for name in names]
    earlier = {ConnectorName(name): RestartRecord(1, ago(minutes=minutes)) for name, minutes in (("d", 9), ("b", 5))}

    def made(at_most: int) -> Plan:
        policy = Policy(concurrent_restarts=at_most)
        return plan(situation(map(wanted, names), failed, owned=names, policy=policy, restarts=earlier))

    assert [step.connector for step in made(2).steps] == ["b", "d"]
    assert [step.connector for step in made(3).steps] == ["a", "b", "d"]
    assert until_next_restart(made(2), NOW) == 0
    assert until_next_restart(made(4), NOW) == 120


NO_ACL = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [t]"
FENCED = "Boom: no\nCaused by: org.apache.kafka.common.errors.InvalidProducerEpochException: old epoch"


class TestKnownFailures:
    def test_a_missing_permission_uses_up_no_restarts(self) -> None:
        made = planned(seen("orders", tasks=[NO_ACL]), restarts=record(2, minutes=30))
        assert made.is_empty
        assert outlook(made).count == 2
        assert outlook(made).why_not == "a permission on a topic is missing, and a restart does not change that"
        assert until_next_restart(made, NOW) == math.inf

    @pytest.mark.parametrize("tasks", [[FENCED], [NO_ACL, "Boom"], [FENCED, NO_ACL]])
    def test_other_failures_are_restarted(self, tasks: list[str]) -> None:
        assert [step.action.value for step in planned(seen("orders", tasks=tasks)).steps] == ["restart"]

    def test_a_document_can_allow_it(self) -> None:
        allowed = {"auto_restart": AutoRestart(only_on=("TopicAuthorization*",))}
        assert not planned(seen("orders", tasks=[NO_ACL]), desired=allowed).is_empty

    def test_the_cause_comes_before_the_trace_and_the_advice_is_given_once(self) -> None:
        others = [seen("orders", tasks=[FENCED, FENCED]), seen("a", tasks=[NO_ACL]), seen("b", tasks=[NO_ACL])]
        made = plan(situation([wanted("orders"), wanted("a"), wanted("b")], others))
        first, _, third = made.unhealthy
        assert first.problems == (f"task 0 is FAILED: a permission on a topic is missing: {NO_ACL}",)
        assert third.problems[0].startswith("tasks 0-1 are FAILED: its producer was fenced: Boom: no Caused by: org.")
        shown = [one.render(str) for one in hints(made.unhealthy)]
        assert [line[:40] for line in shown] == [
            "hint: a, b: grant the connector the perm",
            "hint: orders: another producer with its ",
            "hint: fix the cause, then run: gitops-co",
        ]
        many = [replace(first, name=ConnectorName(f"c{number}")) for number in range(7)]
        assert next(hints(many)).render(str).startswith("hint: c0, c1, c2, c3, c4, 2 more connectors: grant")
        assert remedy(first).endswith("; fix the cause, then run: gitops-connect restart connector a --failed")


class TestUntilTheNext:
    @pytest.mark.parametrize(
        ("restarts", "seconds"),
        [
            ({}, 120),
            (record(1, minutes=2), 240),
            (record(2, minutes=1), 180),
            (record(6, minutes=1), math.inf),
            (record(1, minutes=-60), 240),  # the clock was set back
        ],
    )
    def test_seconds(self, restarts: dict[ConnectorName, RestartRecord], seconds: float) -> None:
        assert until_next_restart(planned(restarts=restarts), NOW) == seconds

    def test_a_restart_that_other_steps_prevent_causes_no_hurry(self) -> None:
        assert until_next_restart(planned(desired={"config": {"file": "other"}}), NOW) == math.inf


@pytest.mark.parametrize(
    ("observed", "minutes", "unknown", "is_uncounted"),
    [
        ([seen("orders")], 10, [], True),
        ([seen("orders")], 9, [], False),
        ([FAILED], 10, [], False),
        ([], 1, [], True),
        ([], 60, ["orders"], False),
    ],
    ids=["worked for ten minutes", "less", "failed", "does not exist", "unknown state"],
)
def test_restarts_are_no_longer_counted(
    observed: list[ObservedConnector], minutes: int, unknown: list[str], is_uncounted: bool
) -> None:
    given = situation([wanted("orders")], observed, unknown=unknown, restarts=record(3, minutes=minutes))
    assert [*uncounted(given)] == ["orders"] * is_uncounted
