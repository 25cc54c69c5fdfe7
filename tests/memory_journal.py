"""A journal in memory: what a ledger would hold, and in which order it was told."""

from __future__ import annotations

from collections import defaultdict, deque

from gitops_connect.model.differences import Review
from gitops_connect.model.names import OperationName
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation
from gitops_connect.model.shapes import shape_of
from gitops_connect.plan.offsets import review, review_unfinished

CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": "a"}


class MemoryJournal:
    """A `Journal`. `unfinished` holds what stood before an operation that an earlier cycle began."""

    def __init__(self, *, max_skip: int = 1000) -> None:
        self.max_skip = max_skip
        self.unfinished: dict[OperationName, Offsets] = {}
        self.before: dict[OperationName, Offsets] = {}
        self.settled: dict[OperationName, tuple[Offsets, str]] = {}
        self.failed: dict[OperationName, tuple[str, bool]] = {}
        self.noted: dict[OperationName, str] = {}
        self.told: list[tuple[str, OperationName]] = []
        self.faults: dict[str, deque[Exception]] = defaultdict(deque)

    def intend(self, operation: Operation) -> None:
        self._tell("intend", operation)

    def begin(self, operation: Operation, before: Offsets) -> None:
        self._tell("begin", operation)
        self.before[operation.name] = before

    def settle(self, operation: Operation, after: Offsets, warning: str) -> None:
        self._tell("settle", operation)
        self.settled[operation.name] = (after, warning)

    def fail(self, operation: Operation, message: str, *, final: bool) -> None:
        self._tell("fail", operation)
        self.failed[operation.name] = (message, final)

    def note(self, operation: Operation, message: str) -> None:
        self._tell("note", operation)
        self.noted[operation.name] = message

    def review(self, operation: Operation, live: Offsets) -> Review:
        if operation.name in self.unfinished:
            return review_unfinished(operation, self.unfinished[operation.name], live, shape_of(CONFIG))
        return review(operation, live, shape_of(CONFIG), self.max_skip)

    def _tell(self, word: str, operation: Operation) -> None:
        if self.faults[word]:
            raise self.faults[word].popleft()
        self.told.append((word, operation.name))
