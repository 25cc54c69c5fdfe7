"""How offsets move from reconciliation to reconciliation, and which connectors are degraded because theirs do not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import rows
from support.planner.situations import NOW, REVISION, current_offsets, seen, situation, wanted

from gitops_connect.errors import ConnectUnavailable
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.ledger.column_types import PartitionPositionsText
from gitops_connect.model.canonical import canonical
from gitops_connect.model.config_histories import ConfigHistory, ConfigTrial, RollbackOptions, RollbackTrigger
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.observed_state import ObservedConnector, OffsetPosition
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.plans import Plan
from gitops_connect.model.suspensions import Suspension, Suspensions
from gitops_connect.observe import MOST_FOLLOWED, observe_positions
from gitops_connect.plan.planner import plan
from gitops_connect.plan.rollbacks import declared_config, find_rollbacks
from gitops_connect.plan.rollouts import stopped_rollouts
from gitops_connect.plan.situation import Policy, Situation

ORDERS = ConnectorName("orders")
Positions = Mapping[ConnectorName, OffsetPosition]
STUCK: Mapping[str, Any] = {"readings": [[0, {"a": 1, "b": 1}], [1, {"a": 2, "b": 2}], [61, {"a": 3, "b": 2}]]}


class Worker:
    """The part of a `ConnectClient` that returns offsets."""

    def __init__(self, offsets: Offsets | SavedOffsets | None) -> None:
        self.offsets = offsets

    def save_offsets(self, _name: str, _file: Path, _limit: int) -> Offsets | SavedOffsets:
        if self.offsets is None:
            raise ConnectUnavailable("no answer")
        return self.offsets


def minutes(number: float) -> datetime:
    return NOW + timedelta(minutes=number)


def read(
    offsets: Offsets | SavedOffsets | None, minute: float, before: Positions, *observed: ObservedConnector
) -> Positions:
    """What is known after a reading, as the ledger stores it."""
    known = observe_positions(Worker(offsets), observed or [seen("orders")], BUILT_IN, before, minutes(minute))
    column = PartitionPositionsText()
    for one in known.values():
        assert column.load(json.loads(canonical(column.dump(one.partitions)))) == one.partitions
    return known


def after(readings: Iterable[tuple[int, Any]]) -> tuple[Positions, ObservedConnector, datetime]:
    known: Positions = {}
    for number, found in readings:
        minute, observed = number, seen("orders", "PAUSED" if found == "at rest" else "RUNNING")
        known = read(current_offsets(**found) if isinstance(found, dict) else None, minute, known, observed)
    return known, observed, minutes(minute)


def limited(limits: Iterable[int | None], **more: Any) -> DesiredConnector:
    offsets, each = (None if minute is None else timedelta(minutes=minute) for minute in limits)
    return wanted("orders", offsets_move_within=offsets, partitions_move_within=each, **more)


def given(case: Mapping[str, Any], desired: DesiredConnector | None = None, **more: Any) -> Situation:
    known, observed, now = after(case["readings"])
    one = desired or limited(case.get("limits", (None, 60)))
    return situation([one], [observed], owned=["orders"], now=now, positions=known, **more)


def problems(made: Plan) -> list[str]:
    return ["; ".join(one.problems) for one in made.unhealthy]


@pytest.mark.parametrize("case", rows(__file__, "moving"), ids=lambda case: case["case"])
def test_what_does_not_move(case: Mapping[str, Any]) -> None:
    made = plan(given(case))
    assert problems(made) == ([case["problem"]] if "problem" in case else [])
    progress = made.offset_progress.get(ORDERS)
    if progress is not None and not made.unhealthy:
        assert progress.note == case.get("note", "")
    if "distance" in case:
        assert progress is not None
        assert (progress.distance, progress.unit) == (case["distance"], "file_bytes")


def test_partitions_are_followed_up_to_a_limit_and_the_status_says_so() -> None:
    name = "x" * (MOST_FOLLOWED // 100)
    many, most = (current_offsets(**{f"{name}{number}": 1 for number in range(count)}) for count in (100, 95))
    for large in (many, SavedOffsets("current.jsonl", 5, 5, Digest("d"))):
        known = read(large, 0, {})
        assert not known[ORDERS].partitions
        made = plan(situation([limited((60, 120))], [seen("orders")], now=minutes(60), positions=known))
        assert problems(made) == ["its offsets have been the same since 2026-11-21 09:30:00 UTC"]
        assert "too many to follow each" in made.offset_progress[ORDERS].note
    known = read(current_offsets(a=1), 1, read(many, 0, {}))
    assert not known[ORDERS].partitions[next(iter(current_offsets(a=1)))].has_moved, "nobody saw it before"
    of_cluster = observe_positions(Worker(most), [seen(f"c{number}") for number in range(70)], BUILT_IN, {}, NOW)
    assert 64 <= sum(bool(one.partitions) for one in of_cluster.values()) < 70


def test_names_are_masked_and_short_and_numbers_may_be_huge() -> None:
    name = f"hunter2{'x' * 1000}"
    known = read(current_offsets(**{name: 10**400}), 1, read(current_offsets(**{name: 1}), 0, {}))
    assert known[ORDERS].distance <= 2**63
    one = situation([limited((None, 60))], [seen("orders")], now=minutes(61), positions=known, secrets={"hunter2"})
    (problem,) = problems(plan(one))
    assert '{"filename":"***xxx' in problem
    assert len(problem) < 250


def test_a_stuck_partition_is_never_a_reason_for_a_restart() -> None:
    made = plan(given(STUCK, policy=Policy(auto_restart=True)))
    assert made.unhealthy
    assert made.unhealthy[0].restarts is None
    assert made.is_empty


def test_a_stuck_partition_of_a_suspended_connector_is_said_and_its_suspension_stays() -> None:
    for desired, more in (
        (limited((None, 60), suspend=True), {}),
        (limited((None, 60), mode="observe"), {}),
        (None, {"suspensions": Suspensions(Suspension("ann", NOW, "INC-1"))}),
    ):
        made = plan(given(STUCK, desired, **more))
        assert made.unhealthy
        assert made.is_empty


@pytest.mark.parametrize(("trial_began", "is_blamed"), [(0, True), (30, False)])
def test_a_new_config_is_not_blamed_for_a_partition_that_was_stuck_before(trial_began: int, is_blamed: bool) -> None:
    options = RollbackOptions(timedelta(hours=2), frozenset({RollbackTrigger.DEGRADED}))
    desired = limited((None, 60), config={"topic": "new"}, rollback=options)
    healthy = declared_config(limited((None, 60), config={"topic": "old"}))
    trial = ConfigTrial(declared_config(desired).digest, REVISION, minutes(trial_began), was_healthy=True)
    histories = {ORDERS: ConfigHistory(healthy, trial)}
    known, observed, now = after(STUCK["readings"])
    connectors = [replace(observed, config=dict(desired.config)), seen("other")]
    other, policy = wanted("other", config={"topic": "new"}), Policy(rollout_max_failures=1)
    more = {"owned": ["orders", "other"], "config_histories": histories, "policy": policy}
    one = situation([desired, other], connectors, now=now, positions=known, **more)
    made = plan(one)
    assert len(made.unhealthy) == 1
    assert bool(find_rollbacks(one, made)) is is_blamed
    assert bool(stopped_rollouts(made)) is is_blamed
