"""Conditions, as Flux and Kubernetes have them: what is true of a cluster or a connector, why, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from gitops_connect.model.names import ClusterName, ConnectorName, Revision


class ConditionType(Enum):
    """What a condition is about.

    A connector has `Ready`, `Synced` and `Healthy`, `RestartsGivenUp` while its automatic restarts have ended, and
    `RolledBack` while its declared config is not in effect because the connector failed with it. A cluster has `Ready`,
    and `Stalled` while a retry cannot help. `Warning` is Strimzi's: what an annotation requests could not be done. The
    cluster has it if the annotation names no known connector.
    """

    READY = "Ready"
    SYNCED = "Synced"
    HEALTHY = "Healthy"
    RESTARTS_GIVEN_UP = "RestartsGivenUp"
    ROLLED_BACK = "RolledBack"
    STALLED = "Stalled"
    WARNING = "Warning"


class ConditionStatus(Enum):
    """Whether a condition is true."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `reason` is one CamelCase word for programs, `message` a text for people, without secrets.

    `since` is when `status` or `reason` last changed (Kubernetes' lastTransitionTime). `revision` is the commit of the
    reconciliation in which the condition last changed.
    """

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str
    since: datetime
    revision: Revision

    def follows(self, before: Condition | None) -> Condition:
        """This condition as the successor of an earlier one of its type.

        `since` is kept while status and reason are the same. If the message is the same too, nothing has changed.
        """
        if before is None or (before.status, before.reason) != (self.status, self.reason):
            return self
        return before if before.message == self.message else replace(self, since=before.since)


ConditionKey = tuple[ConnectorName, ConditionType]
"""The connector (empty: the cluster itself), and the type."""
Conditions = Mapping[ConditionKey, Condition]
"""All conditions of one cluster."""
ConditionsByCluster = Mapping[ClusterName, Conditions]
