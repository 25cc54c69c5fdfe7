"""What the endpoints use: the objects that they share, and the parameters of requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import ClusterView, PullRequestView, Snapshot
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics
from gitops_connect.model.differences import Difference
from gitops_connect.model.history_filter import PARAMETERS, HistoryFilter, is_usable
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeRecord
from gitops_connect.model.status import ConnectorStatus
from gitops_connect.offset_changes.recorded_changes import receipt
from gitops_connect.report.offset_change_view import ChangeViews
from gitops_connect.report.receipt import Receipt
from gitops_connect.server.event_stream import EventStream
from gitops_connect.server.fleet import SIZES, USUAL_SIZE, ConnectorQuery, Fleet, Index, decoded_key, encoded_key
from gitops_connect.server.last_actors import LastActors
from gitops_connect.server.metrics import Metrics
from gitops_connect.server.page_values import ChangeLine, planned_line, recorded_line
from gitops_connect.settings.sections import Settings

OLDEST = "gitops_connect.oldest_snapshot"
"""In the scope of a request: the number of the snapshot at its begin. A page may have values of later ones, too."""
PAUSE = 60.0
"""Seconds between two events `webhook_rejected`."""
log = logging.getLogger("gitops_connect")


class WebhookLog:
    """Logs webhooks: rejected ones at most once a minute, because anyone may send them. Safe for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = float("-inf")
        self._left_out = 0

    def accepted(self, provider: str, reason: str) -> None:
        """An authentic webhook."""
        log.info("webhook_received", extra={"fields": {"provider": provider, "message": reason}})

    def rejected(self, provider: str, reason: str) -> None:
        """A webhook that is not authentic, or too large. The event counts those that were not logged before it."""
        with self._lock:
            now = self._clock.monotonic()
            if now - self._last < PAUSE:
                self._left_out += 1
                return
            left_out, self._left_out, self._last = self._left_out, 0, now
        fields = {"provider": provider, "message": reason, "not_logged": left_out or None}
        log.warning("webhook_rejected", extra={"fields": fields})


@dataclass(frozen=True, slots=True)
class Served:
    """The objects that all endpoints share."""

    settings: Settings
    daemon: Daemon
    ledger: Ledger
    metrics: Metrics
    events: EventStream
    webhook_log: WebhookLog
    fleet: Fleet = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fleet", Fleet(LastActors(self.ledger.status, lambda: self.snapshot.clusters).read))

    @property
    def snapshot(self) -> Snapshot:
        return self.daemon.state.snapshot

    @property
    def index(self) -> Index:
        """The connectors of the latest snapshot."""
        return self.fleet.at(self.snapshot)

    @property
    def directory(self) -> str:
        """The directory of the documents in the repository, which precedes the path of each diagnostic."""
        return Path(self.settings.repository.path).as_posix().removeprefix(".")


def served(request: Request) -> Served:
    """The objects of the application. Remembers the oldest snapshot that the request can have read."""
    found: Served = request.app.state.served
    request.scope.setdefault(OLDEST, found.snapshot.number)
    return found


def all_problems(one: Served) -> list[tuple[ClusterName | None, Diagnostic]]:
    """The problems of the documents (None), and those that only a cluster or the ledger reveals."""
    snapshot = one.snapshot
    documents = snapshot.repository.diagnostics
    known, parts = set(documents), list[tuple[ClusterName | None, Diagnostics]]([(None, documents)])
    for view in snapshot.clusters.values():
        parts.append((view.cluster, Diagnostics(tuple(each for each in view.diagnostics if each not in known))))
    return [(cluster, each) for cluster, found in parts for each in found.under(one.directory)]


def cluster_in(snapshot: Snapshot, name: str) -> ClusterView:
    """The cluster of that name. Raises HTTPException (404)."""
    view = snapshot.clusters.get(ClusterName(name))
    if view is None:
        raise HTTPException(404, f"there is no cluster {name!r} in the settings")
    return view


def served_cluster(request: Request) -> tuple[Served, ClusterView]:
    """The shared objects, and the cluster in the path of the request. Raises HTTPException (404)."""
    one = served(request)
    return one, cluster_in(one.snapshot, request.path_params["cluster"])


def served_connector(request: Request) -> tuple[Served, ClusterView, ConnectorStatus]:
    """The shared objects, and the cluster and the connector in the path of the request.

    Raises HTTPException: 404, or 503 before the cluster was read.

    An open page of a connector asks again after 503, and ends after 404. So it continues after a restart of the daemon.
    """
    (one, view), name = served_cluster(request), request.path_params["connector"]
    found = one.index.clusters[view.cluster].by_name.get(name)
    if found is not None:
        return one, view, found
    if view.observed is None:
        raise HTTPException(503, f"the cluster {view.cluster} was not read yet", {"Retry-After": "5"})
    raise HTTPException(404, f"there is no connector {name!r}, neither declared nor on the cluster {view.cluster}")


def served_pull_request(request: Request) -> tuple[Served, PullRequestView]:
    """The shared objects, and the review of the open pull request in the path. Raises HTTPException (404)."""
    one, number = served(request), request.path_params["number"]
    for view in one.snapshot.pull_requests:
        if view.pull_request.number == number:
            return one, view
    raise HTTPException(404, f"no open pull request {number} was reviewed")


# The parameters of requests: how many entries of a list.

MOST = 1000
"""Entries of one page of a list."""
USUAL = 100


def number(params: QueryParams, name: str, usual: int | None, most: int = 2**53) -> int | None:
    """A positive number. Raises HTTPException (400)."""
    text = params.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and 1 <= int(text) <= most):
        raise HTTPException(400, f"{name}: expected a number from 1 to {most}")
    return int(text)


def history_filter(one: Served, params: QueryParams, others: Collection[str] | None = None) -> HistoryFilter:
    """The filter of the history. Raises HTTPException (400), also for parameters that are not its own and no `others`.

    `others` is None for a page, on which any other parameter is allowed.
    """
    unknown = [name for name in params if others is not None and name not in (*PARAMETERS, *others)]
    if unknown:
        raise HTTPException(400, f"unknown parameter {unknown[0]!r}; expected one of {', '.join(PARAMETERS)}")
    try:
        given = {name: params.getlist(name) for name in PARAMETERS}
        return HistoryFilter.of(given, one.snapshot.clusters, datetime.now(UTC))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


def page_size(params: QueryParams) -> int:
    """The parameter `limit`. Raises HTTPException (400)."""
    return number(params, "limit", USUAL, MOST) or USUAL


def connector_query(request: Request) -> ConnectorQuery:
    """The connectors that a page lists. Raises HTTPException (400)."""
    least, most = SIZES
    size = number(request.query_params, "size", USUAL_SIZE, most) or USUAL_SIZE
    if size < least:
        raise HTTPException(400, f"size: expected a number from {least} to {most}")
    return ConnectorQuery.of(request.query_params, size)


def declared_in(one: Served, cluster: ClusterName, connector: ConnectorName) -> DesiredConnector | None:
    """What Git declares of a connector, without the values of secrets; None if it was not read or is not declared."""
    states = None if one.daemon.declared is None else one.daemon.declared.states.get(cluster)
    return None if states is None else states.by_name.get(connector)


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """The last offset change of a page. Those with the same time are in the order of clusters and names."""

    since: datetime
    cluster: str
    name: str

    @staticmethod
    def of(cluster: ClusterName, record: OffsetChangeRecord) -> ChangeCursor:
        return ChangeCursor(record.since, cluster, record.name)

    @property
    def text(self) -> str:
        return encoded_key((self.since.isoformat(), self.cluster, self.name))

    def beyond(self, cluster: ClusterName) -> tuple[datetime, str | None]:
        """The position after which the next page of a cluster begins, for `OffsetChangeStore.page`."""
        if cluster == self.cluster:
            return self.since, self.name
        return self.since, "" if cluster > self.cluster else None


def change_cursor(params: QueryParams) -> ChangeCursor | None:
    """The parameter `after` of the offset changes. Raises HTTPException (400)."""
    if not params.get("after"):
        return None
    try:
        since, cluster, name = map(str, decoded_key(params["after"]))
        if is_usable(name):
            return ChangeCursor(datetime.fromisoformat(since).astimezone(UTC), cluster, name)
    except (ValueError, OverflowError):
        pass
    raise HTTPException(400, "after: expected the value `next` of the page before")


@dataclass(frozen=True, slots=True)
class FoundChange:
    """An offset change of the ledger or the plan. `record` is None if it is only planned.

    `difference` has the offsets before and after; None if they are not stored, or are too many.
    """

    line: ChangeLine
    record: OffsetChangeRecord | None
    receipt: Receipt
    difference: Difference | None


def served_change(request: Request) -> tuple[ClusterView, FoundChange]:
    """The cluster and the offset change in the path of the request. Raises HTTPException (404)."""
    (one, view), name = served_cluster(request), request.path_params["operation"]
    record = one.ledger.offset_changes.find(view.cluster, OffsetChangeName(name))
    views = ChangeViews.of(view.cluster, view.plan, one.directory)
    planned, known = views.planned.get(OffsetChangeName(name)), Receipt()
    if record is not None:
        line, known = recorded_line(views, record), receipt(one.ledger, view.cluster, record)
    elif planned is not None:
        line = planned_line(views, planned)
    else:
        raise HTTPException(404, f"there is no offset change {name!r} on the cluster {view.cluster}")
    return view, FoundChange(line, record, known, known.difference or (planned.one.difference if planned else None))
