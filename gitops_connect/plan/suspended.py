"""Whether a connector is suspended, and why the steps of a connector are shown and not applied."""

from __future__ import annotations

from gitops_connect.model.desired import DesiredConnector, Mode
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.plan.situation import Situation


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


def why_shown_only(situation: Situation, desired: DesiredConnector) -> str:
    """Why no step of the connector is applied; empty if its steps are applied."""
    suspension = suspension_of(situation, desired.name, desired)
    return suspension.words if suspension is not None else why_observed_only(situation, desired)
