"""Who or what changed each connector last, for the filter of the lists of connectors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import Actors

_OVERLAP = 100
"""Steps that are read again: PostgreSQL can show a step after one with a larger id."""
_MOST_NEW = 10_000
"""So many new steps are read faster one by one than the last one of each connector."""
_WHOLE_AFTER = 600.0
"""Seconds after which all are read again: a long transaction can show a step after very many with larger ids."""


class LastActors:
    """The actors of the last steps in the history. After the first time, mostly newer steps are read.

    Safe for several threads. What `read` returns never changes.
    """

    def __init__(self, status: StatusStore, clusters: Callable[[], Collection[ClusterName]]) -> None:
        self._status, self._clusters, self._lock = status, clusters, threading.Lock()
        self._known: Actors = {}
        self._of: Collection[ClusterName] = ()
        self._last, self._whole = 0, 0.0

    def read(self) -> Actors:
        """Raises what the methods of the ledger raise."""
        with self._lock:
            newest, clusters, now = self._status.newest_step(), [*self._clusters()], time.monotonic()
            if clusters != self._of or newest - self._last > _MOST_NEW or now - self._whole >= _WHOLE_AFTER:
                # one cluster after the other: a query that takes long keeps others from writing to SQLite
                self._known = {key: kind for one in clusters for key, kind in self._status.last_actors(one).items()}
                self._of, self._whole = clusters, now
            else:
                later = self._status.later_actors(self._last - _OVERLAP)
                if not later.items() <= self._known.items():
                    self._known = {**self._known, **later}
            self._last = newest
            return self._known
