"""Connectors of the cluster that do not work. They change no step, no digest and no fingerprint."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_connect.model.conditions import ConditionType
from gitops_connect.model.desired import TargetState
from gitops_connect.model.health import HealthReason, UnhealthyConnector, failures, idle_parts, unhealthy
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Action, ConnectorPlan
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.restarts import with_outlook
from gitops_connect.plan.situation import Situation

_NOT_RUNNING = (HealthReason.PROGRESSING.value, HealthReason.NOT_RUNNING.value)


def find_unhealthy(situation: Situation) -> Mapping[ConnectorName, UnhealthyConnector]:
    """Every unhealthy connector on the cluster, unmanaged ones too, by name and in that order.

    A part that does not run, and offsets that do not move, are a problem only once that has lasted for too long. Each
    has the outlook on its automatic restarts. No reason contains a known secret of any connector of the cluster
    (`known_secrets`).
    """
    limits = {one.name: one.offsets_move_within for one in situation.desired.connectors if one.offsets_move_within}
    found = {
        name: one
        for name, connector in sorted(situation.observed.connectors.items())
        if (one := unhealthy(connector) or _not_running(situation, connector) or _not_moving(situation, name, limits))
    }
    if any(one.failures for one in found.values()):
        known = known_secrets(situation)
        failed = [situation.observed.connectors[name] for name, one in found.items() if one.failures]
        found |= {one.name: replace(found[one.name], failures=failures(known.mask_traces(one))) for one in failed}
    return with_outlook(situation, found)


def _not_running(situation: Situation, connector: ObservedConnector) -> UnhealthyConnector | None:
    parts = idle_parts(connector, situation.observed.gone)
    if not parts:
        return None
    before = situation.conditions.get((connector.name, ConditionType.HEALTHY))
    since = before.since if before is not None and before.reason in _NOT_RUNNING else situation.now
    if situation.now - since < situation.policy.degraded_after:
        return None
    lasting = tuple(f"{part} since {_time(since)}" for part in parts)
    return UnhealthyConnector(connector.name, not_running=lasting, since=since)


def _not_moving(
    situation: Situation, name: ConnectorName, limits: Mapping[ConnectorName, timedelta]
) -> UnhealthyConnector | None:
    position = situation.positions.get(name)
    if name not in limits or position is None or situation.now - position.since < limits[name]:
        return None
    message = f"its offsets have been the same since {_time(position.since)}"
    return UnhealthyConnector(name, not_moving=message, since=position.since)


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


def unhealthy_in_plan(
    situation: Situation, planned: Collection[ConnectorPlan], unhealthy: Mapping[ConnectorName, UnhealthyConnector]
) -> tuple[UnhealthyConnector, ...]:
    """Those of the unhealthy connectors that are declared or managed, except those that the plan deletes."""
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    declared = {one.name for one in situation.desired.connectors} - absent
    deleted = {step.connector for one in planned for step in one.steps if step.action is Action.DELETE}
    ours = (declared | situation.desired.held | situation.ownership.keys()) - deleted
    return tuple(one for name, one in unhealthy.items() if name in ours)
