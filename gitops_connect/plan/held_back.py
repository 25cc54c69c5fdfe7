"""Holds back connectors that are suspended, and those whose change nobody has reviewed.

Only what was begun is finished. Without a review, drift is undone and configs are rolled back too.
"""

from __future__ import annotations

from dataclasses import replace

from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.plans import ConnectorPlan, OperationStatus, PlannedOperation
from gitops_connect.plan.connector_operations import OperationsPlan
from gitops_connect.plan.connector_steps import Steps, decide, start
from gitops_connect.plan.manual_pause import manual_pause
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.reviewed import blocked, missing_review
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.suspended import why_observed_only

_NOT_REVIEWED = "not reviewed"


def hold_back(
    situation: Situation, declared: DesiredConnector, operations: OperationsPlan, planned: ConnectorPlan
) -> ConnectorPlan:
    """The plan of a declared connector, as far as it may be carried out now."""
    if why_observed_only(situation, declared):
        return planned
    state = manual_pause(situation, declared)
    desired = declared if state is None else replace(declared, state=state)
    if planned.suspension is not None:
        steps = _finish_begun(situation, desired, operations)
        return _only(planned, steps, planned.suspension.words) if steps else planned
    keeps_config = planned.drifted or (desired.rolled_back is not None and not operations.steps)
    change = missing_review(situation.reviews, situation.desired.cluster, planned, keeps_config=keeps_config)
    if change is None:
        return planned
    held = blocked(planned, change, situation.reviews)
    steps = _finish_begun(situation, desired, operations)
    if not steps and (drifted(situation, declared) or desired.rolled_back is not None):
        steps = _keep_config(situation, desired, operations)
    return _only(held, steps, _NOT_REVIEWED) if steps else held


def _finish_begun(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> Steps:
    """The steps that finish the offset changes in progress, and then bring the connector to its desired state.

    gitops-connect has stopped the connector for them, or was about to begin one: it would stay stopped otherwise.
    """
    observed = situation.observed.connectors.get(desired.name)
    in_progress = situation.offsets.unfinished.keys()
    begun = tuple(one for one in operations.steps if one.operation is not None and one.operation.name in in_progress)
    is_stopped_for_them = begun or desired.name in situation.stopped
    if not is_stopped_for_them or observed is None or observed.state is not WorkerState.STOPPED:
        return ()
    may_start = not operations.blocked and desired.name not in situation.invalid
    return (*begun, *(start(desired) if may_start else ()))


def _keep_config(situation: Situation, desired: DesiredConnector, operations: OperationsPlan) -> Steps:
    """The steps that undo drift, or roll back: as if the offset changes were blocked for another reason."""
    if desired.state is TargetState.ABSENT or desired.name not in situation.observed.connectors:
        return ()
    steps, _ = decide(situation, desired, OperationsPlan(blocked=operations.blocked or _NOT_REVIEWED))
    return steps


def _only(planned: ConnectorPlan, steps: Steps, why: str) -> ConnectorPlan:
    """The plan with only these steps. Its other steps and offset changes wait."""
    carried_out = {step.operation.name for step in steps if step.operation is not None}

    def shown(one: PlannedOperation) -> PlannedOperation:
        is_held = one.status is OperationStatus.PLANNED and one.name not in carried_out
        return replace(one, status=OperationStatus.WAITING, message=why) if is_held else one

    operations = tuple(shown(one) for one in planned.operations)
    return replace(planned, steps=steps, applicable=True, operations=operations)
