"""Offset changes in the public JSON: all of them, with every partition that moves."""

from __future__ import annotations

import json
from typing import Any

from gitops_connect.model.differences import Difference, Direction, Move, ResumeLine
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.plans import Plan, PlannedOperation
from gitops_connect.model.units import Scale
from gitops_connect.model.worker_heap import HeapEstimate
from gitops_connect.report import offset_lines


def offset_changes(plan: Plan, directory: str) -> list[dict[str, Any]]:
    """The changes of connectors in the order of their execution, then those without a connector, then applied ones."""
    of_connectors = [one for connector in plan.connectors for one in connector.operations]
    due = {one.name for one in offset_lines.to_apply(plan)}
    everything = [*of_connectors, *offset_lines.strays_of(plan), *plan.applied]
    return [_change(one, directory, due=one.name in due) for one in everything]


def _change(operation: PlannedOperation, directory: str, *, due: bool) -> dict[str, Any]:
    location = operation.location
    return {
        "name": operation.name,
        "connector": operation.connector,
        "operation": operation.kind.value,
        "status": operation.status.value,
        "due": due,
        "message": operation.message,
        "reason": operation.reason,
        "location": str(location.under(directory)) if location else None,
        "digest": operation.digest,
        "difference": difference_value(operation.difference) if operation.difference is not None else None,
        "worker_heap": _heap(operation.heap) if operation.heap is not None else None,
    }


def _heap(heap: HeapEstimate) -> dict[str, Any]:
    return {"bytes": heap.size, "arithmetic": heap.arithmetic}


def difference_value(difference: Difference) -> dict[str, Any]:
    """Every direction with its count, and every move; of a difference that Spark has computed, the largest moves."""
    return {
        "exact": difference.exact,
        "unit": difference.scale.name,
        "counts": {one.value: difference.counts.get(one, 0) for one in Direction},
        "distances": {one.value: difference.distances[one] for one in Direction if one in difference.distances},
        "moves": [_move(move, difference.scale) for move in difference.moves],
        "resume": [_resume(line) for line in difference.resume],
    }


def _resume(line: ResumeLine) -> dict[str, Any]:
    return {"aspect": line.aspect.name.lower(), "message": line.message, "external": line.external}


def _move(move: Move, scale: Scale) -> dict[str, Any]:
    return {
        "partition": value(move.partition),
        "current": value(move.current),
        "declared": value(move.declared),
        "direction": move.direction.value,
        "distance": move.distance,
        "also_written": offset_lines.also_written(move, scale) or None,
    }


def value(text: PartitionText | OffsetText | None) -> Any:
    """The JSON object of a canonical text."""
    return None if text is None else json.loads(text)
