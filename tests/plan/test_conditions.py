"""Conditions: what they say, since when, and health problems that begin only after some time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.files.tables import rows
from support.planner.situations import NOW, REVISION, seen, situation, wanted

from gitops_connect.model.active_topics import ReadTopics, TopicRules
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.health import HealthReason
from gitops_connect.model.names import ConnectorName, Digest, TopicName
from gitops_connect.model.observed_state import (
    ObservedConnector,
    OffsetPosition,
    PartitionPosition,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.restart_records import RestartRecord
from gitops_connect.model.status import (
    Condition,
    ConditionKey,
    Conditions,
    ConditionStatus,
    ConditionType,
    ConnectorStatus,
)
from gitops_connect.plan.conditions import changes, cluster_ready, connector_conditions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.plan.situation import Situation
from gitops_connect.report.connector_status import StatusFindings, connector_statuses, problems_by_connector

ORDERS = ConnectorName("orders")
WORKER = "127.0.0.1:8083"


def with_task(state: str) -> ObservedConnector:
    return replace(seen("orders"), tasks=(TaskStatus(0, WorkerState(state), WORKER),))


def minutes(number: float) -> datetime:
    return NOW + timedelta(minutes=number)


def conditions(given: Situation) -> dict[ConditionKey, Condition]:
    return connector_conditions(given.conditions, statuses_of(given), plan(given), given.now)


def statuses_of(given: Situation) -> Iterable[ConnectorStatus]:
    problems = problems_by_connector(given.desired, Diagnostics(), Diagnostics())
    return connector_statuses(
        plan(given), given.desired, given.observed, StatusFindings(given.now, find_unhealthy(given), problems)
    )


def over_time(*observed: tuple[float, ObservedConnector], gone: frozenset[str] = frozenset()) -> list[Condition]:
    """The condition Healthy of each reconciliation: at that minute, with that connector."""
    before: Conditions = {}
    healthy = []
    for minute, connector in observed:
        given = situation([wanted("orders")], [connector], owned=["orders"], now=minutes(minute), conditions=before)
        before = conditions(replace(given, observed=replace(given.observed, gone=gone)))
        healthy.append(before[ORDERS, ConditionType.HEALTHY, ""])
    return healthy


def facts(condition: Condition) -> tuple[str, str, datetime]:
    return condition.status.value, condition.reason, condition.since


def test_a_connector_that_is_in_sync_and_works_is_ready() -> None:
    found = conditions(situation([wanted("orders")], [seen("orders")], owned=["orders"]))
    assert {kind: one.status for (_, kind, _), one in found.items()} == dict.fromkeys(
        [ConditionType.SYNCED, ConditionType.HEALTHY, ConditionType.READY], ConditionStatus.TRUE
    )
    assert {one.revision for one in found.values()} == {REVISION}


OBSERVED = {
    "running": seen("orders"),
    "failed": seen("orders", tasks=["Boom: x"]),
    "unassigned": with_task("UNASSIGNED"),
    "stopped": seen("orders", "STOPPED"),
}


@pytest.mark.parametrize("case", rows(__file__, "healthy"), ids=lambda case: case["case"])
def test_healthy_over_time(case: Mapping[str, Any]) -> None:
    healthy = over_time(*((minute, OBSERVED[one]) for minute, one, *_ in case["times"]))
    for found, (minute, _, status, reason, since, *message) in zip(healthy, case["times"], strict=True):
        assert facts(found) == (status, reason, minutes(since)), minute
        assert not message or message[0] in found.message


def test_a_task_on_a_worker_that_does_not_answer_is_degraded_although_connect_reports_it_running() -> None:
    running = with_task("RUNNING")
    elsewhere = replace(running, worker="127.0.0.1:8084")
    healthy = over_time((0, elsewhere), (3, elsewhere), gone=frozenset({WORKER}))
    assert [one.reason for one in healthy] == ["Progressing", "NotRunning"]
    assert f"task 0 is on worker {WORKER}, which does not answer" in healthy[1].message


def test_offsets_that_do_not_move_are_degraded_if_the_document_asks_for_it() -> None:
    position = {ORDERS: OffsetPosition(Digest("d"), minutes(-61))}
    asked = wanted("orders", offsets_move_within=timedelta(hours=1))
    found = conditions(situation([asked], [seen("orders")], owned=["orders"], positions=position))
    assert found[ORDERS, ConditionType.HEALTHY, ""].reason == HealthReason.OFFSETS_NOT_MOVING.value
    assert found[ORDERS, ConditionType.HEALTHY, ""].since == minutes(-61)
    for calm in (wanted("orders"), wanted("orders", offsets_move_within=timedelta(hours=2))):
        found = conditions(situation([calm], [seen("orders")], owned=["orders"], positions=position))
        assert found[ORDERS, ConditionType.HEALTHY, ""].status is ConditionStatus.TRUE


def test_a_partition_that_does_not_move_is_said_by_the_condition_of_a_healthy_connector() -> None:
    file, other = (PartitionText(f'{{"filename":"{name}"}}') for name in "ab")
    stopped = PartitionPosition(OffsetText("{}"), minutes(-61), has_moved=True)
    partitions = {file: stopped, other: replace(stopped, since=minutes(-1))}
    position = {ORDERS: OffsetPosition(Digest("d"), minutes(-1), partitions)}
    asked = wanted("orders", offsets_move_within=timedelta(hours=1))
    found = conditions(situation([asked], [seen("orders")], owned=["orders"], positions=position))
    healthy = found[ORDERS, ConditionType.HEALTHY, ""]
    message = '1 of 2 partitions does not move: {"filename":"a"} since 2026-11-21 08:29:00 UTC'
    assert (healthy.status, healthy.message) == (ConditionStatus.TRUE, message)
    assert found[ORDERS, ConditionType.READY, ""].status is ConditionStatus.TRUE


def test_restarts_that_are_given_up_are_a_condition_of_their_own() -> None:
    failed = seen("orders", tasks=["Boom: x"])
    record = {ORDERS: RestartRecord(6, minutes(-1))}
    found = conditions(situation([wanted("orders")], [failed], owned=["orders"], restarts=record))
    given_up = found[ORDERS, ConditionType.RESTARTS_GIVEN_UP, ""]
    assert (given_up.status, given_up.message) == (ConditionStatus.TRUE, "gave up after 6 automatic restarts")
    assert not [key for key in over_time((0, failed)) if key.type is ConditionType.RESTARTS_GIVEN_UP]


def test_unexpected_topics_are_a_condition_since_they_were_first_seen() -> None:
    ruled = wanted("orders", topics=TopicRules(allow=("a",)))
    read = ReadTopics({ORDERS: frozenset({TopicName("b")})})
    before = conditions(situation([ruled], [seen("orders")], owned=["orders"], topics=read))
    found = before[ORDERS, ConditionType.UNEXPECTED_TOPICS, ""]
    assert (found.status, found.reason, found.since) == (ConditionStatus.TRUE, "TopicNotAllowed", NOW)
    assert found.message == "spec.topics does not allow topics that it has used: b"
    later = situation([ruled], [seen("orders")], owned=["orders"], now=minutes(9), conditions=before)
    assert conditions(later)[ORDERS, ConditionType.UNEXPECTED_TOPICS, ""] == found, "they were not read again"
    read = ReadTopics({ORDERS: frozenset({TopicName("a")})})
    assert (ORDERS, ConditionType.UNEXPECTED_TOPICS, "") not in conditions(replace(later, topics=read))


def test_a_connector_is_not_ready_for_the_reason_of_its_state_if_it_is_healthy() -> None:
    given = situation([wanted("orders", config={"a": "b"})], [seen("orders")], owned=["orders"])
    found = conditions(given)
    ready, synced = (found[ORDERS, kind, ""] for kind in (ConditionType.READY, ConditionType.SYNCED))
    assert (ready.status, ready.reason) == (ConditionStatus.FALSE, synced.reason)
    failed = replace(given, observed=replace(given.observed, connectors={ORDERS: OBSERVED["failed"]}))
    assert conditions(failed)[ORDERS, ConditionType.READY, ""].reason == HealthReason.FAILED.value


def test_unmanaged_connectors_have_no_conditions() -> None:
    assert conditions(situation([], [seen("orders", "FAILED")])) == {}


@pytest.mark.parametrize("change", ["status", "message", "nothing"])
def test_only_what_differs_is_recorded(change: str) -> None:
    before = conditions(situation([wanted("orders")], [seen("orders", tasks=["Boom: x"])], owned=["orders"]))
    observed = {
        "status": seen("orders"),
        "message": seen("orders", tasks=["Boom: y"]),
        "nothing": seen("orders", tasks=["Boom: x"]),
    }[change]
    later = situation([wanted("orders")], [observed], owned=["orders"], now=minutes(1), conditions=before)
    changed, ended = changes(before, conditions(later))
    expected = set() if change == "nothing" else {ConditionType.HEALTHY, ConditionType.READY}
    assert {kind for _, kind, _ in changed} == expected
    assert ended == []


def test_a_cluster_is_ready_if_all_its_connectors_are() -> None:
    given = situation([wanted("a"), wanted("b")], [seen("a"), seen("b", "FAILED")], owned=["a", "b"])
    statuses = statuses_of(given)
    found = cluster_ready(statuses, 2, NOW, REVISION)
    assert (found.status, found.reason) == (ConditionStatus.FALSE, "ConnectorsNotReady")
    assert found.message == "1 of 2 connectors are not ready: b; 2 errors in the documents"
    assert cluster_ready(statuses[:1], 0, NOW, REVISION).status is ConditionStatus.TRUE
