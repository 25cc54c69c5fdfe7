"""Offset changes without a declared connector: none of them is begun, and those in progress are finished."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.plans import ConnectorPlan, OperationStatus, PlannedOperation, Step
from gitops_connect.model.suggestions import Vocabulary
from gitops_connect.plan.connector_operations import action_of, show
from gitops_connect.plan.offset_review import review_unfinished
from gitops_connect.plan.operation_status import Assessment, history_unknown, started_since, status_by_record
from gitops_connect.plan.situation import Situation, Unfinished
from gitops_connect.plan.suspended import suspension_of


@dataclass(frozen=True, slots=True)
class Strays:
    """Connectors with an operation to finish, and the status of all other operations without a declared connector."""

    connectors: tuple[ConnectorPlan, ...] = ()
    planned: tuple[PlannedOperation, ...] = ()
    applied: tuple[PlannedOperation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def plan_strays(situation: Situation, leaving: Set[ConnectorName]) -> Strays:
    """Plan all strays of one cluster.

    Nothing is finished on connectors that are `leaving`: a deletion needs no offsets.
    """
    declared = {connector.name for connector in situation.desired.connectors}
    names = Vocabulary(declared)
    changes = (one for one in situation.desired.operations if one.connector not in declared)
    assessed = [(one, _assess(situation, one, names)) for one in changes]
    shown = [show(one, how) for one, how in assessed]
    return Strays(
        tuple(
            replace(plan, suspension=suspension_of(situation, plan.name, None))
            for _, one in sorted(situation.offsets.unfinished.items())
            if one.operation.connector not in declared | leaving and (plan := _finish(situation, one)) is not None
        ),
        tuple(one for one in shown if one.status is not OperationStatus.APPLIED),
        tuple(one for one in shown if one.status is OperationStatus.APPLIED),
        tuple(_diagnose(one, how) for one, how in assessed if how.rule),
    )


def _assess(situation: Situation, operation: DesiredOperation, declared: Vocabulary) -> Assessment:
    known = history_unknown(situation, operation) or status_by_record(situation, operation)
    if known is not None:
        return known
    if operation.connector in situation.desired.held:
        return Assessment(OperationStatus.WAITING, "the document of its connector has errors")
    there = "is on the cluster, but " if operation.connector in situation.observed.connectors else ""
    message = f"connector {operation.connector!r} {there}is not declared{declared.did_you_mean(operation.connector)}"
    return Assessment(OperationStatus.WAITING, message, "offsets/no-connector")


def _diagnose(operation: DesiredOperation, assessed: Assessment) -> Diagnostic:
    severity = Severity.WARNING if assessed.status is OperationStatus.UNKNOWN else Severity.ERROR
    hint = "declare the connector for the same cluster: offsets are changed only for declared connectors"
    return Diagnostic(
        severity,
        assessed.rule,
        f"offset change {operation.name}: {assessed.message}",
        operation.locate("connector"),
        hint if assessed.rule == "offsets/no-connector" else "",
        operation.connector,
    )


def _finish(situation: Situation, unfinished: Unfinished) -> ConnectorPlan | None:
    """Finish the operation if its connector is STOPPED. The connector stays STOPPED: no document declares a state."""
    operation = unfinished.operation
    observed = situation.observed.connectors.get(operation.connector)
    current = situation.offsets.current.get(operation.connector)
    if observed is None or operation.kind is OperationKind.CLEAR:
        return None
    shown = PlannedOperation(
        operation.name, operation.connector, operation.kind, OperationStatus.WAITING, digest=operation.digest
    )
    if started := started_since(situation, operation):
        unknown = replace(shown, status=OperationStatus.UNKNOWN, message=started)
        return ConnectorPlan(operation.connector, operations=(unknown,))
    if observed.state is not WorkerState.STOPPED or (current is None and unfinished.review is None):
        why = "in progress, but its connector is no longer declared and is not stopped"
        return ConnectorPlan(operation.connector, notes=(f"offset change {operation.name}: {why}",))
    shape = situation.offsets.shapes.get(operation.connector)
    seen = unfinished.review or review_unfinished(operation, unfinished.before, current or {}, shape)
    if seen.refusals:
        return ConnectorPlan(
            operation.connector, notes=(f"offset change {operation.name}: {seen.refusals[0].message}",)
        )
    step = Step(
        operation.connector, action_of(operation), f"offset change {operation.name} (in progress)", operation=operation
    )
    note = "no longer declared: the offset change in progress is finished, and the connector stays stopped"
    shown = replace(shown, status=OperationStatus.UNFINISHED, difference=seen.difference)
    enforced = situation.policy.enforce
    return ConnectorPlan(operation.connector, (step,), (note,), applicable=enforced, operations=(shown,))
