"""What is managed: what the ledger records of a connector that is in sync, and what the record means later."""

from __future__ import annotations

from datetime import datetime

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ConnectorName, Digest
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.plan.config_diff import secret_digest
from gitops_connect.plan.situation import Situation


def desired_digest(situation: Situation, connector: DesiredConnector) -> Digest:
    """The digest of the desired config and state. It is keyed, as the config may contain secrets."""
    return keyed_digest(situation.key, [connector.name, connector.state.value, dict(connector.config)])


def drifted(situation: Situation, connector: DesiredConnector) -> bool:
    """True if the document is the last applied document: a difference then originates from the cluster.

    A rollback replaces the config of the document that was applied, and nothing else of it.
    """
    owned, rolled_back = situation.ownership.get(connector.name), connector.rolled_back
    if owned is None or owned.desired is None:
        return False
    is_replaced = rolled_back is not None and connector.state is TargetState.RUNNING
    if is_replaced and rolled_back is not None and owned.desired == rolled_back.applied:
        return True
    return owned.desired == desired_digest(situation, connector)


def remember(situation: Situation, connector: DesiredConnector, origin: Origin, now: datetime) -> Ownership:
    """The record to keep once this connector is in sync. A connector that was managed before keeps its origin.

    Returns the earlier record itself if there is nothing to record.
    """
    sensitive = situation.sensitive_keys(connector, connector.config)
    applied = {key: secret_digest(situation, connector, key) for key in sensitive}
    digest = desired_digest(situation, connector)
    references = {key: str(reference) for key, reference in connector.secrets.items()}
    earlier, known = situation.ownership.get(connector.name), (digest, applied, connector.on_delete, references)
    if earlier is None:
        return Ownership(situation.desired.cluster, connector.name, origin, situation.revision, now, *known)
    if (earlier.desired, earlier.applied, earlier.on_delete, earlier.references) == known:
        return earlier
    return Ownership(earlier.cluster, earlier.connector, earlier.origin, situation.revision, earlier.since, *known)


def owned_and_undeclared(situation: Situation) -> tuple[ConnectorName, ...]:
    """Connectors that are managed and in no document any more, sorted. A held document still declares its connector."""
    declared = {connector.name for connector in situation.desired.connectors} | situation.desired.held
    return tuple(sorted(situation.ownership.keys() - declared))
