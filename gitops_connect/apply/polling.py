"""The one look at the cluster that all waiting steps share, and how often it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.apply.cluster import Cluster
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedConnector

SHORTEST_PAUSE = 0.2
LONGEST_PAUSE = 2.0
BUSY_PAUSE = 1.0
"""While steps queue up for their requests, looking more often would only take time from those."""
_GROWTH = 1.6
_SHARE_IDLE, _SHARE_BUSY = 3, 10
"""Pauses are at least that many times as long as the last look took: with 300 connectors one costs up to 0.3 s of a
worker."""


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """What the whole cluster looked like, once. `number` counts looks; `gone` are the deleted that no worker lists.

    Where the cluster could not be read, `error` says why and the rest is empty.
    """

    number: int
    seconds: float
    connectors: Mapping[ConnectorName, ObservedConnector] = field(default_factory=dict)
    unknown: frozenset[ConnectorName] = frozenset()
    gone: frozenset[ConnectorName] = frozenset()
    error: str = ""


def take_snapshot(cluster: Cluster, clock: Clock, number: int, deleted: frozenset[ConnectorName]) -> ClusterSnapshot:
    """One request for all connectors, and two more where some of `deleted` seem to be gone."""
    began = clock.monotonic()
    try:
        connectors, unknown = cluster.connectors()
        missing = deleted - connectors.keys() - unknown
        gone = cluster.absent(missing)
    except GitopsConnectError as error:
        return ClusterSnapshot(number, clock.monotonic() - began, error=str(error))
    return ClusterSnapshot(number, clock.monotonic() - began, connectors, unknown, gone)


class PollInterval:
    """When to look next: soon after something was sent, then less and less often, and never so often that it costs."""

    def __init__(self, now: float) -> None:
        self._pause = SHORTEST_PAUSE
        self._since = now
        self._cost = 0.0

    def answered(self, now: float, *, alone: bool) -> None:
        """A request has ended, so something will soon be seen. `alone`: nothing else was waited for."""
        self._pause = SHORTEST_PAUSE
        if alone:
            self._since = now

    def looked(self, now: float, seconds: float, *, moved: bool) -> None:
        """A look has ended, `moved` if some step ended with it."""
        self._pause = SHORTEST_PAUSE if moved else min(self._pause * _GROWTH, LONGEST_PAUSE)
        self._since = now
        self._cost = seconds

    def due(self, *, busy: bool) -> float:
        """When to look next (monotonic seconds). `busy`: there are steps that wait to send."""
        if busy:
            return self._since + max(BUSY_PAUSE, self._pause, _SHARE_BUSY * self._cost)
        return self._since + max(self._pause, _SHARE_IDLE * self._cost)
