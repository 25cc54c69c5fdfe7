"""Connectors that someone paused or stopped on the cluster, and that keep that state (`onManualPause`)."""

from __future__ import annotations

from gitops_connect.model.desired import DesiredConnector, OnManualPause, TargetState
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.situation import Situation

_STATES = {WorkerState.PAUSED: TargetState.PAUSED, WorkerState.STOPPED: TargetState.STOPPED}


def manual_pause(situation: Situation, desired: DesiredConnector) -> TargetState | None:
    """The state that someone gave the connector, and that gitops-connect respects; None if there is none.

    Someone else did it if the current document was applied, so that the connector ran. The exception is a connector
    that gitops-connect has stopped for an offset change: it returns to the state that the ledger records.
    """
    observed = situation.observed.connectors.get(desired.name)
    rule = desired.on_manual_pause or situation.policy.on_manual_pause
    if rule is OnManualPause.REVERT or desired.state is not TargetState.RUNNING or observed is None:
        return None
    state = _STATES.get(observed.state)
    if state is TargetState.STOPPED:
        state = situation.stopped.get(desired.name, state)
    return state if state in _STATES.values() and drifted(situation, desired) else None


def why_paused(state: TargetState | None) -> str:
    """Why a connector in the state that `manual_pause` returned does not run; empty for None."""
    return f"{state.value} by hand (onManualPause: respect)" if state is not None else ""
