"""Targets of an offset change, resolved to positions in Kafka's partitions; the cases are in the YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from support.files.tables import rows

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.model.offset_targets import OffsetTarget, OffsetTargets, PositionKind
from gitops_connect.plan.target_resolution import Logs, exceeded, resolve, times_of, words

COMMITTED = datetime(2026, 11, 23, 10, tzinfo=UTC)
BASE = round(COMMITTED.timestamp() * 1000)
LOCATION = Location("a.yaml", 1, 1)


def targets(listed: list[dict[str, Any]]) -> OffsetTargets:
    found = [
        OffsetTarget(
            PositionKind(one["to"]),
            Location("a.yaml", line, 1),
            one.get("number", 0),
            one.get("topics", ""),
            frozenset(one.get("partitions", ())),
        )
        for line, one in enumerate(listed, start=1)
    ]
    return OffsetTargets(tuple(found), LOCATION)


def named(text: str) -> KafkaPartition:
    topic, _, number = text.rpartition("/")
    return KafkaPartition(topic, int(number))


@pytest.mark.parametrize(("to", "logs", "expected"), rows(__file__, "resolved"))
def test_targets_are_resolved(to: list[dict[str, Any]], logs: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    ranges = {named(name): LogRange(*one["log"]) for name, one in logs.items() if "log" in one}
    at = {
        named(name): None if one["at"] is None else LoggedRecord(one["at"], 0)
        for name, one in logs.items()
        if "at" in one
    }
    unread = {named(name): one["unread"] for name, one in logs.items() if "unread" in one}
    current = {named(name): one["current"] for name, one in logs.items() if "current" in one}
    found = resolve(targets(to), list(map(named, logs)), current, Logs(ranges, at, unread))
    assert {f"{one.topic}/{one.partition}": offset for one, offset in found.positions.items()} == expected.get("to", {})
    assert list(found.notes) == expected.get("notes", [])
    assert [f"{one.location.line}: {one.summary}" for one in found.problems] == expected.get("problems", [])


@pytest.mark.parametrize(("to", "expected"), rows(__file__, "words"))
def test_a_target_in_words(to: dict[str, Any], expected: str) -> None:
    assert [*words(targets([to]), COMMITTED, is_committed=True)] == [expected]


def test_only_the_partitions_of_a_time_are_asked_for() -> None:
    to = [
        {"to": "latest"},
        {"to": "ago", "number": 60_000, "topics": "a"},
        {"to": "time", "number": 5, "topics": "a", "partitions": [1]},
    ]
    partitions = [named(one) for one in ("a/0", "a/1", "b/0")]
    assert times_of(targets(to), partitions, COMMITTED) == {named("a/0"): BASE - 60_000, named("a/1"): 5}


@pytest.mark.parametrize(("planned", "now", "expected"), rows(__file__, "exceeded"))
def test_more_than_the_plan_has_shown(planned: dict[str, int], now: dict[str, int], expected: str) -> None:
    def difference(moves: dict[str, int]) -> Difference:
        far = {Direction(name): distance for name, distance in moves.items()}
        return Difference(dict.fromkeys(far, 1), far)

    assert exceeded(difference(planned), difference(now)) == expected
