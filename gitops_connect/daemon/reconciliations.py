"""Requests to reconcile at once, and their results.

Each request has a number. It is carried out by a poll of the repository that begins after the request, and then by a
reconciliation of each cluster that begins after this poll.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable

from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome

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
            found = self._carried.get(cluster, ())
            return next((result for request, result in found if request >= number), None)

    def _covered(self, cluster: ClusterName) -> int:
        return self._carried[cluster][-1][0] if cluster in self._carried else 0
