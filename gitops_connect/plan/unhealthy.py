"""Connectors of the cluster that do not work. They change no step, no digest and no fingerprint."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitops_connect.model.desired import TargetState
from gitops_connect.model.health import UnhealthyConnector, unhealthy
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, ConnectorPlan
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.restarts import with_outlook
from gitops_connect.plan.situation import Situation


def find_unhealthy(situation: Situation) -> Mapping[ConnectorName, UnhealthyConnector]:
    """Every unhealthy connector on the cluster, unmanaged ones too, by name and in that order.

    Each has the outlook on its automatic restarts. No reason contains a known secret of any connector of the cluster
    (`known_secrets`).
    """
    ill = [one for _, one in sorted(situation.observed.connectors.items()) if unhealthy(one) is not None]
    if not ill:
        return {}
    known = known_secrets(situation)
    masked = (unhealthy(known.mask_traces(one)) for one in ill)
    return with_outlook(situation, {one.name: one for one in masked if one is not None})


def unhealthy_in_plan(
    situation: Situation, planned: Collection[ConnectorPlan], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> tuple[UnhealthyConnector, ...]:
    """Those of the unhealthy connectors that are declared or managed, except those that the plan deletes."""
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    declared = {one.name for one in situation.desired.connectors} - absent
    deleted = {step.connector for one in planned for step in one.steps if step.action is Action.DELETE}
    ours = (declared | situation.desired.held | situation.ownership.keys()) - deleted
    return tuple(one for name, one in unhealthy.items() if name in ours)
