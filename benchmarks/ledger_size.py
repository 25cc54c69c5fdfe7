"""The ledger after a year with an offset change of 1,000 partitions every six hours, and what a plan reads of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processor_time import spent_here
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.settings.sections import StateSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.planner.situations import offsets_to

TITLE = "The ledger after a year with an offset change every six hours"
CLUSTER = ClusterName("local")
PARTITIONS = 1_000
LARGEST = 12.0
"""MB, target."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def measure(directory: Path) -> Iterator[Figure]:
    """Cleaned up once a day, as the daemon does. The disk of a benchmark need not survive a power failure."""
    with closing(Ledger.open("sqlite:///state.db", directory, b"k" * 32)) as ledger:
        for day in range(365):
            for hour in range(0, 24, 6):
                _apply(ledger, day * 24 + hour)
            end = BEGIN + timedelta(days=day, seconds=-StateSettings().keep_offsets)
            ledger.offset_changes.remove_offsets(CLUSTER, end)
            if day in (89, 364):
                yield Figure(f"size after {day + 1} days", (directory / "state.db").stat().st_size / 1e6, "MB", LARGEST)
        declared = [OffsetChangeName(f"change-{number}") for number in range(100)]
        began = spent_here()
        ledger.offset_changes.of_plan(CLUSTER, declared)
        yield Figure("records that a plan with 100 of them reads", (spent_here() - began) * 1000, "ms", 50.0)
        began = spent_here()
        ledger.offset_changes.records(CLUSTER)
        yield Figure("all records, for comparison", (spent_here() - began) * 1000, "ms")


def _apply(ledger: Ledger, number: int) -> None:
    at = BEGIN + timedelta(hours=number)
    offsets = {f"orders-{partition}": number * 1000 + partition * 7 for partition in range(PARTITIONS)}
    declared = offsets_to(**offsets)
    before = {partition: offset for partition, offset in declared.items() if offset is not None}
    connector, kind, revision = ConnectorName(f"c{number % 50}"), OffsetChangeKind.ALTER, Revision(f"{number:040x}")
    change = OffsetChange(OffsetChangeName(f"change-{number}"), connector, kind, Digest("d"), revision, declared)
    ledger.offset_changes.begin(CLUSTER, change, before, at)
    ledger.offset_changes.settle(CLUSTER, change.name, before, "", at)
