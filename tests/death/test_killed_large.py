"""A large change whose process is killed between any two steps: the next run resumes at the unfinished chunk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from standin.connect import StandIn
from support.cluster.large_world import APPLY, LargeWorld, lines
from support.cluster.manual_clock import ManualClock

from death.trials import Program, program
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.offset_changes import OffsetChangeState
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
    """One environment after another, each with its own connector on the same worker."""
    with StandIn() as standin, ConnectClient(ClusterSettings(APPLY, (standin.url,)), ManualClock()) as client:

        def each() -> Iterator[tuple[LargeWorld, StandIn]]:
            for number in count():
                directory = tmp_path / f"{number}"
                directory.mkdir()
                runtime = LargeWorld(client, standin.url, directory, clock=ManualClock(), chunks=CHUNKS)
                runtime.prepare(MANY)
                yield runtime, standin

        yield each()


def carry_out(orders: Program, runtime: LargeWorld, **fate: Any) -> bool:
    """Apply the large change in the program. True if the program was not killed."""
    name = runtime.offset_change.connector
    ended = orders.order(
        directory=str(runtime.directory), url=runtime.url, connector=name, many=MANY, chunks=CHUNKS, **fate
    )
    assert ended["code"] in (0, -9), ended
    if ended["code"] == 0:
        assert ended["said"][-1] == ["result", {"result": "applied", "message": ""}]
    return bool(ended["code"] == 0)


def test_the_next_run_resumes_at_the_unfinished_chunk(
    worlds: Iterator[tuple[LargeWorld, StandIn]], orders: Program
) -> None:
    for number, (runtime, standin) in enumerate(worlds):
        lived = carry_out(orders, runtime, die_at=number)
        _require_honest(runtime)
        record, before = runtime.record, standin.count("PATCH")
        if record is None or record.state is OffsetChangeState.OPEN:
            assert [one.result for one in runtime.run()] == [Result.APPLIED]
            accepted = (record.sent or 0) if record else 0
            assert standin.count("PATCH") - before == (MANY - accepted) // runtime.at_once
        _require_done(runtime)
        if lived:
            assert number > 10, "hardly anything happened"
            return


def _require_honest(runtime: LargeWorld) -> None:
    """The offsets that the ledger has as sent are set, and at most one more chunk; without a record, none."""
    sent = (runtime.record.sent or 0) if runtime.record else 0
    there = runtime.positions()[1]
    assert there - sent in (0, runtime.at_once)
    assert runtime.record is not None or not there


def _require_done(runtime: LargeWorld) -> None:
    assert runtime.positions() == [0, MANY]
    record = runtime.record
    assert record is not None
    assert (record.state, record.entries, record.sent) == (OffsetChangeState.SETTLED, MANY, MANY)
    before = b"".join(runtime.ledger.offset_changes.pieces(APPLY, record.name, OffsetsPart.BEFORE))
    assert before.splitlines(keepends=True) == lines(1, MANY)
