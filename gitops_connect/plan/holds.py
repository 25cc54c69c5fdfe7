"""What keeps a connector as it is: a suspension, mode observe, or someone who paused it on the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.model.desired import DesiredConnector, Mode, OnManualPause, TargetState
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.situation import Situation

_PAUSES = {WorkerState.PAUSED: TargetState.PAUSED, WorkerState.STOPPED: TargetState.STOPPED}


def suspension_of(situation: Situation, name: ConnectorName, desired: DesiredConnector | None) -> Suspension | None:
    """The suspension of a connector; its own one rather than that of its cluster. `desired` None: not declared."""
    if desired is not None and desired.suspend:
        return Suspension(SuspendedBy.DOCUMENT)
    return situation.suspensions.connectors.get(name) or situation.suspensions.cluster


def why_observed_only(situation: Situation, desired: DesiredConnector | None) -> str:
    """Why differences of the connector are only reported; empty if they are corrected."""
    if desired is not None and desired.mode is Mode.OBSERVE:
        return "its document sets mode: observe"
    return "" if situation.policy.enforce else "the cluster is in mode observe"


def holds_of(situation: Situation, name: ConnectorName, desired: DesiredConnector | None) -> Iterator[Hold]:
    """What keeps gitops-connect from applying anything, or nearly anything, to a connector."""
    if why := why_observed_only(situation, desired):
        of_document = desired is not None and desired.mode is Mode.OBSERVE
        release = "remove it" if of_document else 'set `mode = "enforce"` in the settings'
        yield Hold(HoldKind.OBSERVE, why, release)
    elif (suspension := suspension_of(situation, name, desired)) is not None:
        release = suspension.release(situation.desired.cluster, name)
        yield Hold(HoldKind.SUSPENDED, suspension.words, release, suspension.since)


def why_shown_only(situation: Situation, desired: DesiredConnector) -> str:
    """Why no step of the connector is applied; empty if its steps are applied."""
    suspension = suspension_of(situation, desired.name, desired)
    return suspension.words if suspension is not None else why_observed_only(situation, desired)


def manual_pause(situation: Situation, desired: DesiredConnector) -> TargetState | None:
    """The state that someone gave the connector, and that gitops-connect respects; None if there is none.

    Someone else did it if the current document was applied, so that the connector ran. The exception is a connector
    that gitops-connect has stopped for an offset change or a deletion: it returns to the state that the ledger records.
    """
    observed = situation.observed.connectors.get(desired.name)
    rule = desired.on_manual_pause or situation.policy.on_manual_pause
    if rule is OnManualPause.REVERT or desired.state is not TargetState.RUNNING or observed is None:
        return None
    state = _PAUSES.get(observed.state)
    if state is TargetState.STOPPED:
        state = situation.stopped.get(desired.name, state)
    return state if state in _PAUSES.values() and drifted(situation, desired) else None


def why_paused(state: TargetState | None) -> str:
    """Why a connector in the state that `manual_pause` returned does not run; empty for None."""
    return f"{state.value} by hand (onManualPause: respect)" if state is not None else ""
