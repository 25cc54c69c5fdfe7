"""The lag of the connectors of one cluster, from measurement to measurement."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from logging import WARNING

from gitops_connect.daemon.events import NewItems, say
from gitops_connect.daemon.state import DaemonState
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.lag import ConnectorLag, Lags
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.offset_changes.connector_lag import LagReads
from gitops_connect.runtime import Runtime
from gitops_connect.settings.sections import ClusterSettings

_KEPT = 3
"""Intervals for which a lag is shown that could not be measured again."""
_MOST_PARTITIONS = 20_000
"""Partitions of a cluster that are kept, first those of the connectors with the largest lag. Each needs 300 bytes."""


@dataclass(eq=False)
class LagMeasurements:
    """Used by one thread at a time: the job that measures the lag of the cluster."""

    cluster: ClusterName
    state: DaemonState
    _read: tuple[ClusterSettings, LagReads] | None = None
    _problems: NewItems = field(default_factory=NewItems)

    def measure(self, runtime: Runtime) -> None:
        """Publish the lags that are known. A follower publishes none: only the leader asks the brokers."""
        settings = runtime.cluster(self.cluster)
        if not (settings.lag_interval and self.state.snapshot.is_leader):
            self.state.update_cluster(self.cluster, lags={})
            return
        if self._read is None or self._read[0] != settings:
            self._read = settings, LagReads(settings, runtime.families, runtime.open_kafka)
        lags = self.state.snapshot.clusters[self.cluster].lags
        try:
            client = runtime.clients[self.cluster]
            connectors, unknown = client.connectors()
            found = self._read[1].measure(client, connectors, runtime.clock)
            there, problems = connectors.keys() | unknown, found.problems
            measured = {name: one.after(lags.get(name)) for name, one in found.lags.items()}
            lags = _bounded({**{name: one for name, one in lags.items() if name in there}, **measured})
        except GitopsConnectError as error:
            problems = [str(error)]
        kept = timedelta(seconds=_KEPT * settings.lag_interval)
        self.state.update_cluster(self.cluster, lags=lags, lag_kept=kept)
        for problem in self._problems.of(problems):
            say(WARNING, "lag_unknown", cluster=self.cluster, message=problem)


def _bounded(lags: Lags) -> Lags:
    """The lags, with at most `_MOST_PARTITIONS` partitions in all."""
    left, found = _MOST_PARTITIONS, dict[ConnectorName, ConnectorLag]()
    for name, lag in sorted(lags.items(), key=lambda one: -one[1].records):
        found[name] = lag if len(lag.partitions) <= left else replace(lag, partitions=lag.partitions[:left])
        left -= len(found[name].partitions)
    return found
