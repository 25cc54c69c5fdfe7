"""What is ours: what is remembered of a connector once it is as desired, and what that memory says later."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.plan.diff import secret_digest
from gitops_connect.plan.situation import Situation


def desired_digest(situation: Situation, connector: DesiredConnector) -> Digest:
    """Keyed, as the config may hold secrets."""
    return keyed_digest(situation.key, [connector.name, connector.state.value, dict(connector.config)])


def drifted(situation: Situation, connector: DesiredConnector) -> bool:
    """True where the document is the one that was last applied: a difference then came from the cluster's side."""
    owned = situation.ownership.get(connector.name)
    return owned is not None and owned.desired == desired_digest(situation, connector)


def remember(situation: Situation, connector: DesiredConnector, origin: Origin, now: datetime) -> Ownership:
    """The record to keep when this connector has become as desired. What was ours before keeps its origin."""
    applied = {
        key: secret_digest(situation, connector, key)
        for key in connector.config
        if situation.is_sensitive(connector, key)
    }
    earlier = situation.ownership.get(connector.name)
    fresh = Ownership(situation.desired.cluster, connector.name, origin, situation.revision, now)
    return replace(
        earlier or fresh,
        revision=situation.revision,
        desired=desired_digest(situation, connector),
        applied=applied,
        on_delete=connector.on_delete,
    )


def owned_and_undeclared(situation: Situation) -> tuple[ConnectorName, ...]:
    """Ours, and in no document any more, sorted. A held document still declares its connector."""
    declared = {connector.name for connector in situation.desired.connectors} | situation.desired.held
    return tuple(sorted(situation.ownership.keys() - declared))
