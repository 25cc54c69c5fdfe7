"""A large change whose process is killed between any two of its steps: it goes on with the chunk that was open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from large_world import APPLY, LargeWorld, lines
from manual_clock import ManualClock
from standin.connect import StandIn

from death.trials import Program, program
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.pieces import Part
from gitops_connect.model.operations import OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.settings.sections import ClusterSettings

pytestmark = pytest.mark.slow

MANY, CHUNKS = 200, 4


@pytest.fixture(scope="module")
def orders() -> Iterator[Program]:
    with program("large_program") as started:
        yield started


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Iterator[tuple[LargeWorld, StandIn]]]:
    """One after the other, each with a connector of its own on the same worker."""
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), ManualClock()) as client:

        def each() -> Iterator[tuple[LargeWorld, StandIn]]:
            for number in count():
                folder = tmp_path / f"{number}"
                folder.mkdir()
                world = LargeWorld(client, standin.url, folder, clock=ManualClock(), chunks=CHUNKS)
                world.prepare(MANY)
                yield world, standin
                world.session.close()

        yield each()


def carry_out(orders: Program, world: LargeWorld, **fate: Any) -> bool:
    """Whether it lived."""
    name = world.operation.connector
    ended = orders.order(folder=str(world.folder), url=world.url, connector=name, many=MANY, chunks=CHUNKS, **fate)
    assert ended["code"] in (0, -9), ended
    if ended["code"] == 0:
        assert ended["said"][-1] == ["told", {"result": "applied", "message": ""}]
    return bool(ended["code"] == 0)


@pytest.mark.parametrize("twice", [False, True])
def test_it_goes_on_with_the_chunk_that_was_open(
    worlds: Iterator[tuple[LargeWorld, StandIn]], orders: Program, twice: bool
) -> None:
    for number, (world, standin) in enumerate(worlds):
        lived = carry_out(orders, world, die_at=number)
        _require_honest(world)
        if twice and not lived:
            carry_out(orders, world, die_at=9)
            _require_honest(world)
        record, before = world.record, standin.count("PATCH")
        if record is None or record.state is OperationState.OPEN:
            assert [one.result for one in world.run()] == [Result.APPLIED]
            accepted = (record.sent or 0) if record else 0
            assert standin.count("PATCH") - before == (MANY - accepted) // world.at_once
        _require_done(world)
        if lived:
            assert number > 20, "hardly anything happened"
            return


def _require_honest(world: LargeWorld) -> None:
    """What the ledger calls accepted stands, and at most one chunk more; what is not begun was not touched."""
    sent = (world.record.sent or 0) if world.record else 0
    there = world.positions()[1]
    assert there - sent in (0, world.at_once)
    assert world.record is not None or not there


def _require_done(world: LargeWorld) -> None:
    assert world.positions() == [0, MANY]
    record = world.record
    assert record is not None
    assert (record.state, record.entries, record.sent) == (OperationState.SETTLED, MANY, MANY)
    stood = b"".join(world.ledger.operations.pieces(APPLY, record.name, Part.BEFORE))
    assert stood.splitlines(keepends=True) == lines(1, MANY)
