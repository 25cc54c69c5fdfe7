"""The steps that are in progress on each cluster: what the daemon waits for at its end, and what it leaves behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count

from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import StepOutcome
from gitops_connect.model.plans import Plan, Step


class StepsInProgress:
    """The plans that are being carried out, each by its number. The caller has a lock for all changes.

    A cluster may have two: a daemon that was the leader before may still wait for the end of earlier steps.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self._left: dict[int, tuple[ClusterName, dict[ConnectorName, deque[Step]]]] = {}

    def __len__(self) -> int:
        return len(self._left)

    @property
    def clusters(self) -> set[ClusterName]:
        """The clusters on which steps are in progress."""
        return {cluster for cluster, _ in self._left.values()}

    def begin(self, cluster: ClusterName, plan: Plan) -> int:
        """The steps of the plan begin. Returns the number of the plan."""
        number = next(self._numbers)
        self._left[number] = (cluster, {one.name: deque(one.steps) for one in plan.connectors if one.applicable})
        return number

    def ended(self, number: int, outcome: StepOutcome) -> None:
        """A step has ended, or will not begin. The steps of one connector end in their order."""
        self._left[number][1][outcome.step.connector].popleft()

    def discard(self, number: int) -> None:
        """The plan has been carried out."""
        del self._left[number]

    def steps(self) -> Sequence[tuple[ClusterName, Step]]:
        """The next step to end of each connector, sorted: once no other step begins, these are in progress."""
        left = sorted((cluster, name, number) for number, (cluster, names) in self._left.items() for name in names)
        return [(cluster, steps[0]) for cluster, name, number in left if (steps := self._left[number][1][name])]
