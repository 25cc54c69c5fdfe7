"""Metrics for Prometheus: counters of log events and of reconciliations, and the gauges of `snapshot_metrics`.

docs/reference/metrics.md explains each; a test compares the page with the metrics. Labels have a bounded number of
values: names from outside become labels only for `[server] metrics_connectors` connectors of each cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

from gitops_connect.daemon.reconciliations import Reconciliations, Result
from gitops_connect.daemon.state import DaemonState
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import Result as StepResult
from gitops_connect.model.plans import Action
from gitops_connect.server.outcomes import WORDS, outcome_word
from gitops_connect.server.snapshot_metrics import PREFIX, SnapshotCollector, label

OTHERS = "(others)"
"""The label of all connectors above the limit. No connector has this name: Connect's plugins accept no parentheses."""
_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_OFFSET_ACTIONS = frozenset(one.value for one in (Action.ALTER, Action.RESET, Action.RECORD))
_ALERTS = ("bug", "notification_failed")
"""Log events for which deploy/prometheus-alerts.yaml has an alert."""


class Metrics:
    """All metrics of one daemon."""

    def __init__(self, state: DaemonState, most_connectors: int) -> None:
        self.registry = CollectorRegistry()
        self._most = most_connectors
        self._counted: dict[str, set[str]] = {}
        self._reconciliations = self._counter("reconcile", "Reconciliations by result.", "cluster", "result")
        self._durations = Histogram(
            f"{PREFIX}reconcile_duration_seconds",
            "Seconds that a reconciliation took.",
            ("cluster",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._steps = self._counter("steps", "Steps by action and result.", "cluster", "action", "result")
        self._offset_changes = self._counter("offset_changes", "Offset changes by result.", "cluster", "result")
        self._restarts = self._counter(
            "connector_restarts", "Restarts of connectors and tasks.", "cluster", "connector", "kind", "result"
        )
        self._events = self._counter("log_events", "Log events of the daemon.", "event", "level")
        self.webhooks = self._counter("webhooks", "Webhooks by result.", "provider", "result")
        self.registry.register(SnapshotCollector(state, most_connectors))
        ProcessCollector(registry=self.registry)
        self._start_at_zero(state.snapshot.clusters)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}{name}", documentation, labels, registry=self.registry)

    def _start_at_zero(self, clusters: Iterable[ClusterName]) -> None:
        """Create the counters of alerts: `increase` of Prometheus ignores the first value of a new counter."""
        for cluster in clusters:
            for word in WORDS:
                self._reconciliations.labels(cluster, word)
            for result in StepResult:
                self._offset_changes.labels(cluster, result.value)
                for action in Action:
                    self._steps.labels(cluster, action.value, result.value)
        for event in _ALERTS:
            self._events.labels(event, "error")

    @contextmanager
    def counting(self, reconciliations: Reconciliations) -> Iterator[None]:
        """Count the log events and the reconciliations of this daemon until the block ends."""
        handler, log = _EventHandler(self), logging.getLogger("gitops_connect")
        log.addHandler(handler)
        reconciliations.listeners.append(self.reconciled)
        try:
            yield
        finally:
            reconciliations.listeners.remove(self.reconciled)
            log.removeHandler(handler)

    def reconciled(self, cluster: ClusterName, result: Result, seconds: float) -> None:
        """Count the end of a reconciliation."""
        self._reconciliations.labels(cluster, outcome_word(result)).inc()
        self._durations.labels(cluster).observe(seconds)

    def event(self, name: str, level: str, fields: Mapping[str, Any]) -> None:
        """Count a log event."""
        self._events.labels(name, level).inc()
        event, _, result = name.partition("_")
        if event != "step":
            return
        cluster, action = str(fields.get("cluster")), str(fields.get("action"))
        self._steps.labels(cluster, action, result).inc()
        if fields.get("offset_change") and action in _OFFSET_ACTIONS:
            self._offset_changes.labels(cluster, result).inc()
        if action == Action.RESTART.value:
            connector = self._label(cluster, str(fields.get("connector")))
            self._restarts.labels(cluster, label(connector), fields.get("restart") or "automatic", result).inc()

    def _label(self, cluster: str, connector: str) -> str:
        """The connector's name, or `OTHERS` if the cluster already has enough connectors with metrics."""
        known = self._counted.setdefault(cluster, set())
        if connector not in known and len(known) >= self._most:
            return OTHERS
        known.add(connector)
        return connector


class _EventHandler(logging.Handler):
    """Passes each log event to the counters."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        """Count one event."""
        if isinstance(record.msg, str) and hasattr(record, "fields"):
            self._metrics.event(record.msg, record.levelname.lower(), record.fields)
