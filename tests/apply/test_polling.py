from __future__ import annotations

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import MemoryCluster, connector

from gitops_connect.apply.step_execution import (
    BUSY_PAUSE,
    LONGEST_BUSY_PAUSE,
    LONGEST_PAUSE,
    SHORTEST_PAUSE,
    PollInterval,
    take_snapshot,
)
from gitops_connect.errors import ConnectUnavailable

NONE: frozenset[str] = frozenset()


def pauses(pace: PollInterval, count: int, *, seconds: float = 0.0) -> list[float]:
    now, found = 0.0, []
    for _ in range(count):
        pace.observe(now, seconds, moved=False)
        found.append(round(pace.due(busy=False, urgent=True) - now, 6))
        now = pace.due(busy=False, urgent=True)
    return found


def test_looks_become_rarer_up_to_a_limit() -> None:
    found = pauses(PollInterval(0), 12)
    assert found == sorted(found)
    assert found[0] > SHORTEST_PAUSE
    assert found[-1] == LONGEST_PAUSE


def test_looks_are_frequent_again_when_something_moves() -> None:
    pace = PollInterval(0)
    pauses(pace, 12)
    pace.observe(100, 0, moved=True)
    assert pace.due(busy=False, urgent=True) == 100 + SHORTEST_PAUSE
    pauses(pace, 12)
    pace.observe(200, 0, moved=False)
    pace.answered(200.1, alone=False)
    assert pace.due(busy=False, urgent=True) == 200 + SHORTEST_PAUSE


def test_the_first_that_waits_is_looked_at_soon() -> None:
    pace = PollInterval(0)
    pace.answered(50, alone=True)
    assert pace.due(busy=False, urgent=True) == 50 + SHORTEST_PAUSE


def test_looks_that_cost_much_are_rare_and_rarer_while_requests_queue_up() -> None:
    pace = PollInterval(0)
    pace.observe(0, 0.3, moved=True)
    assert (pace.due(busy=False, urgent=True), pace.due(busy=True, urgent=True)) == pytest.approx((0.9, 3.0))
    pace.observe(0, 0.01, moved=True)
    assert pace.due(busy=True, urgent=True) == BUSY_PAUSE


def test_while_requests_queue_up_looks_are_rarest_if_no_step_follows() -> None:
    pace = PollInterval(0)
    pace.observe(0, 0.01, moved=True)
    assert (pace.due(busy=True, urgent=False), pace.due(busy=False, urgent=False)) == (
        LONGEST_BUSY_PAUSE,
        SHORTEST_PAUSE,
    )
    pace.observe(0, 0.6, moved=True)
    assert pace.due(busy=True, urgent=False) == pytest.approx(6.0)


def test_one_look_is_one_request(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock, connector("a"), connector("b"))
    cluster.unreadable.add("b")
    seen = take_snapshot(cluster, clock, 7, frozenset({"a", "b"}))
    assert (seen.number, set(seen.connectors), seen.unknown, seen.gone, seen.error) == (7, {"a"}, {"b"}, NONE, "")
    assert (cluster.looks, cluster.name_looks) == (1, 0)


def test_the_names_tell_what_is_gone_from_what_has_no_status(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.create("without-status", {})
    assert take_snapshot(cluster, clock, 1, frozenset({"gone", "without-status"})).gone == {"gone"}
    assert cluster.name_looks == 1


def test_a_cluster_that_cannot_be_read_is_no_cluster_without_connectors(clock: ManualClock) -> None:
    cluster = MemoryCluster(clock)
    cluster.look_faults.append(ConnectUnavailable("nobody"))
    seen = take_snapshot(cluster, clock, 1, frozenset({"a"}))
    assert (seen.error, seen.gone) == ("nobody", NONE)
