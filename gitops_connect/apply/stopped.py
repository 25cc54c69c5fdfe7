"""The connectors that a process has stopped and not resumed yet: reported if the process is ended at once."""

from __future__ import annotations

from threading import Lock

from gitops_connect.model.names import ClusterName, ConnectorName


class StoppedConnectors:
    """A set of connectors that several threads change, and that a signal handler may read at any time.

    Each change replaces the whole value, so that reading it takes no lock. A signal handler must not take one: the
    thread that it interrupts may hold it.
    """

    def __init__(self) -> None:
        self._now: frozenset[tuple[ClusterName, ConnectorName]] = frozenset()
        self._changing = Lock()

    @property
    def now(self) -> frozenset[tuple[ClusterName, ConnectorName]]:
        """The connectors that are stopped at this moment, or were requested to stop."""
        return self._now

    def add(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector is about to be stopped, or to be created stopped."""
        with self._changing:
            self._now |= {(cluster, connector)}

    def discard(self, cluster: ClusterName, connector: ConnectorName) -> None:
        """The connector was resumed, paused or deleted, or was never stopped."""
        with self._changing:
            self._now -= {(cluster, connector)}
