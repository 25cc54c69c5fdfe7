"""The one poll of the cluster that all waiting steps share, and how often it happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.apply.cluster_api import Cluster
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector

SHORTEST_PAUSE = 0.2
LONGEST_PAUSE = 2.0
BUSY_PAUSE = 1.0
"""While steps queue up for their requests, more frequent polls would only take time from the requests."""
_GROWTH = 1.6
_SHARE_IDLE, _SHARE_BUSY = 3, 10
"""Pauses last at least this many times the duration of the last poll: with 300 connectors a poll costs up to 0.3 s of a
worker."""


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The state of the whole cluster at one time. `number` counts polls; `gone` are the deleted that no worker lists.

    If the cluster could not be read, `error` says why and the rest is empty.
    """

    number: int
    seconds: float
    connectors: Mapping[ConnectorName, ObservedConnector] = field(default_factory=dict)
    unknown: frozenset[ConnectorName] = frozenset()
    gone: frozenset[ConnectorName] = frozenset()
    error: str = ""


def take_snapshot(cluster: Cluster, clock: Clock, number: int, deleted: frozenset[ConnectorName]) -> ClusterSnapshot:
    """Read all connectors in one request, and in two more if some of `deleted` seem to be gone."""
    began = clock.monotonic()
    try:
        connectors, unknown = cluster.connectors()
        missing = deleted - connectors.keys() - unknown
        gone = cluster.absent(missing)
    except GitopsConnectError as error:
        return ClusterSnapshot(number, clock.monotonic() - began, error=str(error))
    return ClusterSnapshot(number, clock.monotonic() - began, connectors, unknown, gone)


class PollInterval:
    """When to poll next: soon after a request, then less and less often, and never so often that it is costly."""

    def __init__(self, now: float) -> None:
        self._pause = SHORTEST_PAUSE
        self._since = now
        self._cost = 0.0

    def answered(self, now: float, *, alone: bool) -> None:
        """A request has ended, so an effect is expected soon. `alone`: no other step is waited for."""
        self._pause = SHORTEST_PAUSE
        if alone:
            self._since = now

    def observe(self, now: float, seconds: float, *, moved: bool) -> None:
        """A poll has ended, `moved` if it ended a step."""
        self._pause = SHORTEST_PAUSE if moved else min(self._pause * _GROWTH, LONGEST_PAUSE)
        self._since = now
        self._cost = seconds

    def due(self, *, busy: bool) -> float:
        """When to poll next (monotonic seconds). `busy`: there are steps that wait to send."""
        if busy:
            return self._since + max(BUSY_PAUSE, self._pause, _SHARE_BUSY * self._cost)
        return self._since + max(self._pause, _SHARE_IDLE * self._cost)
