"""The values that the pages show, from the snapshot and the ledger. The templates have only loops and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import OffsetChangeStatus, PlannedOffsetChange
from gitops_connect.model.pull_requests import CommitState
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType, ConnectorStatus, Health, Sync
from gitops_connect.report.words import plural
from gitops_connect.server.served import ConnectorFilter

MOST_CHANGES = 8
"""Offset changes in the narrow column of the first page."""

State = Sync | Health | Result | OffsetChangeState | OffsetChangeStatus | ConditionStatus | Severity | CommitState
Look = tuple[str, str, str]
"""A state as people read it, with the class of its colour and its icon."""
Values = dict[str, object]
"""What a template knows by a name."""

_STATES: dict[tuple[str, str], tuple[State, ...]] = {
    ("good", "ok"): (
        Sync.SYNCED,
        Health.HEALTHY,
        Result.APPLIED,
        OffsetChangeState.SETTLED,
        OffsetChangeStatus.APPLIED,
        ConditionStatus.TRUE,
        CommitState.SUCCESS,
    ),
    ("warning", "sync"): (Sync.OUT_OF_SYNC,),
    ("warning", "what"): (
        Sync.UNKNOWN,
        Health.UNKNOWN,
        Result.UNCONFIRMED,
        OffsetChangeState.UNKNOWN,
        OffsetChangeStatus.UNKNOWN,
        ConditionStatus.UNKNOWN,
    ),
    ("warning", "none"): (Health.MISSING,),
    ("warning", "pause"): (Result.SKIPPED,),
    ("warning", "warn"): (OffsetChangeStatus.WAITING, Severity.WARNING),
    ("soft", "none"): (Sync.UNMANAGED, OffsetChangeState.RELEASED, OffsetChangeStatus.IDLE),
    ("soft", "pause"): (Health.SUSPENDED,),
    ("note", "wait"): (
        Health.PROGRESSING,
        OffsetChangeState.INTENDED,
        OffsetChangeState.OPEN,
        OffsetChangeStatus.PLANNED,
        OffsetChangeStatus.UNFINISHED,
        CommitState.PENDING,
    ),
    ("note", "what"): (Severity.NOTE,),
    ("error", "bad"): (
        Health.DEGRADED,
        Result.FAILED,
        OffsetChangeState.FAILED,
        ConditionStatus.FALSE,
        Severity.ERROR,
        CommitState.FAILURE,
    ),
}
_LOOKS = {state: look for look, states in _STATES.items() for state in states}
"""The class and the icon of each state."""
_READY = {ConditionStatus.TRUE: "Ready", ConditionStatus.FALSE: "Not ready", ConditionStatus.UNKNOWN: "Ready: unknown"}
_GOOD_IF_TRUE = (ConditionType.READY, ConditionType.SYNCED, ConditionType.HEALTHY)


def look_of(state: State | Condition | Look) -> Look:
    """How a state or a condition is shown."""
    if isinstance(state, tuple):
        return state
    if isinstance(state, Condition):
        if state.type not in _GOOD_IF_TRUE and state.status is ConditionStatus.TRUE:
            return "True", "warning" if state.type is ConditionType.WARNING else "error", "warn"
        state = state.status
    text = "Out of sync" if state is Sync.OUT_OF_SYNC else str(state.value).replace("_", " ")
    return text, *_LOOKS[state]


# Connectors


def connector_list(snapshot: Snapshot, chosen: ConnectorFilter, path: str, view: ClusterView | None = None) -> Values:
    """Connectors of one cluster, or of all, with their filter. Those that need attention come first."""
    views = list(snapshot.clusters.values()) if view is None else [view]
    selected = (chosen if view is None else replace(chosen, cluster=view.cluster)).select(snapshot)
    return {
        "chosen": chosen,
        "path": path,
        "clusters": list(snapshot.clusters) if view is None else [],
        "rows": sorted(
            selected, key=lambda one: (one.is_fine, one.health is not Health.DEGRADED, one.cluster, one.name)
        ),
        "total": sum(len(one.connectors) for one in views),
        "with_cluster": len(views) > 1,
        "is_empty": (chosen if view is None else replace(chosen, cluster="")).is_empty,
    }


_TILES = (
    ("Connectors", "", ConnectorFilter()),
    ("Need attention", "error", ConnectorFilter(attention=True)),
    ("Synced", "good", ConnectorFilter(sync=Sync.SYNCED.value)),
    ("Out of sync", "warning", ConnectorFilter(sync=Sync.OUT_OF_SYNC.value)),
    ("Healthy", "good", ConnectorFilter(health=Health.HEALTHY.value)),
    ("Degraded", "error", ConnectorFilter(health=Health.DEGRADED.value)),
    ("Suspended", "", ConnectorFilter(health=Health.SUSPENDED.value)),
)


def tiles(snapshot: Snapshot) -> list[tuple[str, str, int, str]]:
    """The numbers of connectors by their state, each with the class of its colour, and the URL of its list."""
    return [
        (name, style, sum(1 for _ in chosen.select(snapshot)), f"/{chosen.query()}") for name, style, chosen in _TILES
    ]


_HEALTH_ORDER = (Health.HEALTHY, Health.PROGRESSING, Health.SUSPENDED, Health.UNKNOWN, Health.MISSING, Health.DEGRADED)


def health_bar(statuses: Sequence[ConnectorStatus]) -> Values:
    """The share of each health, with the counts as text. Each share has a class, and a place and a width of SVG."""
    counts = [(health, sum(one.health is health for one in statuses)) for health in _HEALTH_ORDER]
    present = [one for one in counts if one[1]]
    label = ", ".join(f"{count:,} {health.value}" for health, count in present) or "no connectors"
    at, shares = 0.0, []
    for health, count in present:
        width = max(100 * count / len(statuses), 1)
        shares.append((_LOOKS[health][0], f"{at:.2f}", f"{width:.2f}"))
        at += width
    return {"label": label, "width": f"{max(at, 100):.2f}", "shares": shares}


def cluster_card(view: ClusterView) -> Values:
    """A cluster on the first page. `attention` is the number of connectors that need it, and `query` selects them."""
    ready = view.conditions.get((ConnectorName(""), ConditionType.READY, ""))
    return {
        "view": view,
        "state": (_READY[ready.status], *_LOOKS[ready.status]) if ready else None,
        "reason": ready.message if ready and ready.status is not ConditionStatus.TRUE else None,
        "bar": health_bar(view.connectors),
        "attention": sum(not one.is_fine for one in view.connectors),
        "query": ConnectorFilter(cluster=view.cluster, attention=True).query(),
        "plan": _plan_words(view),
    }


def _plan_words(view: ClusterView) -> str:
    if view.plan is None:
        return "No plan yet"
    if not view.plan.steps:
        return "Plan: no changes"
    drifted = f", {len(view.plan.drifted):,} drifted" if view.plan.drifted else ""
    return f"Plan: {plural(len(view.plan.steps), 'step')}{drifted}"


# Offset changes


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """An offset change: of a plan (`since` is None), or of the ledger."""

    cluster: ClusterName
    name: str
    connector: str
    kind: str
    state: OffsetChangeState | OffsetChangeStatus
    message: str
    since: datetime | None = None
    revision: Revision | None = None


def planned_line(cluster: ClusterName, one: PlannedOffsetChange) -> ChangeLine:
    """The line of an offset change that was not applied yet."""
    return ChangeLine(cluster, one.name, one.connector, one.kind.value, one.status, one.message or one.reason)


def recorded_line(cluster: ClusterName, one: OffsetChangeRecord) -> ChangeLine:
    """The line of an offset change of the ledger."""
    message = "; ".join(part for part in (one.message, f"warning: {one.warning}" if one.warning else "") if part)
    return ChangeLine(cluster, one.name, one.connector, one.kind.value, one.state, message, one.since, one.revision)


def change_lines(view: ClusterView, records: Iterable[OffsetChangeRecord]) -> list[ChangeLine]:
    """All offset changes of a cluster: first those that are not applied, then those of the ledger, the last first."""
    recorded = sorted(records, key=lambda one: one.since, reverse=True)
    known = {one.name for one in recorded}
    declared = view.plan.offset_changes if view.plan else ()
    idle = (OffsetChangeStatus.IDLE, OffsetChangeStatus.APPLIED)
    fresh = {one.name: one for one in declared if one.name not in known and one.status not in idle}
    blocked = {one.name: one for one in declared if one.status is OffsetChangeStatus.WAITING}
    lines = [planned_line(view.cluster, one) for one in (*fresh.values(), *(blocked[n] for n in blocked if n in known))]
    return [*lines, *(recorded_line(view.cluster, one) for one in recorded if one.name not in blocked)]


def planned_change(view: ClusterView, name: str) -> PlannedOffsetChange | None:
    """An offset change of the last plan."""
    declared = (*view.plan.offset_changes, *view.plan.applied) if view.plan else ()
    return next((one for one in declared if one.name == name), None)


_DONE = (
    OffsetChangeState.INTENDED,
    OffsetChangeState.SETTLED,
    OffsetChangeState.RELEASED,
    OffsetChangeStatus.APPLIED,
    OffsetChangeStatus.IDLE,
)
PENDING = tuple(state for state in OffsetChangeState if state not in _DONE)
"""The states in the ledger of offset changes that are not applied."""


def first_changes(lines: Sequence[ChangeLine]) -> tuple[list[ChangeLine], int]:
    """The offset changes of the first page, the pending ones first, and how many pending ones are left out."""
    ordered = sorted(lines, key=lambda one: one.state in _DONE)
    pending = sum(one.state not in _DONE for one in lines)
    return ordered[:MOST_CHANGES], max(0, pending - MOST_CHANGES)


# Conditions, restarts and rollbacks


def conditions_of(view: ClusterView, name: str = "") -> list[Condition]:
    """The conditions of a connector; without a name, those of the cluster."""
    found = [one for (of, _, _), one in view.conditions.items() if of == name]
    return sorted(found, key=lambda one: (one.type.value, one.reason, one.message))


RestartLine = tuple[ConnectorName, RestartRecord | None, RestartOutlook | None]
"""A connector with its automatic restarts, and what is to come. One of the two is not None."""


def restarts_of(view: ClusterView, connector: ConnectorName | None = None) -> list[RestartLine]:
    """The connectors that were restarted automatically, or that will be: all of the cluster, or only one of them."""
    if view.plan is None:
        return []
    outlooks = {one.name: one.restarts for one in view.plan.unhealthy if one.restarts}
    names = sorted({*outlooks, *view.plan.restarts})
    return [(name, view.plan.restarts.get(name), outlooks.get(name)) for name in names if connector in (None, name)]


def rollbacks_of(view: ClusterView, connector: ConnectorName | None = None) -> list[tuple[ConnectorName, RolledBack]]:
    """The configs that were rolled back: all of the cluster, or only that of one connector."""
    found = view.plan.rolled_back if view.plan else {}
    return [(name, one) for name, one in sorted(found.items()) if connector in (None, name)]
