"""Metrics for Prometheus: counters of log events and of reconciliations, and gauges of the snapshot at each request.

docs/reference/metrics.md explains each; a test compares the page with the metrics. Labels have a bounded number of
values: names from outside become labels only for `[server] metrics_connectors` connectors of each cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gitops_connect import __version__
from gitops_connect.daemon.state import ClusterView, DaemonState, Reconciliations, Result, Snapshot
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import Result as StepResult
from gitops_connect.model.plans import Action, OffsetChangeStatus, Plan
from gitops_connect.model.status import ConditionStatus, ConditionType, Health, Sync
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report.offset_change_view import ChangeViews
from gitops_connect.report.printable import escaped, shortened
from gitops_connect.server.values import WORDS, outcome_word

PREFIX = "gitops_connect_"
Samples = Mapping[Any, float]
"""A number for each tuple of label values."""


class SnapshotCollector(Collector):
    """The gauges, from the snapshot at the time of the request."""

    def __init__(self, state: DaemonState, most_connectors: int) -> None:
        self._state = state
        self._most = most_connectors

    def collect(self) -> Iterator[Metric]:
        snapshot = self._state.snapshot
        yield _gauge("build_info", "The version of gitops-connect.", ("version",), {(__version__,): 1})
        yield _gauge("leader", "1 if this process makes the changes.", (), {(): snapshot.is_leader})
        yield _gauge("ledger_up", "1 if the ledger can be used.", (), {(): snapshot.has_ledger})
        yield from _of_repository(snapshot)
        yield from _of_clusters(snapshot)
        yield from self._of_connectors(snapshot)
        yield from _of_plans(snapshot)

    def _of_connectors(self, snapshot: Snapshot) -> Iterator[Metric]:
        views = snapshot.clusters.values()
        info = {
            (one.cluster, one.name, one.sync.value, one.health.value): 1
            for view in views
            for one in view.connectors[: self._most]
        }
        left_out = {(view.cluster,): max(0, len(view.connectors) - self._most) for view in views}
        labels = ("cluster", "connector", "sync_status", "health_status")
        yield _gauge("connector_info", "The state of a connector; always 1.", labels, info)
        yield _gauge("connectors_omitted", "Connectors without connector_info.", ("cluster",), left_out)
        yield from self._of_offsets(snapshot)
        yield from self._of_lags(snapshot)

    def _of_offsets(self, snapshot: Snapshot) -> Iterator[Metric]:
        """How the offsets move of each connector whose document limits how long they may be the same."""
        shown = ((view, one.name) for view in snapshot.clusters.values() for one in view.connectors[: self._most])
        found = {
            (view.cluster, name): view.plan.offset_progress[name]
            for view, name in shown
            if view.plan is not None and name in view.plan.offset_progress
        }
        moved = {key: one.moved.timestamp() for key, one in found.items()}
        slowest = {key: one.slowest.timestamp() for key, one in found.items() if one.slowest is not None}
        labels = ("cluster", "connector")
        yield _gauge("connector_offsets_moved_timestamp_seconds", "When the offsets last moved.", labels, moved)
        what = "When the partition moved that has not moved for the longest time."
        yield _gauge("connector_slowest_partition_moved_timestamp_seconds", what, labels, slowest)
        name, what = f"{PREFIX}connector_offsets_distance", "How far all offsets have moved forward."
        distance = CounterMetricFamily(name, what, labels=(*labels, "unit"))
        for key, one in found.items():
            if one.unit:
                distance.add_metric([label(value) for value in (*key, one.unit)], one.distance)
        yield distance

    def _of_lags(self, snapshot: Snapshot) -> Iterator[Metric]:
        """Three series at most for each connector, however many partitions it reads."""
        found = {
            (view.cluster, one.name): lag
            for view in snapshot.clusters.values()
            for one in view.connectors[: self._most]
            if (lag := view.lag(one.name)) is not None
        }
        labels = ("cluster", "connector")
        records = {key: lag.records for key, lag in found.items()}
        worst = {key: lag.worst_records for key, lag in found.items()}
        ages = {key: lag.age.total_seconds() for key, lag in found.items() if lag.age is not None}
        yield _gauge("connector_lag_records", "Records that the connector has not read yet.", labels, records)
        what = "The same of the partition with the most of them."
        yield _gauge("connector_lag_worst_partition_records", what, labels, worst)
        yield _gauge("connector_lag_seconds", "How long the first of these records waits.", labels, ages)


def _of_repository(snapshot: Snapshot) -> Iterator[Metric]:
    view = snapshot.repository
    problems = {*view.diagnostics, *(one for each in snapshot.clusters.values() for one in each.diagnostics)}
    counts = {(severity.value,): sum(one.severity is severity for one in problems) for severity in Severity}
    is_up = view.polled is not None and not view.error
    yield _gauge("repository_up", "1 if the last poll of the repository succeeded.", (), {(): is_up})
    polled = {(): view.polled.timestamp()} if view.polled else {}
    yield _gauge("repository_last_poll_timestamp_seconds", "When the last poll ended.", (), polled)
    yield _gauge("documents", "Documents in the repository.", (), {(): view.documents})
    yield _gauge("diagnostics", "Problems of the documents.", ("severity",), counts)


def _of_clusters(snapshot: Snapshot) -> Iterator[Metric]:
    views = list(snapshot.clusters.values())
    stamps = {(view.cluster,): view.observed.timestamp() for view in views if view.observed}
    read = [view for view in views if view.observed is not None]
    conditions = {(view.cluster, kind.value): _is_true(view, kind) for view in views for kind in _CLUSTER_CONDITIONS}
    yield _gauge("last_success_timestamp_seconds", "When the cluster was last read.", ("cluster",), stamps)
    yield _each("cluster_up", "1 unless the last reconciliation failed as a whole.", read, lambda view: not view.error)
    yield _gauge("cluster_condition", "1 if the condition is True.", ("cluster", "type"), conditions)


_CLUSTER_CONDITIONS = (ConditionType.READY, ConditionType.STALLED)


def _is_true(view: ClusterView, kind: ConditionType) -> bool:
    condition = view.conditions.get((ConnectorName(""), kind, ""))
    return condition is not None and condition.status is ConditionStatus.TRUE


_PENDING = (
    OffsetChangeStatus.PLANNED,
    OffsetChangeStatus.WAITING,
    OffsetChangeStatus.FAILED,
    OffsetChangeStatus.UNFINISHED,
    OffsetChangeStatus.UNKNOWN,
)


def _of_states(views: Sequence[ClusterView]) -> Iterator[Metric]:
    counts = {(view.cluster, sync.value, health.value): 0 for view in views for sync in Sync for health in Health}
    verdicts = {(view.cluster, kind.value): 0 for view in views for kind in VerdictKind}
    holds = {(view.cluster, hold.value): 0 for view in views for hold in HoldKind}
    for view in views:
        for one in view.connectors:
            counts[view.cluster, one.sync.value, one.health.value] += 1
            verdicts[view.cluster, one.verdict.kind.value] += 1
            for strongest in one.holds[:1]:
                holds[view.cluster, strongest.kind.value] += 1
    yield _gauge("connectors", "Connectors by state.", ("cluster", "sync_status", "health_status"), counts)
    yield _gauge("connector_verdicts", "Connectors by verdict.", ("cluster", "verdict"), verdicts)
    yield _gauge("connectors_blocked", "Connectors that a hold blocks.", ("cluster", "blocked_by"), holds)


def _of_plans(snapshot: Snapshot) -> Iterator[Metric]:
    views = list(snapshot.clusters.values())
    plans = [view.plan for view in views if view.plan is not None]
    yield from _of_states(views)
    yield _each(
        "connectors_given_up",
        "Connectors that are no longer restarted.",
        views,
        lambda view: sum(kind is ConditionType.RESTARTS_GIVEN_UP for _, kind, _ in view.conditions),
    )
    yield _each(
        "connectors_with_unexpected_topics",
        "Connectors with active topics that spec.topics does not allow.",
        plans,
        lambda plan: len(plan.unexpected_topics),
    )
    yield _each(
        "active_topics", "Active topics of the connectors that were read.", plans, lambda plan: plan.active_topics
    )
    rolled_back = "Connectors whose config was rolled back."
    yield _each("connectors_rolled_back", rolled_back, plans, lambda plan: len(plan.rolled_back))
    yield _each(
        "connectors_suspended",
        "Connectors that are only observed.",
        views,
        lambda view: sum(one.suspension is not None for one in view.connectors),
    )
    yield _each("drift", "Connectors that were changed on the cluster.", plans, lambda plan: len(plan.drifted))
    yield _each("planned_steps", "Steps of the last plan.", plans, lambda plan: len(plan.steps))
    pending = dict[tuple[str, str], int]()
    for plan in plans:
        states = [one.state for one in ChangeViews.of(plan.cluster, plan).planned.values()]
        for state in _PENDING:
            pending[plan.cluster, state.value] = states.count(state)
    of_plan = "Offset changes of the last plan that are not applied."
    yield _gauge("offset_changes_pending", of_plan, ("cluster", "status"), pending)


Part = TypeVar("Part", ClusterView, Plan)


def _each(name: str, documentation: str, parts: Iterable[Part], number: Callable[[Part], float]) -> GaugeMetricFamily:
    return _gauge(name, documentation, ("cluster",), {(one.cluster,): number(one) for one in parts})


def _gauge(name: str, documentation: str, labels: tuple[str, ...], samples: Samples) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}{name}", documentation, labels=labels)
    for values, number in samples.items():
        family.add_metric([label(value) for value in values], float(number))
    return family


def label(text: str) -> str:
    """The text as the value of a label: printable, and not very long."""
    return shortened(escaped(text))


OTHERS = "(others)"
"""The label of all connectors above the limit. No connector has this name: Connect's plugins accept no parentheses."""
_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_OFFSET_ACTIONS = frozenset(one.value for one in (Action.ALTER, Action.RESET, Action.RECORD))
_ALERTS = ("bug", "notification_failed")
"""Log events for which deploy/prometheus-alerts.yaml has an alert."""


class Metrics:
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
        self._reconciliations.labels(cluster, outcome_word(result)).inc()
        self._durations.labels(cluster).observe(seconds)

    def event(self, name: str, level: str, fields: Mapping[str, Any]) -> None:
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
    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, str) and hasattr(record, "fields"):
            self._metrics.event(record.msg, record.levelname.lower(), record.fields)
