"""What annotations of Strimzi request and what was not done: the warnings of a plan, and the conditions after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetChangeStatus, Plan, PlannedOffsetChange, Step
from gitops_connect.model.status import Condition, ConditionKey, Conditions, ConditionStatus, ConditionType
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, failed
from gitops_connect.plan.situation import Situation

CLUSTER = ConnectorName("")
"""The key of a condition of the cluster itself."""
_UNDONE = (OffsetChangeStatus.WAITING, OffsetChangeStatus.FAILED, OffsetChangeStatus.UNKNOWN)


def undone_requests(situation: Situation, planned: Iterable[ConnectorPlan]) -> Iterator[AnnotationWarning]:
    """Offset changes that wait, until the annotation is fixed or removed. Each has a diagnostic already."""
    for one in (each for connector in planned for each in connector.offset_changes):
        if one.annotation is None or one.status not in _UNDONE:
            continue
        record, message = situation.offsets.records.get(one.name), one.message
        if record is not None and record.state is OffsetChangeState.FAILED:
            message = failed(one.annotation, one.connector, f'"{record.message}"')
        elif not message.startswith("Failed to "):
            message = failed(one.annotation, one.connector, message)
        place, cluster = one.location or Location(""), situation.desired.cluster
        yield AnnotationWarning(one.annotation, message, place, one.name, cluster, one.connector)


def failed_before(situation: Situation, planned: Iterable[ConnectorPlan]) -> Iterator[AnnotationWarning]:
    """Requests that are sent again because they failed, as the ledger or a condition says; and those that must fail."""
    for connector in planned:
        changes = {one.name: one for one in connector.offset_changes}
        for step in connector.steps:
            found = _request(step, changes)
            if found is None or step.listing is not None:  # `listing_warnings` has those
                continue
            request, action = found
            record = situation.offsets.records.get(OffsetChangeName(request))
            condition = situation.conditions.get((connector.name, ConditionType.WARNING, request))
            if record is not None and record.state is OffsetChangeState.FAILED:
                message = failed(action, connector.name, f'"{record.message}"')
            elif condition is not None:
                message = condition.message
            elif missing := _missing_task(situation, step, connector.steps):
                message = failed(action, connector.name, missing)
            else:
                continue
            place = _place(situation, step, changes)
            yield AnnotationWarning(action, message, place, request, situation.desired.cluster, connector.name)


def _missing_task(situation: Situation, step: Step, steps: Iterable[Step]) -> str:
    """The task that a restart requests and that does not exist, in words. A step before it may change the tasks."""
    observed = situation.observed.connectors.get(step.connector)
    if observed is None or step.restart is None or not observed.tasks:
        return ""
    missing = {one for one in step.restart.parts if one is not None} - {task.id for task in observed.tasks}
    if not missing or any(one.action.changes_config or one.action is Action.RESUME for one in steps):
        return ""
    count = len(observed.tasks)
    return f"the missing task {min(missing)}: the connector has {count} task{'s' if count > 1 else ''}"


def _request(
    step: Step, changes: Mapping[OffsetChangeName, PlannedOffsetChange]
) -> tuple[str, AnnotationAction] | None:
    """The request of an annotation that a step carries out, and its action; None for every other step."""
    if step.listing is not None:
        return step.listing.name, AnnotationAction.LIST
    if step.restart is not None and (restart := step.restart.request) is not None and restart.annotation:
        return restart.annotation, AnnotationAction.RESTART_TASK if restart.tasks else AnnotationAction.RESTART
    change = changes.get(step.offset_change.name) if step.offset_change is not None else None
    return (change.name, change.annotation) if change is not None and change.annotation is not None else None


def _place(situation: Situation, step: Step, changes: Mapping[OffsetChangeName, PlannedOffsetChange]) -> Location:
    if step.restart is not None and step.restart.request is not None:
        return situation.desired.by_name[step.connector].locate(("spec", step.restart.request.kind.value))
    change = changes.get(step.offset_change.name) if step.offset_change is not None else None
    return (change.location if change is not None else None) or Location("")


def annotation_conditions(
    before: Conditions, plan: Plan, outcomes: Iterable[StepOutcome], now: datetime
) -> dict[ConditionKey, Condition]:
    """The conditions `Warning` after these steps of the plan: one for each request that was not carried out."""
    found = {(one.connector or CLUSTER, one.request): (one.action, one.message) for one in plan.annotation_warnings}
    changes = {one.name: one for one in plan.offset_changes}
    for outcome in outcomes:
        name, tried = outcome.step.connector, _request(outcome.step, changes)
        if tried is None or outcome.result is Result.SKIPPED:
            continue
        request, action = tried
        found.pop((name, request), None)
        if outcome.result is Result.FAILED:
            found[name, request] = action, failed(action, name, f'"{outcome.message}"')
    kind, conditions = ConditionType.WARNING, {}
    for (name, request), (action, message) in found.items():
        made = Condition(kind, ConditionStatus.TRUE, action.reason, message, now, plan.revision, request)
        conditions[name, kind, request] = made.follows(before.get((name, kind, request)))
    return conditions
