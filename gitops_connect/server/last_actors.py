"""Who or what changed each connector last, for the filter of the lists of connectors."""

from __future__ import annotations

import threading

from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import ActorKind
from gitops_connect.server.fleet import Actors

_OVERLAP = 100
"""Steps that are read again: PostgreSQL can show a step after one with a larger id."""


class LastActors:
    """The actors of the last steps in the history. After the first time, only newer steps are read.

    Safe for several threads. What `read` returns never changes.
    """

    def __init__(self, status: StatusStore) -> None:
        self._status, self._lock = status, threading.Lock()
        self._known: Actors = {}
        self._last: int | None = None

    def read(self) -> Actors:
        """Raises what the methods of the ledger raise."""
        with self._lock:
            after = None if self._last is None else self._last - _OVERLAP
            found = dict[tuple[ClusterName, ConnectorName], ActorKind]()
            for number, cluster, connector, kind in self._status.last_actors(after):
                found[cluster, connector], self._last = kind, number
            if not found.items() <= self._known.items():
                self._known = {**self._known, **found}
            return self._known
