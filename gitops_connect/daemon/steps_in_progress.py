"""The steps that are in progress on each cluster: what the daemon waits for at its end, and what it leaves behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import StepOutcome
from gitops_connect.model.plans import Plan, Step


class StepsInProgress:
    """A set of the clusters on which steps are in progress. The caller has a lock for all changes."""

    def __init__(self) -> None:
        self._left: dict[ClusterName, dict[ConnectorName, deque[Step]]] = {}

    def __iter__(self) -> Iterator[ClusterName]:
        return iter(self._left)

    def __contains__(self, cluster: ClusterName) -> bool:
        return cluster in self._left

    def __len__(self) -> int:
        return len(self._left)

    def begin(self, cluster: ClusterName, plan: Plan) -> None:
        """The steps of the plan begin."""
        self._left[cluster] = {one.name: deque(one.steps) for one in plan.connectors if one.applicable}

    def ended(self, cluster: ClusterName, outcome: StepOutcome) -> None:
        """A step has ended, or will not begin. The steps of one connector end in their order."""
        self._left[cluster][outcome.step.connector].popleft()

    def discard(self, cluster: ClusterName) -> None:
        """The reconciliation of the cluster has ended."""
        self._left.pop(cluster, None)

    def steps(self) -> Sequence[tuple[ClusterName, Step]]:
        """The next step to end of each connector, sorted: once no other step begins, these are in progress."""
        return [
            (cluster, steps[0])
            for cluster, connectors in sorted(self._left.items())
            for _, steps in sorted(connectors.items())
            if steps
        ]
