"""Limits that reject a whole plan: checked after every plan is made, and before the first effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gitops_connect.errors import UnsafePlan
from gitops_connect.model.canonical import digest
from gitops_connect.model.capabilities import CHANGE_OFFSETS
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.operations import Operation, OperationKind, OperationState, clear_name
from gitops_connect.model.plans import Action, ConnectorPlan, Plan, Step
from gitops_connect.plan.holds import suspension_of
from gitops_connect.plan.situation import Situation


def enforce(plan: Plan) -> None:
    """Raise UnsafePlan with every refusal and its fix, or return."""
    if plan.refusals:
        lines = "\n".join(f"  {refusal}" for refusal in plan.refusals)
        raise UnsafePlan(f"cluster {plan.cluster}: the plan is rejected, and nothing was changed\n{lines}")


def refusals(situation: Situation, connectors: Sequence[ConnectorPlan]) -> tuple[str, ...]:
    """Why these steps are rejected; empty if they are allowed."""
    deleted = [
        step.connector
        for connector in connectors
        if connector.applicable
        for step in connector.steps
        if step.action is Action.DELETE
    ]
    return (*_protected(situation, deleted), *_too_many(situation, len(deleted)))


def _protected(situation: Situation, deleted: Sequence[ConnectorName]) -> list[str]:
    return [
        f"ProtectedConnector: connector {name} would be deleted, but [clusters.{situation.desired.cluster}] protected"
        f" contains {pattern!r}; declare the connector again, or remove the pattern"
        for name in deleted
        for pattern in situation.policy.protected
        if fnmatchcase(name, pattern)
    ]


def _too_many(situation: Situation, count: int) -> list[str]:
    """One deletion is always allowed, so that a small cluster can shrink."""
    ours = len(situation.ownership.keys() & situation.observed.connectors.keys())
    allowed = max(1, math.floor(ours * situation.policy.max_deletions))
    if count <= allowed:
        return []
    limit = f"[clusters.{situation.desired.cluster}] max_deletions = {situation.policy.max_deletions:g}"
    figures = f"{count} of {ours} managed connectors would be deleted, but at most {allowed} are allowed ({limit})"
    way_out = "check the branch and the directory, or raise the limit for this change"
    return [f"TooManyDeletions: {figures}; {way_out}"]


# Deletes a connector that is declared absent or no longer declared, with its offsets if `onDelete` says so.

_ON_DELETE = "onDelete: the offsets are reset first"


def delete(
    situation: Situation, name: ConnectorName, reason: str, on_delete: OnDelete
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """The steps that delete an existing connector, and notes for the reader."""
    final = Step(name, Action.DELETE, reason)
    if on_delete is OnDelete.KEEP:
        return (final,), ()
    if not CHANGE_OFFSETS.is_in(situation.observed.version):
        return (), (f"{CHANGE_OFFSETS.missing(situation.observed.version)}: not deleted",)
    clear = Operation(
        clear_name(name), name, OperationKind.CLEAR, digest([name, OperationKind.CLEAR.value]), situation.revision
    )
    reset = Step(name, Action.RESET, _ON_DELETE, operation=clear)
    if situation.observed.connectors[name].state is WorkerState.STOPPED:
        return (reset, final), ()
    return (Step(name, Action.STOP, _ON_DELETE), reset, final), ()


def is_half_deleted(situation: Situation, name: ConnectorName) -> bool:
    """Whether the connector exists and its offsets may be gone: a deletion with offsets was begun and interrupted."""
    record = situation.offsets.records.get(clear_name(name))
    return record is not None and record.state is OperationState.OPEN and name in situation.observed.connectors


def finish_deletion(situation: Situation, name: ConnectorName) -> ConnectorPlan:
    """Finish a deletion that was begun, whatever is declared now: without offsets the connector would reprocess all.

    A suspended connector is not deleted. It stays stopped until it is resumed.
    """
    steps, notes = delete(situation, name, "its deletion is in progress", OnDelete.RESET)
    note = (
        "its deletion with its offsets was interrupted and is finished first; if the connector is declared, the next"
        " reconciliation creates it"
    )
    declared = situation.desired.by_name.get(name)
    suspension = suspension_of(situation, name, declared)
    is_applied = situation.policy.enforce and suspension is None
    return ConnectorPlan(name, steps, (*notes, note), applicable=is_applied, suspension=suspension)
