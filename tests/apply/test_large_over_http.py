"""A large change over HTTP, with the ledger's own pieces: on the stand-in, and on a real worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from contract.under_test import Contract
from manual_clock import ManualClock
from memory_journal import MemoryJournal
from plans_of_steps import plan
from standin.connect import StandIn

from gitops_connect.apply.executor import ExecuteOptions, execute
from gitops_connect.apply.journal import Chunk, LargeChange
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.pieces import Part
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Difference, Review
from gitops_connect.model.large_manifests import SavedOffsets
from gitops_connect.model.names import ClusterName, Digest, OperationName, Revision
from gitops_connect.model.operations import Operation, OperationKind, OperationRecord, OperationState
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.settings.sections import ClusterSettings
from gitops_connect.world import SystemClock

APPLIED, BAD, SKIPPED = Result.APPLIED, Result.FAILED, Result.SKIPPED
APPLY = ClusterName("apply")
MANY, FEW = 20_000, 2_000


def lines(position: int, count: int) -> list[bytes]:
    """Canonical, and in the order of their partitions' numbers."""
    one = '{{"partition":{{"stream":"{:05}"}},"offset":{{"position":{}}}}}\n'
    return [one.format(number, position).encode() for number in range(count)]


@dataclass
class World(Contract):
    """A cluster under test, a ledger, and one large change of a connector that has as many offsets."""

    clock: Clock = field(default_factory=SystemClock)
    progress: list[SendingProgress] = field(default_factory=list)

    def prepare(self, many: int) -> None:
        self.many, self.at_once = many, many // 10
        self.ledger = Ledger.open("sqlite:///state.db", self.folder, None)
        name = self.stopped("many", self.numbers())
        self.operation = Operation(
            OperationName("c"), name, OperationKind.ALTER, Digest("d"), Revision("r"), is_large=True
        )
        self.client.alter_offsets_with(name, _body(lines(1, many)))

    def run(self, **more: Any) -> tuple[StepOutcome, ...]:
        steps = [Step(self.operation.connector, Action.ALTER, "", operation=self.operation)]
        options = ExecuteOptions(
            clock=self.clock, settle_timeout=30, journal=_Journal(self), on_progress=self.progress.append, **more
        )
        return execute(plan(*steps), self.client, options)

    @property
    def record(self) -> OperationRecord | None:
        return self.ledger.operations.records(APPLY).get(self.operation.name)

    def positions(self) -> list[int]:
        """How many stand as before, and how many as they are sent."""
        found = [json.loads(offset)["position"] for offset in self.client.offsets(self.operation.connector).values()]
        return [found.count(1), found.count(2)]


def _body(some: list[bytes]) -> bytes:
    return b'{"offsets":[' + b",".join(line.rstrip() for line in some) + b"]}"


class _Journal(MemoryJournal):
    """As the ledger's: what is large is kept there."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    @contextmanager
    def large(self, operation: Operation) -> Iterator[LargeChange]:
        yield _Change(self._world, operation)


class _Change:
    """A `LargeChange` out of the ledger's pieces. What Spark would compare is few enough to be compared here."""

    def __init__(self, world: World, operation: Operation) -> None:
        self._world, self._operation = world, operation
        self._ledger = world.ledger.operations
        record = world.record
        self.is_begun = record is not None and record.state is OperationState.OPEN
        self.sent = record.sent or 0 if record is not None else 0
        self.entries = world.many

    def review(self) -> Review:
        self._live = self._look()
        return Review({}, Difference())

    def begin(self) -> None:
        self._ledger.begin_large(APPLY, self._operation, [self._live], lines(2, self.entries), self._world.clock.now())
        declared = self._ledger.pieces(APPLY, self._operation.name, Part.DECLARED)
        self._lines = [line for piece in declared for line in piece.splitlines()]

    def chunk(self, start: int, size: int) -> Chunk:
        some = self._lines[start : start + min(self._world.at_once, max(1, size // 60))]
        return Chunk(len(some), _body(some))

    def mark(self, sent: int) -> None:
        self._ledger.sent(APPLY, self._operation.name, sent)

    def is_untouched(self) -> bool:
        return self._look() == b"".join(self._ledger.pieces(APPLY, self._operation.name, Part.BEFORE))

    def difference(self) -> str:
        wrong = set(self._look().splitlines()) ^ set(self._lines)
        return f"{len(wrong)} lines differ" if wrong else ""

    def settle(self, warning: str) -> None:
        self._ledger.settle(APPLY, self._operation.name, Digest("after"), warning, self._world.clock.now())

    def _look(self) -> bytes:
        found = self._world.client.save_offsets(self._operation.connector, self._world.folder / "live", 0)
        assert isinstance(found, SavedOffsets)
        return Path(found.path).read_bytes()


@pytest.fixture(params=["standin", pytest.param("real", marks=pytest.mark.e2e)])
def standin_or_url(request: pytest.FixtureRequest) -> Iterator[StandIn | str]:
    if request.param == "standin":
        with StandIn() as standin:
            yield standin
    else:
        yield request.getfixturevalue("sandbox").worker_urls[0]


@pytest.fixture
def world(standin_or_url: StandIn | str, tmp_path: Path) -> Iterator[World]:
    url = standin_or_url if isinstance(standin_or_url, str) else standin_or_url.url
    clock: Clock = SystemClock() if isinstance(standin_or_url, str) else ManualClock()
    with ConnectClient(ClusterSettings(APPLY, (url,)), clock) as client:
        world = World(client, url, tmp_path, clock=clock)
        yield world
        for name in world.made:
            client.delete(name)
        world.session.close()


def test_it_is_sent_in_chunks_and_settled(world: World) -> None:
    world.prepare(MANY)
    assert [(outcome.result, outcome.message) for outcome in world.run()] == [(APPLIED, "")]
    assert world.positions() == [0, MANY]
    record = world.record
    assert record is not None
    assert (record.state, record.entries, record.sent) == (OperationState.SETTLED, MANY, MANY)
    assert world.progress[-1].done == MANY
    before = b"".join(world.ledger.operations.pieces(APPLY, record.name, Part.BEFORE))
    assert sorted(before.splitlines(keepends=True)) == lines(1, MANY)


def test_an_interrupt_ends_it_between_two_chunks_and_the_next_run_goes_on(world: World) -> None:
    world.prepare(FEW)

    def interrupted() -> bool:
        return world.record is not None and (world.record.sent or 0) >= 3 * world.at_once

    (outcome,) = world.run(interrupted=interrupted)
    assert outcome.result is BAD
    assert outcome.message.startswith("interrupted; 600 of 2,000 are there: the connector stays stopped")
    assert world.positions() == [FEW - 600, 600]
    assert [one.result for one in world.run()] == [APPLIED]
    assert world.positions() == [0, FEW]


@pytest.mark.parametrize("effect", [True, False])
@pytest.mark.parametrize("fault", ["drop", "time-out"])
def test_answers_that_are_lost(tmp_path: Path, fault: str, effect: bool) -> None:
    clock = ManualClock()
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), clock) as client:
        world = World(client, standin.url, tmp_path, clock=clock)
        world.prepare(FEW)
        before = standin.count("PATCH")
        path = f"/connectors/{world.operation.connector}/offsets"
        for _ in range(3):
            if fault == "drop":
                standin.drop("PATCH", path, effect=effect)
            else:
                standin.refuse("PATCH", path, 500, "Request timed out. The worker is currently …", effect=effect)
        assert [one.result for one in world.run()] == [APPLIED]
        assert world.positions() == [0, FEW]
        assert standin.count("PATCH") - before == 3 + 10


def test_a_worker_that_is_away_for_a_while(tmp_path: Path) -> None:
    clock = ManualClock()
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), clock) as client:
        world = World(client, standin.url, tmp_path, clock=clock)
        world.prepare(FEW)
        standin.refuse("PATCH", ".*/offsets", 409, "a rebalance is expected", times=20)
        clock.meanwhile = lambda: setattr(standin, "starting", clock.seconds < 10)
        assert [one.result for one in world.run()] == [APPLIED]


def test_a_worker_that_does_not_come_back_leaves_it_open(tmp_path: Path) -> None:
    clock = ManualClock()
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), clock) as client:
        world = World(client, standin.url, tmp_path, clock=clock)
        world.prepare(FEW)

        def interrupted() -> bool:
            standin.starting = world.record is not None and (world.record.sent or 0) >= 2 * world.at_once
            return False

        (outcome,) = world.run(interrupted=interrupted)
        assert outcome.result is BAD
        assert "400 of 2,000 are there: the connector stays stopped, and the next cycle goes on" in outcome.message
        assert world.record is not None
        assert (world.record.state, world.record.sent) == (OperationState.OPEN, 400)
        standin.starting = False
        assert [one.result for one in world.run()] == [APPLIED]
        assert world.positions() == [0, FEW]
