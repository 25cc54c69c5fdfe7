"""Deletes a connector that is declared absent or no longer declared, with its offsets if `onDelete` says so."""

from __future__ import annotations

from gitops_connect.model.canonical import digest
from gitops_connect.model.capabilities import CHANGE_OFFSETS
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.operations import Operation, OperationKind, OperationState, clear_name
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.suspended import suspension_of

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
