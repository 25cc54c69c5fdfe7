"""Operations whose declared or current offsets are too many for memory: decided by counts alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.names import OperationName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.worker_heap import LARGEST_CHUNK, HeapEstimate, estimate, refusal
from gitops_connect.plan.offset_review import described, refusals, unchecked
from gitops_connect.plan.situation import Situation

_FRAME = len('{"partition":,"offset":}\n')


def is_large(situation: Situation, operation: DesiredOperation) -> bool:
    """Whether the operation's offsets, or the current offsets of its connector, are too many for memory."""
    offsets = situation.offsets
    return operation.name in offsets.large or operation.connector in offsets.large_current


def review_large(situation: Situation, operation: Operation) -> tuple[Review | None, HeapEstimate | None]:
    """The effect on the current offsets, whether it is allowed, and its memory; None if the offsets are unknown.

    The review contains no patch.
    """
    difference = _difference(situation, operation)
    if difference is None:
        return None, None
    if operation.connector not in situation.observed.connectors:
        difference = replace(difference, exact=False)
    refused = list(refusals(operation, difference, situation.policy.max_skip))
    heap = _heap(situation, operation, difference)
    if heap is not None and (too_much := refusal(heap, situation.policy.worker_heap)):
        refused.append(Refusal(too_much))
    shape = situation.offsets.shapes.get(operation.connector)
    return Review({}, difference, tuple(refused), unchecked=unchecked(shape)), heap


def declared_partitions(situation: Situation) -> tuple[int, int]:
    """How many partitions each worker holds once all changes are made, and about how many bytes they have as lines."""
    return _sum([*_current(situation), *_added(situation), *_unsent(situation)])


def _heap(situation: Situation, operation: Operation, difference: Difference) -> HeapEstimate | None:
    """None if the operation adds nothing to the offsets that the workers hold already: they have room for those."""
    verdict, new = situation.offsets.large.get(operation.name), difference.counts.get(Direction.NEW, 0)
    observed = situation.observed.connectors.get(operation.connector)
    if verdict is None or not new or (observed is not None and observed.type is ConnectorType.SINK):
        return None
    count, size = _sum([*_current(situation), *_added(situation, operation.name)])
    copies = situation.offsets.copies.get(operation.connector, 1)
    return estimate(count, size, min(LARGEST_CHUNK, verdict.size), copies)


def _current(situation: Situation) -> Iterator[tuple[int, int]]:
    """The number of current offsets, as far as they were read, and about how many bytes they have as lines.

    Of all connectors: each worker holds the offsets of its whole cluster.
    """
    for large in situation.offsets.large_current.values():
        yield large.entries, large.size
    for current in situation.offsets.current.values():
        yield len(current), sum(len(partition) + len(offset) + _FRAME for partition, offset in current.items())


def _added(situation: Situation, last: OperationName | None = None) -> Iterator[tuple[int, int]]:
    """What the operations up to that name add to them (if not all fit, some do), or what all add."""
    for name, verdict in situation.offsets.large.items():
        new = 0 if verdict.difference is None else verdict.difference.counts.get(Direction.NEW, 0)
        if last is None or name <= last:
            yield new, verdict.size * new // max(1, verdict.entries)


def _unsent(situation: Situation) -> Iterator[tuple[int, int]]:
    """What operations in progress still add; their entries are about as long as the current ones of their connector."""
    for one in situation.offsets.unfinished.values():
        current = situation.offsets.large_current.get(one.operation.connector)
        new = one.review.difference.counts.get(Direction.NEW, 0) if one.review else 0
        yield new, current.size * new // max(1, current.entries) if current else 0


def _sum(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    counts, sizes = zip((0, 0), *parts, strict=True)
    return sum(counts), sum(sizes)


def _difference(situation: Situation, operation: Operation) -> Difference | None:
    if operation.kind is OperationKind.RESET:
        current = situation.offsets.large_current.get(operation.connector)
        found = Difference({Direction.REMOVED: current.entries}) if current is not None else None
    else:
        found = situation.offsets.large[operation.name].difference
    shape = situation.offsets.shapes.get(operation.connector)
    return None if found is None else described(found, shape)
