"""What the endpoints use: the objects that they share, and the parameters of requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import ClusterView, PullRequestView, Snapshot
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.server.event_stream import EventStream
from gitops_connect.server.metrics import Metrics
from gitops_connect.settings.sections import Settings

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

    @property
    def snapshot(self) -> Snapshot:
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


# The parameters of requests: which connectors, which steps, and how many.

MOST = 1000
"""Entries of one page of a list."""
USUAL = 100
_LONGEST_SEARCH = 200


@dataclass(frozen=True, slots=True)
class ConnectorFilter:
    """Which connectors are listed; an empty value restricts nothing."""

    cluster: str = ""
    sync: str = ""
    health: str = ""
    attention: bool = False
    search: str = ""

    @staticmethod
    def of(params: QueryParams) -> ConnectorFilter:
        """The filter of a URL. Unknown names of states select nothing."""
        return ConnectorFilter(
            cluster=params.get("cluster", ""),
            sync=params.get("sync", ""),
            health=params.get("health", ""),
            attention=params.get("attention", "") in ("1", "true", "on"),
            search=params.get("search", "")[:_LONGEST_SEARCH].strip(),
        )

    def select(self, snapshot: Snapshot) -> Iterator[ConnectorStatus]:
        """The connectors of all clusters that the filter selects."""
        words = self.search.lower().split()
        for cluster, view in snapshot.clusters.items():
            if self.cluster in ("", cluster):
                yield from (one for one in view.connectors if self._selects(one, words))

    def _selects(self, one: ConnectorStatus, words: Sequence[str]) -> bool:
        if self.sync not in ("", one.sync.value) or self.health not in ("", one.health.value):
            return False
        if self.attention and one.is_fine:
            return False
        text = f"{one.name} {one.state} {one.reason.value} {one.message}".lower() if words else ""
        return all(word in text for word in words)

    @property
    def is_empty(self) -> bool:
        """Whether every connector is selected."""
        return self == ConnectorFilter()

    def query(self) -> str:
        """The query string of this filter, with its question mark; empty if it selects everything."""
        values = {**asdict(self), "attention": "1" if self.attention else ""}
        text = urlencode({name: value for name, value in values.items() if value})
        return f"?{text}" if text else ""


SYNC_STATES = tuple(one.value for one in Sync)
HEALTH_STATES = tuple(one.value for one in Health)


def number(params: QueryParams, name: str, usual: int | None, most: int = 2**53) -> int | None:
    """A positive number. Raises HTTPException (400)."""
    text = params.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and 1 <= int(text) <= most):
        raise HTTPException(400, f"{name}: expected a number from 1 to {most}")
    return int(text)


def page_size(params: QueryParams) -> int:
    """The parameter `limit`. Raises HTTPException (400)."""
    return number(params, "limit", USUAL, MOST) or USUAL
