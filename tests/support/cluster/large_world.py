"""A large change over HTTP, with the ledger's real pieces, and with everything else in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from contract.under_test import Contract

from gitops_connect.apply.chunks import ChunkSize
from gitops_connect.apply.executor import execute
from gitops_connect.apply.ports import Chunk, LargeChange
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.applied_effects import AppliedEffect
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Difference, Review
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.runtime import SystemClock
from support.cluster.memory_journal import MemoryJournal, execute_options
from support.planner.plans_of_steps import plan

APPLY = ClusterName("apply")


def lines(position: int, count: int) -> list[bytes]:
    """Canonical lines of entries, in the order of the numbers in their partitions."""
    one = '{{"partition":{{"stream":"{:05}"}},"offset":{{"position":{}}}}}\n'
    return [one.format(number, position).encode() for number in range(count)]


@dataclass
class LargeWorld(Contract):
    """A cluster under test, a ledger, and one large change of a connector with the same number of offsets."""

    clock: Clock = field(default_factory=SystemClock)
    chunks: int = 10

    def prepare(self, many: int) -> None:
        """Create the connector, with this number of offsets."""
        name = self.stopped("many", self.numbers())
        self.client.alter_offsets_with(name, _body(lines(1, many)))
        self.take(name, many)

    def take(self, name: ConnectorName, many: int) -> None:
        """Use an existing connector, with this number of offsets."""
        self.many, self.at_once = many, many // self.chunks
        self.ledger = Ledger.open("sqlite:///state.db", self.directory, None)
        self.offset_change = OffsetChange(
            OffsetChangeName("c"), name, OffsetChangeKind.ALTER, Digest("d"), Revision("r"), is_large=True
        )

    def run(self, **more: Any) -> tuple[StepOutcome, ...]:
        steps = [Step(self.offset_change.connector, Action.ALTER, "", offset_change=self.offset_change)]
        options = execute_options(self.clock, _Journal(self), settle_timeout=30, **more)
        return execute(plan(*steps), self.client, options)

    @property
    def record(self) -> OffsetChangeRecord | None:
        return self.ledger.offset_changes.records(APPLY).get(self.offset_change.name)

    def positions(self) -> list[int]:
        """How many offsets are unchanged, and how many have the value that is sent."""
        found = [
            json.loads(offset)["position"] for offset in self.client.offsets(self.offset_change.connector).values()
        ]
        return [found.count(1), found.count(2)]


def _body(some: list[bytes]) -> bytes:
    return b'{"offsets":[' + b",".join(line.rstrip() for line in some) + b"]}"


class _Journal(MemoryJournal):
    """A journal that stores large changes in the ledger."""

    def __init__(self, runtime: LargeWorld) -> None:
        super().__init__()
        self._world = runtime

    @contextmanager
    def large(self, offset_change: OffsetChange) -> Iterator[LargeChange]:
        yield _Change(self._world, offset_change)


class _Change:
    """A `LargeChange` from the ledger's pieces. It compares the offsets itself, without Spark, because they are few."""

    def __init__(self, runtime: LargeWorld, offset_change: OffsetChange) -> None:
        self._world, self._offset_change = runtime, offset_change
        self._ledger = runtime.ledger.offset_changes
        record = runtime.record
        self.is_begun = record is not None and record.state is OffsetChangeState.OPEN
        self.sent = record.sent or 0 if record is not None else 0
        self.entries = runtime.many
        self.chunk_size = ChunkSize()

    def review(self) -> Review:
        self._current = self._look()
        return Review({}, Difference())

    def begin(self, difference: Difference) -> None:
        effect = AppliedEffect(self._world.clock.now(), difference)
        self._ledger.begin_large(APPLY, self._offset_change, [self._current], lines(2, self.entries), effect)

    @cached_property
    def _declared(self) -> list[bytes]:
        declared = self._ledger.pieces(APPLY, self._offset_change.name, OffsetsPart.DECLARED)
        return [line for piece in declared for line in piece.splitlines()]

    def chunk(self, start: int, size: int) -> Chunk:
        some = self._declared[start : start + min(self._world.at_once, max(1, size // 60))]
        return Chunk(len(some), _body(some))

    def mark(self, sent: int) -> None:
        self._ledger.sent(APPLY, self._offset_change.name, sent)

    def is_untouched(self) -> bool:
        return self._look() == b"".join(self._ledger.pieces(APPLY, self._offset_change.name, OffsetsPart.BEFORE))

    def difference(self) -> str:
        wrong = set(self._look().splitlines()) ^ set(self._declared)
        return f"{len(wrong)} lines differ" if wrong else ""

    def settle(self, warning: str) -> None:
        self._ledger.settle(APPLY, self._offset_change.name, Digest("after"), warning, self._world.clock.now())

    def _look(self) -> bytes:
        found = self._world.client.save_offsets(self._offset_change.connector, self._world.directory / "live", 0)
        assert isinstance(found, SavedOffsets)
        return Path(found.path).read_bytes()
