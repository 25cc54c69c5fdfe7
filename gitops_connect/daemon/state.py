"""What the daemon knows, as immutable values for the status page, the API and metrics, and what it was asked to do.

The daemon's threads replace these values; readers take a snapshot, and can wait for the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.lag import ConnectorLag, Lags
from gitops_connect.model.names import ClusterName, ConnectorName, Revision, TopicName
from gitops_connect.model.outcomes import ReconciliationOutcome, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.pull_requests import CommitState, PullRequest, PullRequestPlan
from gitops_connect.model.status import Conditions, ConnectorStatus


@dataclass(frozen=True, slots=True)
class RepositoryView:
    """The repository at the last poll.

    `revision` is the commit in effect, with its author and the first line of its message; None if the repository was
    never read. `error` is the reason why the last poll failed, `polled` when it ended.
    """

    revision: Revision | None = None
    author: str = ""
    subject: str = ""
    documents: int = 0
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    error: str = ""
    polled: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster as of its last reconciliation.

    `plan`, `connectors` and `diagnostics` are from the last reconciliation that could read the cluster, at `observed`;
    None and empty before the first one. `steps` are the results so far of the reconciliation in progress, or else of
    the last one. `error` is the reason why the last reconciliation failed as a whole. `next` is when the next one is
    due; None while one is in progress. `topics` are the active topics of the connectors whose topics were read. `lags`
    are measured apart from reconciliations, by the leader. They count for `lag_kept`: a measurement may take long.
    """

    cluster: ClusterName
    plan: Plan | None = None
    connectors: tuple[ConnectorStatus, ...] = ()
    conditions: Conditions = field(default_factory=dict)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    steps: tuple[StepOutcome, ...] = ()
    observed: datetime | None = None
    applied: Revision | None = None
    error: str = ""
    next: datetime | None = None
    topics: Mapping[ConnectorName, frozenset[TopicName]] = field(default_factory=dict)
    lags: Lags = field(default_factory=dict)
    lag_kept: timedelta = timedelta.max

    def lag(self, name: ConnectorName) -> ConnectorLag | None:
        """The lag of the connector; None if it is unknown, or was measured more than `lag_kept` ago."""
        lag = self.lags.get(name)
        return None if lag is None or datetime.now(UTC) - lag.measured > self.lag_kept else lag


@dataclass(frozen=True, slots=True)
class PullRequestView:
    """An open pull request as of its last review.

    `plan.head` is the commit that was planned, and `comment` the text that the forge has. `reviewed` is the time of the
    first review with this result.
    """

    pull_request: PullRequest
    plan: PullRequestPlan
    state: CommitState
    summary: str
    comment: str
    reviewed: datetime


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything at one moment. `number` rises with each change.

    `is_leader`: this process makes the changes. `has_ledger`: it could use the ledger when it last tried.
    """

    number: int
    repository: RepositoryView
    clusters: Mapping[ClusterName, ClusterView]
    is_leader: bool = True
    has_ledger: bool = True
    pull_requests: tuple[PullRequestView, ...] = ()


class DaemonState:
    """The latest snapshot. Safe for several threads."""

    def __init__(self, clusters: Mapping[ClusterName, ClusterView]) -> None:
        self._changed = threading.Condition()
        self.snapshot = Snapshot(0, RepositoryView(), clusters)

    def wait(self, number: int, timeout: float) -> Snapshot:
        """The first snapshot with a higher number, or the present one after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.snapshot.number > number, timeout)
            return self.snapshot

    def set_repository(self, view: RepositoryView) -> None:
        self._publish(lambda now: replace(now, repository=view))

    def update_cluster(self, cluster: ClusterName, **changes: Any) -> None:
        """Replace fields of the view of one cluster, by their names."""
        self._publish(
            lambda now: replace(now, clusters={**now.clusters, cluster: replace(now.clusters[cluster], **changes)})
        )

    def set_pull_requests(self, views: tuple[PullRequestView, ...]) -> None:
        self._publish(lambda now: replace(now, pull_requests=views))

    def set_leader(self, *, is_leader: bool) -> None:
        """Record whether this process makes the changes."""
        self._publish(lambda now: replace(now, is_leader=is_leader))

    def set_ledger(self, error: Exception | None) -> None:
        """Record whether the ledger can be used."""
        self._publish(lambda now: replace(now, has_ledger=error is None))

    def _publish(self, change: Callable[[Snapshot], Snapshot]) -> None:
        with self._changed:
            snapshot = change(self.snapshot)
            if snapshot != self.snapshot:
                self.snapshot = replace(snapshot, number=self.snapshot.number + 1)
                self._changed.notify_all()


# Requests to reconcile at once, and their results.
#
# Each request has a number. It is carried out by a poll of the repository that begins after the request, and then by a
# reconciliation of each cluster that begins after this poll.

Result = ReconciliationOutcome | Exception
Listener = Callable[[ClusterName, Result, float], None]
KEPT = 50
"""Results of requests that are kept for each cluster."""


class Reconciliations:
    """The requests, and their results. Safe for several threads.

    Each function in `listeners` is called when a reconciliation has ended, with the cluster, the result and the seconds
    that it took.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.last = 0
        """The number of the last request; 0 if there was none."""
        self.polled = 0
        """The number of the last request for which the repository was polled."""
        self._requested: dict[ClusterName, int] = {}
        self._carried: dict[ClusterName, deque[tuple[int, Result]]] = {}
        """The first reconciliation that carries out the requests up to a number, with that number."""
        self.listeners: list[Listener] = []

    def request(self, clusters: Iterable[ClusterName]) -> int:
        """Record a request for these clusters (none: only for a poll), and return its number."""
        with self._lock:
            self.last += 1
            self._requested |= dict.fromkeys(clusters, self.last)
            return self.last

    def poll_ended(self, number: int) -> None:
        """Record a poll; `number` was the last request when the poll began."""
        with self._lock:
            self.polled = max(self.polled, number)

    def due(self, clusters: Collection[ClusterName]) -> list[ClusterName]:
        """Those of the clusters that were requested, polled for, and not reconciled since then."""
        with self._lock:
            return [one for one in clusters if self._covered(one) < self._requested.get(one, 0) <= self.polled]

    def end(self, cluster: ClusterName, number: int, result: Result, seconds: float) -> None:
        """Record a result; `number` was the last request that was polled for when the reconciliation began."""
        with self._lock:
            if number > self._covered(cluster):
                self._carried.setdefault(cluster, deque(maxlen=KEPT)).append((number, result))
        for listen in self.listeners:
            listen(cluster, result, seconds)

    def result(self, cluster: ClusterName, number: int) -> Result | None:
        """The result of the first reconciliation of the cluster that carries out this request; None before its end."""
        with self._lock:
            return next((result for request, result in self._carried.get(cluster, ()) if request >= number), None)

    def _covered(self, cluster: ClusterName) -> int:
        return self._carried[cluster][-1][0] if cluster in self._carried else 0
