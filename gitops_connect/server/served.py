"""What the endpoints use: the settings, the daemon with its snapshots, the ledger and the metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gitops_connect.daemon.reconciliations import Reconciliations
from gitops_connect.daemon.state import ClusterView, DaemonState, PullRequestView, Snapshot
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.ledger.review_store import ReviewStore
from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.restarts import RestartRecord
from gitops_connect.model.status import ConnectorStatus
from gitops_connect.server.changes import Changes
from gitops_connect.server.metrics import Metrics
from gitops_connect.server.webhook_log import WebhookLog
from gitops_connect.settings.sections import Settings


class ServedDaemon(Protocol):
    """The part of `Daemon` that the server uses."""

    @property
    def state(self) -> DaemonState:
        """The snapshots."""

    @property
    def reconciliations(self) -> Reconciliations:
        """The requests, and their results."""

    @property
    def is_alive(self) -> bool:
        """Whether the daemon starts jobs."""

    def poll_now(self) -> None:
        """Poll the repository at once."""

    def review_now(self) -> None:
        """Review the open pull requests at once, if a forge is configured."""

    def reconcile_now(self, clusters: Collection[ClusterName]) -> int:
        """Poll the repository at once, then reconcile these clusters. Returns the number of the request."""


class ServedLedger(Protocol):
    """The part of `Ledger` that the server uses. It is only read."""

    operations: Operations
    status: StatusStore
    reviews: ReviewStore

    def restarts(self, cluster: ClusterName) -> Mapping[ConnectorName, RestartRecord]:
        """The automatic restarts that still count."""


@dataclass(frozen=True, slots=True)
class Served:
    """The objects that all endpoints share."""

    settings: Settings
    daemon: ServedDaemon
    ledger: ServedLedger
    metrics: Metrics
    changes: Changes
    webhook_log: WebhookLog

    @property
    def snapshot(self) -> Snapshot:
        """The latest snapshot."""
        return self.daemon.state.snapshot

    @property
    def directory(self) -> str:
        """The directory of the documents in the repository, which precedes the path of each diagnostic."""
        return Path(self.settings.repository.path).as_posix().removeprefix(".")


def served(request: Request) -> Served:
    """The objects of the application that handles the request."""
    found: Served = request.app.state.served
    return found


def cluster_diagnostics(snapshot: Snapshot, view: ClusterView) -> Diagnostics:
    """The problems that only this cluster or the ledger reveals."""
    known = set(snapshot.repository.diagnostics)
    return Diagnostics(tuple(one for one in view.diagnostics if one not in known))


def cluster_in(snapshot: Snapshot, name: str) -> ClusterView:
    """The cluster of that name. Raises HTTPException (404)."""
    view = snapshot.clusters.get(ClusterName(name))
    if view is None:
        raise HTTPException(404, f"there is no cluster {name!r} in the settings")
    return view


def connector_in(view: ClusterView, name: str) -> ConnectorStatus:
    """The connector of that name. Raises HTTPException (404)."""
    for one in view.connectors:
        if one.name == name:
            return one
    raise HTTPException(404, f"there is no connector {name!r}, neither declared nor on the cluster {view.cluster}")


def pull_request_in(snapshot: Snapshot, number: int) -> PullRequestView:
    """The review of an open pull request. Raises HTTPException (404)."""
    for one in snapshot.pull_requests:
        if one.pull_request.number == number:
            return one
    raise HTTPException(404, f"no open pull request {number} was reviewed")
