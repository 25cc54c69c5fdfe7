"""The values that the pages show, from the snapshot and the ledger. The templates have only loops and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.differences import Difference, Move
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.operations import OperationRecord, OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import OperationStatus, PlannedOperation
from gitops_connect.model.pull_requests import CommitState
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType, ConnectorStatus, Health, Sync
from gitops_connect.report import offset_lines
from gitops_connect.server.queries import ConnectorFilter

MOST_MOVES = 500
"""Partitions of an offset change on its page. The API returns more."""
_MOST_CHANGES = 8
"""Offset changes in the narrow column of the first page."""

State = Sync | Health | Result | OperationState | OperationStatus | ConditionStatus | Severity | CommitState


@dataclass(frozen=True, slots=True)
class Look:
    """A state as people read it, with the class of its colour and its icon."""

    text: str
    style: str
    sign: str


_LOOKS: dict[State, tuple[str, str]] = {
    Sync.SYNCED: ("good", "ok"),
    Sync.OUT_OF_SYNC: ("warning", "sync"),
    Sync.UNKNOWN: ("warning", "what"),
    Sync.UNMANAGED: ("soft", "none"),
    Health.HEALTHY: ("good", "ok"),
    Health.PROGRESSING: ("note", "wait"),
    Health.DEGRADED: ("error", "bad"),
    Health.SUSPENDED: ("soft", "pause"),
    Health.MISSING: ("warning", "none"),
    Health.UNKNOWN: ("warning", "what"),
    Result.APPLIED: ("good", "ok"),
    Result.FAILED: ("error", "bad"),
    Result.SKIPPED: ("warning", "pause"),
    OperationState.INTENDED: ("note", "wait"),
    OperationState.OPEN: ("note", "wait"),
    OperationState.SETTLED: ("good", "ok"),
    OperationState.FAILED: ("error", "bad"),
    OperationState.UNKNOWN: ("warning", "what"),
    OperationState.RELEASED: ("soft", "none"),
    OperationStatus.PLANNED: ("note", "wait"),
    OperationStatus.UNFINISHED: ("note", "wait"),
    OperationStatus.WAITING: ("warning", "warn"),
    OperationStatus.UNKNOWN: ("warning", "what"),
    OperationStatus.APPLIED: ("good", "ok"),
    OperationStatus.IDLE: ("soft", "none"),
    ConditionStatus.TRUE: ("good", "ok"),
    ConditionStatus.FALSE: ("error", "bad"),
    ConditionStatus.UNKNOWN: ("warning", "what"),
    Severity.ERROR: ("error", "bad"),
    Severity.WARNING: ("warning", "warn"),
    Severity.NOTE: ("note", "what"),
    CommitState.SUCCESS: ("good", "ok"),
    CommitState.PENDING: ("note", "wait"),
    CommitState.FAILURE: ("error", "bad"),
}
"""The class and the icon of each state."""
_READY = {
    ConditionStatus.TRUE: Look("Ready", "good", "ok"),
    ConditionStatus.FALSE: Look("Not ready", "error", "bad"),
    ConditionStatus.UNKNOWN: Look("Ready: unknown", "warning", "what"),
}
_GOOD_IF_TRUE = (ConditionType.READY, ConditionType.SYNCED, ConditionType.HEALTHY)


def look_of(state: State | Condition | Look) -> Look:
    """How a state or a condition is shown."""
    if isinstance(state, Look):
        return state
    if isinstance(state, Condition):
        if state.type not in _GOOD_IF_TRUE and state.status is ConditionStatus.TRUE:
            return Look("True", "warning" if state.type is ConditionType.WARNING else "error", "warn")
        state = state.status
    text = "Out of sync" if state is Sync.OUT_OF_SYNC else str(state.value).replace("_", " ")
    return Look(text, *_LOOKS[state])


# Connectors


@dataclass(frozen=True, slots=True)
class ConnectorList:
    """Connectors with their filter. On the page of one cluster, `clusters` is empty. `total` is without the filter."""

    chosen: ConnectorFilter
    path: str
    clusters: Sequence[str]
    rows: Sequence[ConnectorStatus]
    total: int
    with_cluster: bool

    @property
    def is_empty(self) -> bool:
        """Whether the filter restricts nothing."""
        return self.chosen.is_empty or (not self.clusters and replace(self.chosen, cluster="").is_empty)


def all_connectors(snapshot: Snapshot, chosen: ConnectorFilter) -> ConnectorList:
    """The list of the first page."""
    total = sum(len(view.connectors) for view in snapshot.clusters.values())
    several = len(snapshot.clusters) > 1
    return ConnectorList(chosen, "/", list(snapshot.clusters), _selected(snapshot, chosen), total, several)


def connectors_of(snapshot: Snapshot, view: ClusterView, chosen: ConnectorFilter, path: str) -> ConnectorList:
    """The list of the page of a cluster."""
    selected = _selected(snapshot, replace(chosen, cluster=view.cluster))
    return ConnectorList(chosen, path, (), selected, len(view.connectors), with_cluster=False)


def _selected(snapshot: Snapshot, chosen: ConnectorFilter) -> list[ConnectorStatus]:
    """Those that need attention come first."""
    return sorted(
        chosen.select(snapshot),
        key=lambda one: (one.is_fine, one.health is not Health.DEGRADED, one.cluster, one.name),
    )


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of connectors, with a link to their list. The colour is for numbers above 0."""

    name: str
    count: int
    url: str
    style: str


def tiles(snapshot: Snapshot) -> list[Tile]:
    """The numbers of connectors by their state."""
    statuses = [one for view in snapshot.clusters.values() for one in view.connectors]
    url = ConnectorFilter().query
    return [
        Tile("Connectors", len(statuses), "/", ""),
        Tile("Need attention", sum(not one.is_fine for one in statuses), f"/{url(attention='1')}", "error"),
        *(
            Tile(name, sum(one.sync is sync for one in statuses), f"/{url(sync=sync.value)}", style)
            for sync, name, style in ((Sync.SYNCED, "Synced", "good"), (Sync.OUT_OF_SYNC, "Out of sync", "warning"))
        ),
        *(
            Tile(health.value, sum(one.health is health for one in statuses), f"/{url(health=health.value)}", style)
            for health, style in ((Health.HEALTHY, "good"), (Health.DEGRADED, "error"), (Health.SUSPENDED, ""))
        ),
    ]


_HEALTH_STYLES = (
    (Health.HEALTHY, "good"),
    (Health.PROGRESSING, "note"),
    (Health.SUSPENDED, "soft"),
    (Health.UNKNOWN, "warning"),
    (Health.MISSING, "warning"),
    (Health.DEGRADED, "error"),
)


@dataclass(frozen=True, slots=True)
class HealthShare:
    """One part of the bar of health. The place and the width are numbers of SVG."""

    style: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class HealthBar:
    """The share of each health, with the counts as text."""

    label: str
    width: str
    shares: Sequence[HealthShare]


def health_bar(statuses: Iterable[ConnectorStatus]) -> HealthBar:
    """The bar of these connectors."""
    found = list(statuses)
    counts = [(health, style, sum(one.health is health for one in found)) for health, style in _HEALTH_STYLES]
    present = [one for one in counts if one[2]]
    label = ", ".join(f"{count:,} {health.value}" for health, _, count in present) or "no connectors"
    at, shares = 0.0, []
    for _, style, count in present:
        width = max(100 * count / len(found), 1)
        shares.append(HealthShare(style, f"{at:.2f}", f"{width:.2f}"))
        at += width
    return HealthBar(label, f"{max(at, 100):.2f}", shares)


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """A cluster on the first page. `state` and `reason` are of its condition Ready; the reason is None if it is True.

    `attention` is the number of connectors that need it, and `query` selects them.
    """

    view: ClusterView
    state: Look | None
    reason: str | None
    bar: HealthBar
    attention: int
    query: str
    plan: str


def cluster_card(view: ClusterView) -> ClusterCard:
    """The card of the cluster."""
    ready = view.conditions.get((ConnectorName(""), ConditionType.READY))
    return ClusterCard(
        view,
        _READY[ready.status] if ready else None,
        ready.message if ready and ready.status is not ConditionStatus.TRUE else None,
        health_bar(view.connectors),
        sum(not one.is_fine for one in view.connectors),
        ConnectorFilter(cluster=view.cluster, attention=True).query(),
        _plan_words(view),
    )


def _plan_words(view: ClusterView) -> str:
    """How many steps the last plan has."""
    if view.plan is None:
        return "No plan yet"
    count = len(view.plan.steps)
    drifted = f", {len(view.plan.drifted):,} drifted" if view.plan.drifted else ""
    return f"Plan: {count:,} step{'' if count == 1 else 's'}{drifted}" if count else "Plan: no changes"


# Offset changes


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """An offset change: of a plan (`since` is None), or of the ledger."""

    cluster: ClusterName
    name: str
    connector: str
    kind: str
    state: OperationState | OperationStatus
    message: str
    since: datetime | None = None
    revision: Revision | None = None


def planned_line(cluster: ClusterName, one: PlannedOperation) -> ChangeLine:
    """The line of an offset change that was not applied yet."""
    return ChangeLine(cluster, one.name, one.connector, one.kind.value, one.status, one.message or one.reason)


def recorded_line(cluster: ClusterName, one: OperationRecord) -> ChangeLine:
    """The line of an offset change of the ledger."""
    message = "; ".join(part for part in (one.message, f"warning: {one.warning}" if one.warning else "") if part)
    kind = one.kind.value
    return ChangeLine(cluster, one.name, one.connector, kind, one.state, message, one.since, one.revision)


def change_lines(view: ClusterView, records: Iterable[OperationRecord]) -> list[ChangeLine]:
    """All offset changes of a cluster: first those that are not applied, then those of the ledger, the last first."""
    recorded = sorted(records, key=lambda one: one.since, reverse=True)
    known = {one.name for one in recorded}
    declared = view.plan.operations if view.plan else ()
    idle = (OperationStatus.IDLE, OperationStatus.APPLIED)
    fresh = {one.name: one for one in declared if one.name not in known and one.status not in idle}
    blocked = {one.name: one for one in declared if one.status is OperationStatus.WAITING}
    lines = [planned_line(view.cluster, one) for one in (*fresh.values(), *(blocked[n] for n in blocked if n in known))]
    return [*lines, *(recorded_line(view.cluster, one) for one in recorded if one.name not in blocked)]


def planned_change(view: ClusterView, name: str) -> PlannedOperation | None:
    """An offset change of the last plan."""
    declared = (*view.plan.operations, *view.plan.applied) if view.plan else ()
    return next((one for one in declared if one.name == name), None)


_NOT_DONE = (
    OperationState.OPEN,
    OperationState.FAILED,
    OperationState.UNKNOWN,
    OperationStatus.PLANNED,
    OperationStatus.UNFINISHED,
    OperationStatus.WAITING,
    OperationStatus.UNKNOWN,
)


def first_changes(lines: Sequence[ChangeLine]) -> tuple[list[ChangeLine], int]:
    """The offset changes of the first page, the pending ones first, and how many pending ones are left out."""
    pending = [one for one in lines if one.state in _NOT_DONE]
    done = [one for one in lines if one.state not in _NOT_DONE]
    return [*pending, *done][:_MOST_CHANGES], max(0, len(pending) - _MOST_CHANGES)


@dataclass(frozen=True, slots=True)
class ShownMoves:
    """The offsets before and after, and how many partitions are left out."""

    counts: str
    rows: Sequence[Move]
    more: int


def moves(difference: Difference | None) -> ShownMoves | None:
    """What an offset change has done or will do; None if the offsets are not known."""
    if difference is None:
        return None
    more = max(0, len(difference.moves) - MOST_MOVES)
    return ShownMoves(offset_lines.counts(difference), difference.moves[:MOST_MOVES], more)


# Conditions, restarts and rollbacks


def conditions_of(view: ClusterView, name: str = "") -> list[Condition]:
    """The conditions of a connector; without a name, those of the cluster."""
    found = [one for (of, _), one in view.conditions.items() if of == name]
    return sorted(found, key=lambda one: one.type.value)


@dataclass(frozen=True, slots=True)
class RestartLine:
    """The automatic restarts of a connector. If `next` is None, `why_not` may say why there is no other one."""

    cluster: ClusterName
    name: ConnectorName
    count: int
    last: datetime | None
    limit: int | None = None
    next: datetime | None = None
    why_not: str = ""
    gave_up: bool = False


def restarts_of(view: ClusterView, connector: ConnectorName | None = None) -> list[RestartLine]:
    """The connectors that were restarted automatically, or that will be: all of the cluster, or only one of them."""
    if view.plan is None:
        return []
    outlooks = {one.name: one.restarts for one in view.plan.unhealthy if one.restarts}
    names = sorted({*outlooks, *view.plan.restarts})
    return [
        _restart_line(view.cluster, name, outlooks.get(name), view.plan.restarts.get(name))
        for name in names
        if connector in (None, name)
    ]


def _restart_line(
    cluster: ClusterName, name: ConnectorName, outlook: RestartOutlook | None, record: RestartRecord | None
) -> RestartLine:
    last = record.last if record else None
    if outlook is None:
        return RestartLine(cluster, name, record.count if record else 0, last)
    count = record.count if record else outlook.count
    return RestartLine(
        cluster, name, count, last, outlook.limit, outlook.next, outlook.why_not, gave_up=outlook.gave_up
    )


def rollbacks_of(view: ClusterView, connector: ConnectorName | None = None) -> list[tuple[ConnectorName, RolledBack]]:
    """The configs that were rolled back: all of the cluster, or only that of one connector."""
    found = view.plan.rolled_back if view.plan else {}
    return [(name, one) for name, one in sorted(found.items()) if connector in (None, name)]
