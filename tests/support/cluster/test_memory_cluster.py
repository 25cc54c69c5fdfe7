"""The cluster in memory stores offsets as Connect does, which the tests of the executor rely on."""

from __future__ import annotations

import pytest

from gitops_connect.errors import NotFound, NotStopped, OutcomeUnknown
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import Offsets, offset_text, partition_text
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import RUNNING, STOPPED, Fault, MemoryCluster, connector

NAME = ConnectorName("orders")
FIRST, SECOND = partition_text({"p": 1}), partition_text({"p": 2})
TEN, TWENTY = offset_text({"n": 10}), offset_text({"n": 20})


def made(clock: ManualClock, state: str = "STOPPED") -> MemoryCluster:
    return MemoryCluster(clock, connector(NAME, STOPPED if state == "STOPPED" else RUNNING))


def test_it_merges_removes_and_resets() -> None:
    cluster = made(ManualClock())
    assert cluster.alter_offsets(NAME, {FIRST: TEN, SECOND: TEN}) == ""
    assert cluster.alter_offsets(NAME, {FIRST: None}) == ""
    assert cluster.offsets(NAME) == {SECOND: TEN}
    cluster.warnings[NAME] = "managed externally"
    assert cluster.reset_offsets(NAME) == "managed externally"
    assert cluster.offsets(NAME) == {}
    assert cluster.changed == [(NAME, {FIRST: TEN, SECOND: TEN}), (NAME, {FIRST: None}), (NAME, None)]


def test_it_refuses_until_the_connector_is_stopped() -> None:
    clock = ManualClock()
    cluster = made(clock, "RUNNING")
    cluster.stop(NAME)
    with pytest.raises(NotStopped):
        cluster.alter_offsets(NAME, {FIRST: TEN})
    clock.sleep(cluster.delay)
    cluster.alter_offsets(NAME, {FIRST: TEN})
    assert len(cluster.changed) == 1


def test_a_lost_answer_may_have_taken_effect() -> None:
    cluster = made(ManualClock())
    cluster.faults["alter", NAME].extend([Fault(OutcomeUnknown("lost")), Fault(OutcomeUnknown("lost"), happens=True)])
    for offsets in ({}, {FIRST: TEN}):
        with pytest.raises(OutcomeUnknown):
            cluster.alter_offsets(NAME, {FIRST: TEN})
        assert cluster.offsets(NAME) == offsets


def test_offsets_outlive_their_connector() -> None:
    clock = ManualClock()
    cluster = made(clock)
    cluster.alter_offsets(NAME, {FIRST: TEN})
    cluster.delete(NAME)
    clock.sleep(cluster.delay)
    with pytest.raises(NotFound):
        cluster.offsets(NAME)
    cluster.create(NAME, {})
    assert cluster.offsets(NAME) == {FIRST: TEN}


def test_a_running_connector_moves_until_it_stops() -> None:
    clock = ManualClock()
    cluster = made(clock, "RUNNING")
    steps = iter([TEN, TWENTY])

    def progress(before: Offsets) -> Offsets:
        return {**before, FIRST: next(steps)}

    cluster.progress[NAME] = progress
    assert cluster.offsets(NAME) == {FIRST: TEN}
    cluster.stop(NAME)
    clock.sleep(cluster.delay)
    assert cluster.offsets(NAME) == cluster.offsets(NAME) == {FIRST: TWENTY}
