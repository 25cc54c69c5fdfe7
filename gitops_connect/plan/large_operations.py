"""Operations whose offsets, or those that stand, are too many to be held: decided on by numbers alone."""

from __future__ import annotations

from dataclasses import replace

from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.differences import Difference, Direction, Review
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.worker_heap import HeapEstimate
from gitops_connect.plan.offsets import refusals
from gitops_connect.plan.situation import Situation


def is_large(situation: Situation, operation: DesiredOperation) -> bool:
    """Whether it, or what stands for its connector, is too large to be held."""
    offsets = situation.offsets
    return operation.name in offsets.large or operation.connector in offsets.large_live


def review_large(situation: Situation, operation: Operation) -> tuple[Review | None, HeapEstimate | None]:
    """What it would do to what stands, whether it may, and what memory it needs; None where what stands is not known.

    The patch is not in it.
    """
    difference = _difference(situation, operation)
    if difference is None:
        return None, None
    if operation.connector not in situation.observed.connectors:
        difference = replace(difference, exact=False)
    refused = tuple(refusals(operation, difference, situation.policy.max_skip))
    return Review({}, difference, refused), None


def _difference(situation: Situation, operation: Operation) -> Difference | None:
    if operation.kind is OperationKind.RESET:
        standing = situation.offsets.large_live.get(operation.connector)
        return Difference({Direction.REMOVED: standing.entries}) if standing is not None else None
    return situation.offsets.large[operation.name].difference
