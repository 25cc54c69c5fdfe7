"""A journal in memory: what a ledger would contain, and the order of the calls."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from gitops_connect.apply.chunks import FIRST, ChunkSize
from gitops_connect.apply.ports import Chunk, LargeChange
from gitops_connect.apply.step_context import ExecuteOptions, StoppedConnectors
from gitops_connect.connect.client import ConnectClient
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.clock import Clock
from gitops_connect.model.differences import Review
from gitops_connect.model.names import ConnectorName, OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets, merged, to_json
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.plans import Plan
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


class MemoryJournal:
    """A `Journal`, and the `OffsetChanges` for it.

    `unfinished` contains the offsets before an operation that an earlier reconciliation began.
    Large changes need a `cluster` to read from, and their offsets in `manifests`; `large_ones` contains what a ledger
    stores of those in progress. `most` is the maximum of entries in a chunk, `chunks` lists start and size of each.
    """

    def __init__(
        self,
        *,
        max_skip: int = 1000,
        cluster: ConnectClient | None = None,
        most: int = 10,
        config: Mapping[str, str] = CONFIG,
    ) -> None:
        self.max_skip = max_skip
        self.shape = BUILT_IN.shape(config)
        self.cluster = cluster
        self.manifests: dict[OperationName, OffsetPatch] = {}
        self.adopted: list[tuple[ConnectorName, ...]] = []
        self.large_ones: dict[OperationName, Begun] = {}
        self.most = most
        self.chunks: list[tuple[int, int]] = []
        self.unfinished: dict[OperationName, Offsets] = {}
        self.before: dict[OperationName, Offsets] = {}
        self.settled: dict[OperationName, tuple[Offsets, str]] = {}
        self.failed: dict[OperationName, tuple[str, bool]] = {}
        self.restarts: list[ConnectorName] = []
        self.stopped: list[ConnectorName] = []
        self.noted: dict[OperationName, str] = {}
        self.calls: list[tuple[str, OperationName]] = []
        self.faults: dict[str, deque[Exception]] = defaultdict(deque)

    def intend(self, operation: Operation) -> None:
        self._record_call("intend", operation)

    def adopt(self, connectors: Collection[ConnectorName]) -> None:
        if self.faults["adopt"]:
            raise self.faults["adopt"].popleft()
        self.adopted.append(tuple(connectors))

    def is_begun(self, operation: Operation) -> bool:
        return operation.name in self.unfinished

    def begin(self, operation: Operation, before: Offsets) -> None:
        self._record_call("begin", operation)
        self.before[operation.name] = before

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        self._record_call("settle", operation)
        self.settled[operation.name] = (after, warning)

    def record(self, operation: Operation) -> None:
        self._record_call("record", operation)

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        self._record_call("fail", operation)
        self.failed[operation.name] = (message, final)

    def note(self, operation: Operation, message: str) -> None:
        self._record_call("note", operation)
        self.noted[operation.name] = message

    def stopping(self, connector: ConnectorName) -> None:
        self.stopped.append(connector)

    def count_restart(self, connector: ConnectorName) -> None:
        if self.faults["count"]:
            raise self.faults["count"].popleft()
        self.restarts.append(connector)

    def review(self, operation: Operation, current: Offsets) -> Review:
        if operation.name in self.unfinished:
            return review_unfinished(operation, self.unfinished[operation.name], current, self.shape)
        return review(operation, current, self.shape, dict.fromkeys(DEFAULT_SKIP_LIMITS, self.max_skip))

    def has_too_many_offsets(self, operation: Operation) -> bool:
        return False

    @contextmanager
    def large(self, operation: Operation) -> Iterator[LargeChange]:
        assert operation.is_large
        assert not operation.offsets
        yield MemoryChange(self, replace(operation, offsets=self.manifests.get(operation.name, {})))

    def _record_call(self, word: str, operation: Operation) -> None:
        if self.faults[word]:
            raise self.faults[word].popleft()
        self.calls.append((word, operation.name))


class MemoryChange:
    """A `LargeChange` that is small enough for memory. Its errors are the journal's `faults`, and the cluster's."""

    def __init__(self, journal: MemoryJournal, operation: Operation) -> None:
        self._journal = journal
        self._operation = operation
        self._review: Review | None = None
        self._current: Offsets = {}

    @property
    def is_begun(self) -> bool:
        return self._operation.name in self._journal.large_ones

    def review(self) -> Review:
        self._journal._record_call("review", self._operation)
        self._current = self._read()
        self._review = self._journal.review(self._operation, self._current)
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

    def begin(self) -> None:
        assert self._review, "review comes first"
        self._journal.begin(self._operation, self._current)
        if not self.is_begun:
            self._journal.large_ones[self._operation.name] = Begun(self._current, self._review.patch)

    def chunk(self, start: int, size: int) -> Chunk:
        """A chunk of the size `FIRST` has the maximum of entries, a smaller one has fewer."""
        count = max(1, min(self._journal.most * size // FIRST, self._journal.most))
        entries = list(to_json(self._begun.patch))[start : start + count]
        self._journal.chunks.append((start, len(entries)))
        return Chunk(len(entries), json.dumps({"offsets": entries}).encode())

    def mark(self, sent: int) -> None:
        self._journal._record_call("mark", self._operation)
        assert sent <= self.entries
        self._begun.sent = max(sent, self._begun.sent)

    def is_untouched(self) -> bool:
        return self._read() == self._begun.before

    def difference(self) -> str:
        wanted = merged(self._begun.before, self._begun.patch)
        seen = self._read()
        if self._operation.kind in (OperationKind.ALTER, OperationKind.SEED):
            wrong = {one for one, offset in self._begun.patch.items() if seen.get(one) != offset}
        else:
            wrong = {one for one in seen.keys() | wanted.keys() if seen.get(one) != wanted.get(one)}
        return f"{len(wrong)} partitions have other offsets than declared" if wrong else ""

    def settle(self, warning: str) -> None:
        self._journal.settle(self._operation, self._read(), warning)

    @property
    def _begun(self) -> Begun:
        return self._journal.large_ones[self._operation.name]

    def _read(self) -> Offsets:
        assert self._journal.cluster
        return self._journal.cluster.offsets(self._operation.connector)


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
        "on_outcome": lambda _: None,
        "on_progress": lambda _: None,
    }
    return ExecuteOptions(clock, journal, journal, **{**options, **more})


def reconcile_options(
    approve: Callable[[Plan], None] = lambda _: None, interrupted: Event | None = None
) -> ReconcileOptions:
    """Options that accept the plan and ignore all events."""
    options = (lambda _: None, approve, lambda _: None, interrupted or Event(), lambda _: None)
    return ReconcileOptions(*options, StoppedConnectors())
