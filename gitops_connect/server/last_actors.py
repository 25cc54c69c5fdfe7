"""Who or what changed each connector last, for the filter of the lists of connectors."""

from __future__ import annotations

import threading
from collections import defaultdict

from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import ActorKind
from gitops_connect.server.fleet import Actors

_OVERLAP = 100
"""Steps that are read again: PostgreSQL can show a step after one with a larger id."""


class LastActors:
    """The actors of the last steps in the history. After the first time, only newer steps are read.

    Safe for several threads.
    """

    def __init__(self, status: StatusStore) -> None:
        self._status, self._lock = status, threading.Lock()
        self._known = defaultdict[ClusterName, dict[ConnectorName, ActorKind]](dict)
        self._last: int | None = None

    def read(self) -> Actors:
        """Raises what the methods of the ledger raise."""
        with self._lock:
            after = None if self._last is None else self._last - _OVERLAP
            for number, cluster, connector, kind in self._status.last_actors(after):
                self._known[cluster][connector], self._last = kind, number
            return self._known
