"""Computes the plan of a reconciliation from desired state, observed state and ownership: a pure, sorted value."""

from __future__ import annotations

from collections.abc import Iterator, Set
from datetime import datetime
from typing import Any

from gitops_connect.model.canonical import digest, keyed_digest
from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.plans import ConnectorPlan, Plan, PlannedOperation, Step
from gitops_connect.plan.annotations import annotation_warnings
from gitops_connect.plan.connector_operations import plan_operations
from gitops_connect.plan.connector_steps import plan_connector, steady
from gitops_connect.plan.deletions import delete, finish_deletion, is_half_deleted
from gitops_connect.plan.guards import refusals
from gitops_connect.plan.held_back import hold_back
from gitops_connect.plan.listings import listing_warnings
from gitops_connect.plan.offset_effects import add_offset_effects
from gitops_connect.plan.ownership_records import owned_and_undeclared
from gitops_connect.plan.restarts import add_restarts
from gitops_connect.plan.reviewed import blocked, missing_review
from gitops_connect.plan.rollouts import limit_rollout
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.strays import plan_strays
from gitops_connect.plan.suspended import suspension_of
from gitops_connect.plan.unhealthy import find_unhealthy, unhealthy_in_plan


def plan(situation: Situation) -> Plan:
    """Plan every declared connector, and the deletion of managed connectors no longer declared if prune is on."""
    changes = {one.name: plan_operations(situation, one) for one in situation.desired.connectors}
    finished = [finish_deletion(situation, name) for name in _half_deleted(situation)]
    done = {one.name for one in finished}
    declared = [
        hold_back(situation, one, changes[one.name], plan_connector(situation, one, changes[one.name]))
        for one in situation.desired.connectors
        if one.name not in done
    ]
    pruned, warnings = _prune(situation, done)
    strays = plan_strays(situation, done | {one.name for one in pruned})
    planned = add_offset_effects(situation, [*declared, *pruned, *finished, *strays.connectors])
    planned = [*planned, *_other_suspended(situation, {one.name for one in planned})]
    unhealthy = find_unhealthy(situation)
    limited = limit_rollout(situation, planned, unhealthy)
    everything = sorted(add_restarts(situation, limited, unhealthy), key=lambda one: one.name)
    shown = tuple(one for one in everything if one.steps or one.notes or one.operations or _is_suspended_alone(one))
    of_changes = (item for one in changes.values() for item in one.diagnostics)
    diagnostics = Diagnostics.of(
        (*strays.diagnostics, *of_changes, *(one.diagnostic() for one in listing_warnings(situation)))
    )
    applied = [*strays.applied, *(operation for one in changes.values() for operation in one.applied)]
    complete = situation.desired.complete and not (
        situation.desired.held or situation.observed.unknown or situation.invalid or diagnostics.errors
    )
    return Plan(
        cluster=situation.desired.cluster,
        connect_version=situation.observed.version,
        revision=situation.revision,
        connectors=shown,
        fingerprint=fingerprint(situation),
        digest=digest([situation.desired.cluster, [_value(one) for one in shown]]),
        complete=complete,
        warnings=warnings,
        refusals=refusals(situation, shown),
        forgotten=_forgotten(situation),
        unmanaged=_unmanaged(situation),
        applied=tuple(sorted(applied, key=lambda one: _since(situation, one), reverse=True)),
        strays=strays.planned,
        diagnostics=diagnostics,
        unhealthy=unhealthy_in_plan(situation, everything, unhealthy),
        unread=_unread(situation),
        restarts=situation.restarts,
        rolled_back={one.name: one.rolled_back for one in situation.desired.connectors if one.rolled_back is not None},
        suspension=situation.suspensions.cluster,
        annotation_warnings=annotation_warnings(situation, (each for one in everything for each in one.operations)),
        untrusted=situation.untrusted,
    )


def _other_suspended(situation: Situation, planned: Set[ConnectorName]) -> Iterator[ConnectorPlan]:
    """Suspended connectors for which nothing is planned: not declared any more, or with errors in their documents."""
    for name, suspension in situation.suspensions.connectors.items():
        if name not in planned:
            yield ConnectorPlan(name, applicable=False, suspension=suspension)


def _is_suspended_alone(connector: ConnectorPlan) -> bool:
    return connector.suspension is not None and not connector.suspension.whole_cluster


def _since(situation: Situation, operation: PlannedOperation) -> tuple[datetime, str]:
    return situation.offsets.records[operation.name].since, operation.name


def _half_deleted(situation: Situation) -> list[ConnectorName]:
    return [name for name in sorted(situation.observed.connectors) if is_half_deleted(situation, name)]


def fingerprint(situation: Situation) -> Digest:
    """A keyed digest of what the cluster answered about the connectors that are declared or managed.

    It does not cover what a plan does not read (task counts, worker ids, RUNNING as opposed to RESTARTING or FAILED).
    If a plan has other steps for a connector because it is FAILED, the digest of the plan differs.
    """
    names = _declared_or_managed(situation)
    seen = [
        [name, _fingerprint_state(one.state), dict(one.config)]
        for name, one in sorted(situation.observed.connectors.items())
        if name in names
    ]
    unknown = sorted(situation.observed.unknown & names)
    return keyed_digest(situation.key, [str(situation.observed.version), seen, unknown])


def _fingerprint_state(state: WorkerState) -> str:
    if state is WorkerState.FAILED:
        return TargetState.RUNNING.value
    known: TargetState | WorkerState = steady(state) or state
    return str(known.value)


def _declared_or_managed(situation: Situation) -> set[ConnectorName]:
    return {connector.name for connector in situation.desired.connectors} | situation.ownership.keys()


def _unread(situation: Situation) -> tuple[ConnectorName, ...]:
    destroyed = {name for name, one in situation.observed.connectors.items() if one.state is WorkerState.DESTROYED}
    return tuple(sorted((situation.observed.unknown | destroyed) & _declared_or_managed(situation)))


def _value(connector: ConnectorPlan) -> list[Any]:
    steps = [
        [step.action.value, step.reason, _state(step), _changes(step), *_operation(step)] for step in connector.steps
    ]
    return [connector.name, connector.applicable, steps]


def _operation(step: Step) -> list[str]:
    """What the operation declares, without the current offsets: those move."""
    one = step.operation
    acknowledged = sorted(each.value for each in one.acknowledged) if one else []
    return [one.name, one.digest, *acknowledged] if one else []


def _state(step: Step) -> str | None:
    return step.initial_state.value if step.initial_state else None


def _changes(step: Step) -> list[list[str | None]]:
    return [[change.key, change.shown_before, change.shown_after] for change in step.changes]


def _prune(situation: Situation, done: set[ConnectorName]) -> tuple[list[ConnectorPlan], tuple[str, ...]]:
    """Deletions of managed connectors that are no longer declared, or a warning that says why there are none."""
    there = situation.observed.connectors.keys() - done
    undeclared = [name for name in owned_and_undeclared(situation) if name in there]
    if not undeclared:
        return [], ()
    names = ", ".join(undeclared)
    why_not = _why_not_prune(situation)
    if why_not:
        return [], (f"no longer declared, but kept because {why_not}: {names}",)
    return [_prune_one(situation, name) for name in undeclared], ()


def _prune_one(situation: Situation, name: ConnectorName) -> ConnectorPlan:
    on_delete = situation.ownership[name].on_delete
    steps, notes = delete(situation, name, "no longer declared (prune is on)", on_delete)
    enforced = situation.policy.enforce
    more = () if enforced else ("the cluster is in mode observe: the steps are shown but not applied",)
    suspension = suspension_of(situation, name, None)
    is_applied = enforced and suspension is None
    planned = ConnectorPlan(name, steps, (*notes, *more), applicable=is_applied, suspension=suspension)
    unreviewed = missing_review(situation.reviews, situation.desired.cluster, planned) if is_applied else None
    return planned if unreviewed is None else blocked(planned, unreviewed, situation.reviews)


def _why_not_prune(situation: Situation) -> str:
    if not situation.policy.prune:
        return "prune is off"
    if not situation.desired.complete:
        return "some files could not be read and may declare them"
    if not situation.desired.connectors and not situation.desired.held:
        return "the repository declares nothing for this cluster"
    return ""


def _forgotten(situation: Situation) -> tuple[ConnectorName, ...]:
    """Managed connectors that are gone, also those declared absent: a new connector of that name is unmanaged."""
    there = situation.observed.connectors.keys() | situation.observed.unknown
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    gone = {*owned_and_undeclared(situation), *(situation.ownership.keys() & absent)} - there
    return tuple(sorted(gone))


def _unmanaged(situation: Situation) -> tuple[ConnectorName, ...]:
    declared = {connector.name for connector in situation.desired.connectors} | situation.desired.held
    return tuple(sorted(situation.observed.connectors.keys() - declared - situation.ownership.keys()))
