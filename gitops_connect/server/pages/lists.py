"""Lists of several pages: conditions, steps, offset changes, restarts and problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_connect.daemon.state import ClusterView
from gitops_connect.model.conditions import Condition, ConditionKey, ConditionStatus, ConditionType
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.journal import JournalEntry
from gitops_connect.model.names import ClusterName, Revision
from gitops_connect.model.operations import OperationRecord
from gitops_connect.model.plans import OperationStatus, PlannedOperation
from gitops_connect.report.page import code, shown
from gitops_connect.server.pages.parts import (
    NONE,
    State,
    badge,
    change_link,
    cluster_link,
    commit,
    connector_link,
    empty,
    mark,
    prose,
    table,
    time,
)

_SEVERITIES = {Severity.ERROR: ("error", "bad"), Severity.WARNING: ("warning", "warn"), Severity.NOTE: ("note", "what")}
_GOOD_IF_TRUE = (ConditionType.READY, ConditionType.SYNCED, ConditionType.HEALTHY)


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """An offset change: of a plan (`since` is None), or of the ledger."""

    cluster: ClusterName
    name: str
    connector: str
    kind: str
    state: State
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


def change_table(lines: Sequence[ChangeLine]) -> str:
    """Offset changes."""
    rows = [
        (
            change_link(one.cluster, one.name),
            connector_link(one.cluster, one.connector),
            cluster_link(one.cluster),
            shown(one.kind),
            badge(one.state),
            time(one.since),
            commit(one.revision),
            prose(one.message),
        )
        for one in lines
    ]
    headers = ("Offset change", "Connector", "Cluster", "Operation", "Status", "Since", "Commit", "Message")
    return table("Offset changes", headers, rows) if rows else empty("There are no offset changes.")


def condition_table(conditions: Sequence[tuple[ConditionKey, Condition]]) -> str:
    """Conditions of one connector or cluster."""
    rows = [
        (
            shown(kind.value),
            _condition_badge(one),
            shown(one.reason),
            prose(one.message),
            time(one.since),
            commit(one.revision),
        )
        for (_, kind), one in sorted(conditions, key=lambda each: each[0][1].value)
    ]
    headers = ("Condition", "Status", "Reason", "Message", "Since", "Commit")
    return table("Conditions", headers, rows) if rows else empty("No condition was recorded yet.")


def _condition_badge(one: Condition) -> str:
    if one.type not in _GOOD_IF_TRUE and one.status is ConditionStatus.TRUE:
        return mark("True", "warning" if one.type is ConditionType.WARNING else "error", "warn")
    return badge(one.status)


def step_table(entries: Sequence[JournalEntry], *, with_connector: bool = True) -> str:
    """Steps of the journal."""
    rows = []
    for one in entries:
        change = f" {change_link(one.cluster, one.operation)}" if one.operation else ""
        where = (connector_link(one.cluster, one.connector), cluster_link(one.cluster)) if with_connector else ()
        rows.append(
            (
                time(one.at),
                *where,
                f"{shown(one.action.value)}{change}",
                badge(one.result),
                f"{commit(one.revision)} {shown(one.author)}",
                "<br>".join(part for part in (prose(one.reason), prose(one.message)) if part),
            )
        )
    places = ("Connector", "Cluster") if with_connector else ()
    headers = ("Time", *places, "Step", "Result", "Commit and author", "Reason")
    return table("Steps", headers, rows) if rows else empty("No step was carried out yet.")


def step_list(entries: Sequence[JournalEntry]) -> str:
    """Steps in a narrow column."""
    items = "".join(
        f"<li>{badge(one.result)} <strong>{shown(one.action.value)}</strong>"
        f" {connector_link(one.cluster, one.connector)}"
        f'<div class="soft">{time(one.at)} · {commit(one.revision)} {shown(one.author)}</div></li>'
        for one in entries
    )
    return f'<ol class="events">{items}</ol>' if items else empty("No step was carried out yet.")


def restart_table(view: ClusterView) -> str:
    """The connectors that were restarted automatically, or that will be."""
    plan = view.plan
    outlooks = {one.name: one.restarts for one in plan.unhealthy if one.restarts} if plan else {}
    names = sorted({*outlooks, *(plan.restarts if plan else ())})
    rows = []
    for name in names:
        outlook, record = outlooks.get(name), plan.restarts.get(name) if plan else None
        count = record.count if record else outlook.count if outlook else 0
        limit = f" of {outlook.limit}" if outlook else ""
        following = (
            time(outlook.next) if outlook and outlook.next else shown(outlook.why_not if outlook else "") or NONE
        )
        gave_up = mark("given up", "error", "bad") if outlook and outlook.gave_up else ""
        last = record.last if record else None
        rows.append((connector_link(view.cluster, name), f"{count}{limit} {gave_up}", time(last), following))
    headers = ("Connector", "Automatic restarts", "Last", "Next")
    return table("Restarts", headers, rows) if rows else empty("No connector is being restarted.")


def rollback_table(view: ClusterView) -> str:
    """The connectors whose declared config is not in effect, because they did not work with it."""
    found = view.plan.rolled_back if view.plan else {}
    rows = [
        (
            connector_link(view.cluster, name),
            commit(one.revision),
            time(one.at),
            ", ".join(code(key) for key in one.keys),
            prose(one.reason),
        )
        for name, one in sorted(found.items())
    ]
    headers = ("Connector", "Commit that failed", "Rolled back", "Config keys", "Reason")
    return table("Rollbacks", headers, rows) if rows else empty("No config was rolled back.")


def problem_table(problems: Sequence[tuple[ClusterName | None, Diagnostic]]) -> str:
    """Problems of the documents, with their places."""
    rows = []
    for cluster, one in problems:
        hint = f'<div class="soft">{prose(one.hint)}</div>' if one.hint else ""
        connector = shown(one.connector) if one.connector else NONE
        if one.connector and cluster:
            connector = connector_link(cluster, one.connector)
        rows.append(
            (
                code(str(one.location)),
                mark(one.severity.value, *_SEVERITIES[one.severity]),
                f"<div>{prose(one.summary)}{hint}</div>",
                code(one.rule),
                connector,
                cluster_link(cluster) if cluster else "all",
            )
        )
    headers = ("Place", "Severity", "Problem", "Rule", "Connector", "Cluster")
    return table("Problems", headers, rows) if rows else empty("The documents have no problems.")
