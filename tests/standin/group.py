"""The workers of a Connect group: which of them runs which connector, and what a rebalance and a death change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from standin.plugins import Refused

if TYPE_CHECKING:
    from standin.cluster import Cluster

WORKER = "127.0.0.1:1"
"""Nobody listens there. If something had, as a sandbox does on 8083, the worker would count as gone after its end."""
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
NOT_FORWARDED = "IO Error trying to forward REST request: java.net.ConnectException: Connection refused"


class Group:
    """The first of the `workers` is the leader. Those of `dead` were killed.

    The group notices a death after `session_timeout` seconds. After `max_delay` more, other workers run the connectors
    of the dead one (`scheduled.rebalance.max.delay.ms`); until then, they are reported as if nothing had happened. A
    new leader knows of no worker before it, and does not wait.
    """

    session_timeout = 6.0
    max_delay = 0.0
    rebalance_time = 2.0

    def __init__(self, cluster: Cluster, *workers: str) -> None:
        self._cluster = cluster
        self.workers = [*workers]
        self.dead: set[str] = set()
        self._until = 0.0
        """When the last rebalance ends."""

    def require_leader(self) -> None:
        """Raise Refused if a request that only the leader can carry out cannot be carried out now."""
        if self.workers[0] in self.dead:
            raise Refused(500, NOT_FORWARDED)
        if self._cluster.time < self._until:
            raise Refused(409, NO_LEADER)

    def choose(self, name: str) -> str:
        """The worker that runs a connector."""
        return self.workers[sum(name.encode()) % len(self.workers)]

    def rebalance(self, seconds: float | None = None) -> None:
        """Let the group assign the connectors again. Those that get another worker are UNASSIGNED meanwhile."""
        seconds = self.rebalance_time if seconds is None else seconds
        self._until = max(self._until, self._cluster.time + seconds)
        for connector in self._cluster.connectors.values():
            if connector.worker != (worker := self.choose(connector.name)):
                self._cluster.move(connector, worker, seconds)

    def kill(self, worker: str) -> None:
        self.dead.add(worker)
        self._cluster.later("", lambda: self._notice(worker), self.session_timeout)

    def _notice(self, worker: str) -> None:
        if worker in self.dead and len(self.workers) > 1:
            delay = 0.0 if worker == self.workers[0] else self.max_delay
            self.workers.remove(worker)
            self._until = max(self._until, self._cluster.time + self.rebalance_time)
            self._cluster.later("", self.rebalance, delay)

    def start(self, worker: str) -> None:
        """Let a worker join the group, also one that was killed: it then runs its connectors again."""
        self.dead.discard(worker)
        if worker not in self.workers:
            self.workers.append(worker)
        for connector in self._cluster.connectors.values():
            if connector.worker == worker:
                self._cluster.move(connector, worker, self.rebalance_time)
        self.rebalance()
