"""Requests of Strimzi's annotations that were not done, as warnings of their connectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.operations import OperationState
from gitops_connect.model.plans import OperationStatus, PlannedOperation
from gitops_connect.model.strimzi_annotations import AnnotationWarning, failed
from gitops_connect.plan.listings import listing_warnings
from gitops_connect.plan.situation import Situation

_NOT_DONE = (OperationStatus.WAITING, OperationStatus.UNKNOWN)


def annotation_warnings(situation: Situation, planned: Iterable[PlannedOperation]) -> tuple[AnnotationWarning, ...]:
    """Every request that was not done, in each reconciliation until the annotation is fixed or removed."""
    return (*situation.desired.annotation_warnings, *listing_warnings(situation), *_of_changes(situation, planned))


def _of_changes(situation: Situation, planned: Iterable[PlannedOperation]) -> Iterator[AnnotationWarning]:
    for one in planned:
        if one.annotation is None or one.status not in _NOT_DONE:
            continue
        record = situation.offsets.records.get(one.name)
        message = one.message
        if record is not None and record.state is OperationState.FAILED:
            message = failed(one.annotation, one.connector, f'"{record.message}"')
        elif not message.startswith("Failed to "):
            message = failed(one.annotation, one.connector, message)
        place = one.location or Location("")
        yield AnnotationWarning(one.annotation, message, place, situation.desired.cluster, one.connector)
