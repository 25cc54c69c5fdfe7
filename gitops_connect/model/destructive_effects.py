"""Which effects of a connector's plan are destructive: the comments on pull requests and the reviews share this."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.offsets import PartitionText
from gitops_connect.model.plans import Action, ConnectorPlan, PlannedOperation
from gitops_connect.model.reviewed_plans import DestructiveEffect, DestructiveKind
from gitops_connect.model.strimzi import reviewed_name

MOST_PARTITIONS = 1000
"""The partitions of an effect that are kept by name. If there are more, only their number is known."""
_DIRECTIONS = {
    Direction.REWIND: DestructiveKind.REWIND,
    Direction.CHANGED: DestructiveKind.CHANGED,
    Direction.REMOVED: DestructiveKind.REMOVED,
    Direction.FORWARD: DestructiveKind.SKIP,
}
_ORDER = list(DestructiveKind)


def destructive_effects(connector: ConnectorPlan) -> tuple[DestructiveEffect, ...]:
    """The destructive effects of the steps, the worst first, whether the steps are applied or only shown."""
    return tuple(sorted(_effects(connector), key=lambda one: (_ORDER.index(one.kind), one.operation or "")))


def _effects(connector: ConnectorPlan) -> Iterator[DestructiveEffect]:
    carried_out = set()
    for step in connector.steps:
        if step.operation is not None:
            carried_out.add(step.operation.name)
        if step.action is Action.DELETE:
            yield DestructiveEffect(DestructiveKind.DELETE)
        if step.action is Action.RESET and step.operation is not None:
            yield DestructiveEffect(DestructiveKind.RESET, reviewed_name(step.operation.name), step.operation.digest)
    for one in connector.operations:
        if one.name in carried_out and one.difference is not None:
            yield from _of_operation(one, one.difference)


def _of_operation(operation: PlannedOperation, difference: Difference) -> Iterator[DestructiveEffect]:
    for direction, kind in _DIRECTIONS.items():
        count = difference.counts.get(direction, 0)
        if not count:
            continue
        is_known = direction is Direction.FORWARD and not difference.is_unknown(direction)
        distance = difference.distances.get(direction) if is_known else None
        yield DestructiveEffect(
            kind,
            reviewed_name(operation.name),
            operation.digest,
            count,
            _partitions(difference, direction, count),
            distance,
            difference.scale.amount(distance) if distance else "",
        )


def _partitions(difference: Difference, direction: Direction, count: int) -> tuple[PartitionText, ...] | None:
    found = [move.partition for move in difference.moves if move.direction is direction]
    return tuple(sorted(found)) if len(found) == count <= MOST_PARTITIONS else None
