"""The state of each connector on two axes, as in Argo CD: sync (is Git applied?) and health (does it work?)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.health import HealthReason
from gitops_connect.model.hold import Hold
from gitops_connect.model.lag import ConnectorLag
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.observed_state import TaskStatus
from gitops_connect.model.suspensions import Suspension
from gitops_connect.model.verdicts import Verdict


class Sync(Enum):
    """Whether everything that Git declares about a connector is applied: its document, and its offset changes."""

    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"
    UNMANAGED = "Unmanaged"


class Health(Enum):
    """Whether the connector does what it is declared to do."""

    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    SUSPENDED = "Suspended"
    MISSING = "Missing"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One line of `status`.

    `reason` is the reason for the health, and `problem` says it in words. `difference` says why the connector is not
    in sync, and which offset changes are blocked. `since` is when a reconciliation first observed the health with this
    reason; None if none has. `state` is the connector's state as Connect reports it, `tasks` the number of RUNNING
    tasks and of all tasks. `lag` is None if it is unknown. `class_name` is the class that the document or the cluster
    names, `location` the place of the document, `labels` are those of the document, and `parts` the tasks as their
    workers report them.
    """

    cluster: ClusterName
    name: ConnectorName
    sync: Sync
    health: Health
    state: str
    tasks: str
    reason: HealthReason
    verdict: Verdict
    problem: str = ""
    difference: str = ""
    since: datetime | None = None
    suspension: Suspension | None = None
    holds: tuple[Hold, ...] = ()
    lag: ConnectorLag | None = None
    class_name: str = ""
    location: Location | None = None
    parts: tuple[TaskStatus, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def message(self) -> str:
        return "; ".join(part for part in (self.problem, self.difference) if part)

    @property
    def is_fine(self) -> bool:
        """True if it is unmanaged, or in sync and works, or in sync and was paused or stopped as declared."""
        if self.sync is Sync.UNMANAGED:
            return True
        return self.sync is Sync.SYNCED and self.health in (Health.HEALTHY, Health.SUSPENDED)

    def value(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "name": self.name,
            "sync": self.sync.value,
            "health": self.health.value,
            "state": self.state,
            "tasks": self.tasks,
            "verdict": self.verdict.value(),
            "needs_attention": self.verdict.needs_attention,
            "class": self.class_name or None,
            "location": None if self.location is None else str(self.location),
            "since": None if self.since is None else self.since.isoformat(timespec="seconds"),
            "message": self.message,
            "suspension": None if self.suspension is None else self.suspension.value(),
            "holds": [one.value() for one in self.holds],
            "lag": None if self.lag is None else self.lag.value(),
        }

    def row(self) -> tuple[str, ...]:
        since = "" if self.since is None else f"{self.since:%Y-%m-%d %H:%M:%S}"
        cells = (
            self.verdict.kind.value,
            self.sync.value,
            self.health.value,
            self.state,
            self.tasks,
            since,
            self.message,
        )
        return tuple(cell or "-" for cell in (self.cluster, self.name, *cells))


# Conditions, as Flux and Kubernetes have them: what is true of a cluster or a connector, why, and since when.


class ConditionType(Enum):
    """What a condition is about.

    A connector has `Ready`, `Synced` and `Healthy`, `RestartsGivenUp` while its automatic restarts have ended, and
    `RolledBack` while its declared config is not in effect because the connector failed with it, and `Blocked` while a
    hold keeps something from being applied: the strongest one is the reason. It has `UnexpectedTopics` while it has
    active topics that `spec.topics` does not allow. A cluster has `Ready`, and `Stalled` while a retry cannot help.
    `Warning` is Strimzi's: what an annotation requests could not be done. The cluster has it if the annotation names no
    known connector.
    """

    READY = "Ready"
    SYNCED = "Synced"
    HEALTHY = "Healthy"
    RESTARTS_GIVEN_UP = "RestartsGivenUp"
    ROLLED_BACK = "RolledBack"
    BLOCKED = "Blocked"
    UNEXPECTED_TOPICS = "UnexpectedTopics"
    STALLED = "Stalled"
    WARNING = "Warning"
    __hash__ = object.__hash__  # Enum's own is a function in Python, and each condition of each connector has a key


class ConditionStatus(Enum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `reason` is one CamelCase word for programs, `message` a text for people, without secrets.

    `since` is when `status` or `reason` last changed (Kubernetes' lastTransitionTime). `revision` is the commit of the
    reconciliation in which the condition last changed. `request` distinguishes several conditions `Warning` of a
    connector, and is empty for all other types.
    """

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str
    since: datetime
    revision: Revision
    request: str = ""

    def follows(self, before: Condition | None) -> Condition:
        """This condition as the successor of an earlier one of its type.

        `since` is kept while status and reason are the same. If the message is the same too, nothing has changed.
        """
        if before is None or (before.status, before.reason) != (self.status, self.reason):
            return self
        return before if before.message == self.message else replace(self, since=before.since)


ConditionKey = tuple[ConnectorName, ConditionType, str]
"""The connector (empty: the cluster itself), the type, and `Condition.request`."""
Conditions = Mapping[ConditionKey, Condition]
ConditionsByCluster = Mapping[ClusterName, Conditions]
