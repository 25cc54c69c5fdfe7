"""What people decide about a rollout by a command: to continue it, or to skip connectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from gitops_connect.model.names import ConnectorName, Revision
from gitops_connect.model.suspensions import by_whom

WHOLE_ROLLOUT = ConnectorName("")
"""Instead of the name of a connector: the decision is about each connector of the rollout without one of its own."""


class RolloutChoice(Enum):
    CONTINUE = "continue"
    """The failures until then do not stop the rollout."""
    SKIP = "skip"
    """The connector keeps its earlier config until its document has another config."""


@dataclass(frozen=True, slots=True)
class RolloutDecision:
    """A decision, by whom, since when, and why; the reason may be empty."""

    choice: RolloutChoice
    who: str
    since: datetime
    reason: str

    @property
    def origin(self) -> str:
        """As in `by ana@ops-1 since 2026-11-21 10:00:00 UTC (INC-4711)`."""
        return by_whom(self.who, self.since, self.reason)


RolloutDecisions = Mapping[tuple[Revision, ConnectorName], RolloutDecision]
"""The decisions about the rollouts of a cluster, by the commit of the rollout and the connector."""
