"""A large change over HTTP, with pieces of a real ledger, on the stand-in and on a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.connect import StandIn
from support.cluster.large_world import APPLY, LargeWorld, lines
from support.cluster.manual_clock import ManualClock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.clock import Clock
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.outcomes import Result
from gitops_connect.settings.sections import ClusterSettings

pytestmark = pytest.mark.slow
APPLIED, BAD = Result.APPLIED, Result.FAILED
MANY, FEW = 20_000, 2_000


@pytest.fixture
def runtime(url: str, worker_clock: Clock, tmp_path: Path) -> Iterator[LargeWorld]:
    with ConnectClient(ClusterSettings(APPLY, (url,)), worker_clock) as client:
        runtime = LargeWorld(client, url, tmp_path, clock=worker_clock)
        yield runtime
        for name in runtime.made:
            client.delete(name)


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[tuple[StandIn, LargeWorld]]:
    """A stand-in that can have faults, and a change of few offsets."""
    clock = ManualClock()
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), clock) as client:
        runtime = LargeWorld(client, standin.url, tmp_path, clock=clock)
        runtime.prepare(FEW)
        yield standin, runtime


def test_it_is_sent_in_chunks_and_settled(runtime: LargeWorld) -> None:
    runtime.prepare(MANY)
    assert [(outcome.result, outcome.message) for outcome in runtime.run()] == [(APPLIED, "")]
    assert runtime.positions() == [0, MANY]
    record = runtime.record
    assert record is not None
    assert (record.state, record.entries, record.sent) == (OffsetChangeState.SETTLED, MANY, MANY)
    assert runtime.progress[-1].done == MANY
    before = b"".join(runtime.ledger.offset_changes.pieces(APPLY, record.name, OffsetsPart.BEFORE))
    assert sorted(before.splitlines(keepends=True)) == lines(1, MANY)


def test_an_interrupt_ends_it_between_two_chunks_and_the_next_run_goes_on(runtime: LargeWorld) -> None:
    runtime.prepare(FEW)

    def interrupted() -> bool:
        return runtime.record is not None and (runtime.record.sent or 0) >= 3 * runtime.at_once

    (outcome,) = runtime.run(interrupted=interrupted)
    assert outcome.result is BAD
    assert outcome.message.startswith("interrupted; 600 of 2,000 offsets are set: the connector stays stopped")
    assert runtime.positions() == [FEW - 600, 600]
    assert [one.result for one in runtime.run()] == [APPLIED]
    assert runtime.positions() == [0, FEW]


@pytest.mark.parametrize("effect", [True, False])
@pytest.mark.parametrize("fault", ["drop", "time-out"])
def test_answers_that_are_lost(faulty: tuple[StandIn, LargeWorld], fault: str, effect: bool) -> None:
    standin, runtime = faulty
    before = standin.count("PATCH")
    path = f"/connectors/{runtime.offset_change.connector}/offsets"
    for _ in range(3):
        if fault == "drop":
            standin.drop("PATCH", path, effect=effect)
        else:
            standin.refuse("PATCH", path, 500, "Request timed out. The worker is currently …", effect=effect)
    assert [one.result for one in runtime.run()] == [APPLIED]
    assert runtime.positions() == [0, FEW]
    assert standin.count("PATCH") - before == 3 + 10


def test_a_worker_that_is_away_for_a_while(faulty: tuple[StandIn, LargeWorld]) -> None:
    standin, runtime = faulty
    clock = runtime.clock
    assert isinstance(clock, ManualClock)
    standin.refuse("PATCH", ".*/offsets", 409, "a rebalance is expected", times=20)
    clock.meanwhile = lambda: setattr(standin, "starting", clock.seconds < 10)
    assert [one.result for one in runtime.run()] == [APPLIED]


def test_a_worker_that_does_not_come_back_leaves_it_open(faulty: tuple[StandIn, LargeWorld]) -> None:
    standin, runtime = faulty

    def interrupted() -> bool:
        standin.starting = runtime.record is not None and (runtime.record.sent or 0) >= 2 * runtime.at_once
        return False

    (outcome,) = runtime.run(interrupted=interrupted)
    assert outcome.result is BAD
    message = "400 of 2,000 offsets are set: the connector stays stopped, and the next reconciliation continues"
    assert message in outcome.message
    assert runtime.record is not None
    assert (runtime.record.state, runtime.record.sent) == (OffsetChangeState.OPEN, 400)
    standin.starting = False
    assert [one.result for one in runtime.run()] == [APPLIED]
    assert runtime.positions() == [0, FEW]
