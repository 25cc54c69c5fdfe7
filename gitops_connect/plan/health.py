"""Which connectors of the cluster do not work; it changes no step, no digest and no fingerprint."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.health import UnhealthyConnector, unhealthy
from gitops_connect.model.masking import mask_traces, sensitive_values
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedConnector
from gitops_connect.model.plans import Action, ConnectorPlan
from gitops_connect.plan.situation import Situation


def find_unhealthy(situation: Situation) -> Mapping[ConnectorName, UnhealthyConnector]:
    """Every unhealthy connector on the cluster, unmanaged ones too, by name and in that order.

    The secrets that are known of a connector are in no reason: those of its document, those that it has on the cluster,
    and those that Connect or the ledger calls sensitive.
    """
    declared = {connector.name: connector for connector in situation.desired.connectors}
    found = {}
    for name, observed in sorted(situation.observed.connectors.items()):
        if unhealthy(observed) is None:
            continue
        safe = mask_traces(observed, _secrets(situation, observed, declared.get(name)))
        one = unhealthy(safe)
        if one is not None:
            found[name] = one
    return found


def unhealthy_in_plan(situation: Situation, planned: Collection[ConnectorPlan]) -> tuple[UnhealthyConnector, ...]:
    """Those that are declared or managed, but for those that the plan deletes."""
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    declared = {one.name for one in situation.desired.connectors} - absent
    deleted = {step.connector for one in planned for step in one.steps if step.action is Action.DELETE}
    ours = (declared | situation.desired.held | situation.ownership.keys()) - deleted
    return tuple(one for name, one in find_unhealthy(situation).items() if name in ours)


def _secrets(situation: Situation, observed: ObservedConnector, declared: DesiredConnector | None) -> frozenset[str]:
    quoted = situation.quoted.get(observed.name, frozenset())
    if declared is None:
        owned = situation.ownership.get(observed.name)
        return sensitive_values(observed.config, quoted.union(owned.applied if owned else ()))
    keys = {key for key in {*observed.config, *declared.config} if situation.is_sensitive(declared, key)} | quoted
    return sensitive_values(observed.config, keys) | sensitive_values(declared.config, keys)
