"""A journal in memory: what a ledger would contain, and the order of the calls."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

from gitops_connect.apply.chunks import FIRST, ChunkSize
from gitops_connect.apply.ports import Chunk, LargeChange
from gitops_connect.apply.step_context import ExecuteOptions, StoppedConnectors
from gitops_connect.connect.client import ConnectClient
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Difference, Review
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Failure, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets, merged, to_json
from gitops_connect.model.plans import Plan, Step
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS
from gitops_connect.plan.offset_review import review, review_unfinished
from gitops_connect.reconcile import ReconcileOptions

CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": "a"}


@dataclass
class Begun:
    """What a ledger stores of a large change in progress: offsets before it, the patch, and entries accepted so far."""

    before: Offsets
    patch: OffsetPatch
    sent: int = 0


@dataclass
class MemoryJournal:
    """A `Journal`, and the `OffsetChanges` for it.

    `unfinished` contains the offsets before an offset change that an earlier reconciliation began.
    Large changes need a `cluster` to read from, and their offsets in `manifests`; `large_ones` contains what a ledger
    stores of those in progress. `most` is the maximum of entries in a chunk, `chunks` lists start and size of each.
    """

    max_skip: int = 1000
    cluster: ConnectClient | None = None
    most: int = 10
    config: Mapping[str, str] = field(default_factory=lambda: CONFIG)
    manifests: dict[OffsetChangeName, OffsetPatch] = field(default_factory=dict)
    adopted: list[tuple[ConnectorName, ...]] = field(default_factory=list)
    large_ones: dict[OffsetChangeName, Begun] = field(default_factory=dict)
    chunks: list[tuple[int, int]] = field(default_factory=list)
    unfinished: dict[OffsetChangeName, Offsets] = field(default_factory=dict)
    before: dict[OffsetChangeName, Offsets] = field(default_factory=dict)
    intended: set[OffsetChangeName] = field(default_factory=set)
    settled: dict[OffsetChangeName, tuple[Offsets, str]] = field(default_factory=dict)
    failed: dict[OffsetChangeName, Failure] = field(default_factory=dict)
    restarts: list[ConnectorName] = field(default_factory=list)
    stopped: list[ConnectorName] = field(default_factory=list)
    noted: dict[OffsetChangeName, str] = field(default_factory=dict)
    calls: list[tuple[str, OffsetChangeName]] = field(default_factory=list)
    faults: dict[str, deque[Exception]] = field(default_factory=lambda: defaultdict(deque))

    def __post_init__(self) -> None:
        self.shape = BUILT_IN.shape(self.config)

    def adopt(self, connectors: Collection[ConnectorName]) -> None:
        if self.faults["adopt"]:
            raise self.faults["adopt"].popleft()
        self.adopted.append(tuple(connectors))

    def is_begun(self, offset_change: OffsetChange) -> bool:
        return offset_change.name in self.unfinished

    def begin(self, offset_change: OffsetChange, before: Offsets, difference: Difference) -> None:
        self._record_call("begin", offset_change)
        self.before[offset_change.name] = before

    def settle(self, offset_change: OffsetChange, after: Offsets, warning: str) -> None:
        self._record_call("settle", offset_change)
        self.settled[offset_change.name] = (after, warning)

    def record(self, offset_change: OffsetChange) -> None:
        self._record_call("record", offset_change)

    def fail(self, offset_change: OffsetChange, failure: Failure) -> None:
        self._record_call("fail", offset_change)
        self.failed[offset_change.name] = failure

    def note(self, offset_change: OffsetChange, message: str) -> None:
        self._record_call("note", offset_change)
        self.noted[offset_change.name] = message

    def configuring(self, connector: ConnectorName) -> None:
        """Trials of configs are known to the ledger, and not to this journal."""

    rejected = configuring

    def stopping(self, connector: ConnectorName) -> None:
        self.stopped.append(connector)

    def creating(self, steps: Collection[Step]) -> None:
        """Which connectors are managed is known to the ledger, and not to this journal."""
        for step in steps:
            if step.offset_change is not None and step.offset_change.name not in self.intended:
                self._record_call("intend", step.offset_change)
                self.intended.add(step.offset_change.name)

    def count_restart(self, connector: ConnectorName) -> None:
        if self.faults["count"]:
            raise self.faults["count"].popleft()
        self.restarts.append(connector)

    def review(self, offset_change: OffsetChange, current: Offsets) -> Review:
        if offset_change.name in self.unfinished:
            return review_unfinished(
                ClusterName("local"), offset_change, self.unfinished[offset_change.name], current, self.shape
            )
        return review(offset_change, current, self.shape, dict.fromkeys(DEFAULT_SKIP_LIMITS, self.max_skip))

    def has_too_many_offsets(self, offset_change: OffsetChange) -> bool:
        return False

    @contextmanager
    def large(self, offset_change: OffsetChange) -> Iterator[LargeChange]:
        assert offset_change.is_large
        assert not offset_change.offsets
        yield MemoryChange(self, replace(offset_change, offsets=self.manifests.get(offset_change.name, {})))

    def _record_call(self, word: str, offset_change: OffsetChange) -> None:
        if self.faults[word]:
            raise self.faults[word].popleft()
        self.calls.append((word, offset_change.name))


class MemoryChange:
    """A `LargeChange` that is small enough for memory. Its errors are the journal's `faults`, and the cluster's."""

    def __init__(self, journal: MemoryJournal, offset_change: OffsetChange) -> None:
        self._journal = journal
        self._offset_change = offset_change
        self._review: Review | None = None
        self._current: Offsets = {}

    @property
    def is_begun(self) -> bool:
        return self._offset_change.name in self._journal.large_ones

    def review(self) -> Review:
        self._journal._record_call("review", self._offset_change)
        self._current = self._read()
        self._review = self._journal.review(self._offset_change, self._current)
        return self._review

    @property
    def entries(self) -> int:
        if self.is_begun:
            return len(self._begun.patch)
        assert self._review, "known after review"
        return len(self._review.patch)

    @property
    def sent(self) -> int:
        return self._begun.sent if self.is_begun else 0

    @property
    def chunk_size(self) -> ChunkSize:
        return ChunkSize()

    def begin(self, difference: Difference) -> None:
        assert self._review, "review comes first"
        self._journal.begin(self._offset_change, self._current, difference)
        if not self.is_begun:
            self._journal.large_ones[self._offset_change.name] = Begun(self._current, self._review.patch)

    def chunk(self, start: int, size: int) -> Chunk:
        """A chunk of the size `FIRST` has the maximum of entries, a smaller one has fewer."""
        count = max(1, min(self._journal.most * size // FIRST, self._journal.most))
        entries = list(to_json(self._begun.patch))[start : start + count]
        self._journal.chunks.append((start, len(entries)))
        return Chunk(len(entries), json.dumps({"offsets": entries}).encode())

    def mark(self, sent: int) -> None:
        self._journal._record_call("mark", self._offset_change)
        assert sent <= self.entries
        self._begun.sent = max(sent, self._begun.sent)

    def is_settled(self) -> bool:
        earlier, self._current = self._current, self._read()
        return self._current == earlier

    def is_untouched(self) -> bool:
        return self._read() == self._begun.before

    def difference(self) -> str:
        wanted = merged(self._begun.before, self._begun.patch)
        seen = self._read()
        if self._offset_change.kind in (OffsetChangeKind.ALTER, OffsetChangeKind.SEED):
            wrong = {one for one, offset in self._begun.patch.items() if seen.get(one) != offset}
        else:
            wrong = {one for one in seen.keys() | wanted.keys() if seen.get(one) != wanted.get(one)}
        return f"{len(wrong)} partitions have other offsets than declared" if wrong else ""

    def settle(self, warning: str) -> None:
        self._journal.settle(self._offset_change, self._read(), warning)

    @property
    def _begun(self) -> Begun:
        return self._journal.large_ones[self._offset_change.name]

    def _read(self) -> Offsets:
        assert self._journal.cluster
        return self._journal.cluster.offsets(self._offset_change.connector)


def execute_options(clock: Clock, journal: MemoryJournal | None = None, **more: Any) -> ExecuteOptions:
    """Options with this journal, or a new one."""
    journal = journal or MemoryJournal()
    options: dict[str, Any] = {
        "parallelism": 8,
        "settle_timeout": 120.0,
        "min_running": 5.0,
        "before": {},
        "stopped": StoppedConnectors(),
        "interrupted": lambda: False,
        "before_effect": lambda: None,
        "on_outcomes": lambda _: None,
        "on_progress": lambda _: None,
        "fence": lambda _: None,
    }
    return ExecuteOptions(clock, journal, journal, **{**options, **more})


def reconcile_options(
    approve: Callable[[Plan], None] = lambda _: None, interrupted: Event | None = None
) -> ReconcileOptions:
    """Options that accept the plan and ignore all events."""
    options = (lambda _: None, approve, lambda _: None, interrupted or Event(), lambda _: None)
    return ReconcileOptions(*options, StoppedConnectors())
