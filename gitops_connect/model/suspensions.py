"""Suspensions: gitops-connect shows what it would change on a connector or a whole cluster, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName


class SuspendedBy(Enum):
    """What suspended a connector or a cluster, and therefore what resumes it."""

    DOCUMENT = "document"
    SETTINGS = "settings"
    COMMAND = "command"


def by_whom(who: str, since: datetime | None, reason: str) -> str:
    """As in `by ana@ops-1 since 2026-11-21 10:00:00 UTC (INC-4711)`."""
    return f"by {who}{f' since {since:%Y-%m-%d %H:%M:%S} UTC' if since else ''}{f' ({reason})' if reason else ''}"


@dataclass(frozen=True, slots=True)
class Suspension:
    """Why a connector is suspended. `who`, `since` and `reason` are those of a command; the reason may be empty.

    `whole_cluster`: all connectors of the cluster are suspended, and not only this one.
    """

    by: SuspendedBy
    whole_cluster: bool = False
    who: str = ""
    since: datetime | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """As in `suspended by ana@ops-1 since 2026-11-21 10:00:00 UTC (INC-4711)`."""
        return f"{'its cluster is ' if self.whole_cluster else ''}suspended {self.origin}"

    @property
    def origin(self) -> str:
        """The second part of `words`: by whom or what, since when, and the reason."""
        match self.by:
            case SuspendedBy.DOCUMENT:
                return "by its document"
            case SuspendedBy.SETTINGS:
                return "by the settings"
            case SuspendedBy.COMMAND:
                return by_whom(self.who, self.since, self.reason)

    def release(self, cluster: ClusterName, connector: ConnectorName) -> str:
        """What ends it, as an imperative."""
        match self.by:
            case SuspendedBy.DOCUMENT:
                return "remove `spec.suspend`"
            case SuspendedBy.SETTINGS:
                return "remove `suspend` from the settings"
            case SuspendedBy.COMMAND:
                if self.whole_cluster:
                    return f"run: {command_line('resume cluster', cluster)}"
                return f"run: {command_line('resume connector', connector, '--cluster', cluster)}"

    def value(self) -> dict[str, Any]:
        return {
            "by": self.by.value,
            "whole_cluster": self.whole_cluster,
            "who": self.who or None,
            "since": None if self.since is None else self.since.isoformat(timespec="seconds"),
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class Suspensions:
    """What suspends connectors of one cluster, apart from their documents: a setting, and commands."""

    cluster: Suspension | None = None
    connectors: Mapping[ConnectorName, Suspension] = field(default_factory=dict)
