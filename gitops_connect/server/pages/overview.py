"""The first page: the repository, the clusters, all connectors, and what has happened last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_connect.daemon.state import ClusterView, RepositoryView, Snapshot
from gitops_connect.model.conditions import ConditionStatus, ConditionType
from gitops_connect.model.journal import JournalEntry
from gitops_connect.model.operations import OperationState
from gitops_connect.model.plans import OperationStatus
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.report.page import shown
from gitops_connect.server.pages.connector_table import connector_table, count_words, filter_form
from gitops_connect.server.pages.lists import ChangeLine, step_list
from gitops_connect.server.pages.parts import (
    badge,
    banner,
    change_link,
    cluster_link,
    commit,
    connector_link,
    empty,
    href,
    mark,
    prose,
    section,
    time,
)
from gitops_connect.server.queries import ConnectorFilter

_BAR = (
    (Health.HEALTHY, "good"),
    (Health.PROGRESSING, "note"),
    (Health.SUSPENDED, "soft"),
    (Health.UNKNOWN, "warning"),
    (Health.MISSING, "warning"),
    (Health.DEGRADED, "error"),
)
_NOT_DONE = (
    OperationState.OPEN,
    OperationState.FAILED,
    OperationState.UNKNOWN,
    OperationStatus.PLANNED,
    OperationStatus.UNFINISHED,
    OperationStatus.WAITING,
    OperationStatus.UNKNOWN,
)
_MOST = 8
"""Offset changes in the narrow column."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page shows."""

    snapshot: Snapshot
    chosen: ConnectorFilter
    changes: Sequence[ChangeLine]
    steps: Sequence[JournalEntry]


def summary(snapshot: Snapshot) -> str:
    """The state of everything in one sentence."""
    statuses = [one for view in snapshot.clusters.values() for one in view.connectors]
    attention = sum(not one.is_fine for one in statuses)
    noun = "connector needs" if attention == 1 else "connectors need"
    return f"{attention:,} {noun} attention, of {len(statuses):,}"


def body(page: Overview) -> Iterator[str]:
    """The parts of the page."""
    snapshot, chosen = page.snapshot, page.chosen
    selected = list(chosen.select(snapshot))
    total = sum(len(view.connectors) for view in snapshot.clusters.values())
    yield '<h1 class="silent">Overview</h1>'
    yield f'<div id="notices" data-live>{"".join(notices(snapshot))}</div>'
    yield _repository(snapshot.repository)
    yield _tiles(snapshot)
    yield section(
        "clusters", "Clusters", "".join(["<div class='grid'>", *map(_cluster, snapshot.clusters.values()), "</div>"])
    )
    yield '<div class="columns"><div>'
    yield '<div class="head"><h2 id="connectors-title">Connectors</h2></div>'
    yield filter_form(chosen, list(snapshot.clusters))
    yield (
        '<section id="connectors" data-live data-rows aria-labelledby="connectors-title">'
        f'<p class="soft" id="shown">{count_words(len(selected), total)}</p>'
    )
    yield connector_table(selected, total, with_cluster=len(snapshot.clusters) > 1)
    yield "</section></div><div>"
    changes = _changes(page.changes, has_clusters=len(snapshot.clusters) > 1)
    yield section("changes", "Offset changes", changes, '<a href="/offset-changes">All</a>')
    yield section("steps", "Last steps", step_list(page.steps), '<a href="/journal">Journal</a>')
    yield "</div></div>"


def notices(snapshot: Snapshot) -> Iterator[str]:
    """What an administrator must know before everything else."""
    repository = snapshot.repository
    if repository.error:
        kept = f" The revision {commit(repository.revision)} remains in effect." if repository.revision else ""
        yield banner("error", "bad", f"<strong>The repository cannot be read.</strong> {prose(repository.error)}{kept}")
    elif repository.polled is None:
        yield banner("note", "wait", "The daemon reads the repository for the first time.")
    if not snapshot.is_leader:
        yield banner("note", "pause", "Another replica makes the changes. This one only shows them.")
    for view in snapshot.clusters.values():
        if view.plan is not None and view.plan.suspension is not None:
            words = f"<strong>{cluster_link(view.cluster)}</strong> is suspended {shown(view.plan.suspension.origin)}."
            yield banner("note", "pause", words)
        if view.error:
            yield banner("error", "bad", f"<strong>{cluster_link(view.cluster)}</strong>: {prose(view.error)}")


def _repository(view: RepositoryView) -> str:
    if view.revision is None:
        return '<p id="revision" data-live class="revision soft">No revision was read yet.</p>'
    counts = f"{view.documents:,} documents"
    problems = len(view.diagnostics.errors)
    if problems:
        noun = "error" if problems == 1 else "errors"
        counts += f', <a class="error" href="/problems">{problems:,} {noun}</a>'
    return (
        f'<p id="revision" data-live class="revision">{commit(view.revision)} <span>{shown(view.subject)}</span>'
        f' <span class="soft">{shown(view.author)}</span>'
        f' <span class="soft">{counts}, polled {time(view.polled)}</span></p>'
    )


def _tiles(snapshot: Snapshot) -> str:
    statuses = [one for view in snapshot.clusters.values() for one in view.connectors]
    everything = ConnectorFilter()
    tiles = [
        ("Connectors", len(statuses), "/", ""),
        ("Need attention", sum(not one.is_fine for one in statuses), f"/{everything.query(attention='1')}", "error"),
        *(
            (name, sum(one.sync is sync for one in statuses), f"/{everything.query(sync=sync.value)}", look)
            for sync, name, look in ((Sync.SYNCED, "Synced", "good"), (Sync.OUT_OF_SYNC, "Out of sync", "warning"))
        ),
        *(
            (
                health.value,
                sum(one.health is health for one in statuses),
                f"/{everything.query(health=health.value)}",
                look,
            )
            for health, look in ((Health.HEALTHY, "good"), (Health.DEGRADED, "error"), (Health.SUSPENDED, ""))
        ),
    ]
    items = "".join(
        f'<li><a href="{shown(url)}"{f" class={look}" if look and number else ""}><b>{number:,}</b> {name}</a></li>'
        for name, number, url, look in tiles
    )
    return f'<ul class="tiles" id="tiles" data-live aria-label="Connectors by state">{items}</ul>\n'


def _cluster(view: ClusterView) -> str:
    ready = next((one for (of, kind), one in view.conditions.items() if not of and kind is ConditionType.READY), None)
    state = badge_of(ready.status) if ready else (mark("failed", "error", "bad") if view.error else "")
    degraded = sum(not one.is_fine for one in view.connectors)
    attention = (
        f'<a href="/{shown(ConnectorFilter(cluster=view.cluster, attention=True).query())}" class="error">'
        f"{degraded:,} need{'s' if degraded == 1 else ''} attention</a>"
        if degraded
        else "all fine"
    )
    version = f" · Kafka Connect {shown(str(view.plan.connect_version))}" if view.plan else ""
    now = "reconciling now" if view.next is None and view.observed else f"reconciled {time(view.observed)}"
    applied = f"applied {commit(view.applied)} · " if view.applied else ""
    reason = f'<p class="soft">{prose(ready.message)}</p>' if ready and ready.status is not ConditionStatus.TRUE else ""
    return (
        f'<article class="card" id="cluster-{shown(view.cluster)}"><h3>{cluster_link(view.cluster)} {state}</h3>'
        f"{bar(view.connectors)}<p>{len(view.connectors):,} connectors, {attention}</p>{reason}"
        f'<p class="soft">{applied}{now}{version}</p>'
        f'<p><a href="{href("clusters", view.cluster)}#plan">{plan_words(view)}</a></p></article>'
    )


def badge_of(status: ConditionStatus) -> str:
    """The condition `Ready` in words."""
    known = {ConditionStatus.TRUE: ("Ready", "good", "ok"), ConditionStatus.FALSE: ("Not ready", "error", "bad")}
    return mark(*known.get(status, ("Ready: unknown", "warning", "what")))


def plan_words(view: ClusterView) -> str:
    """How many steps the last plan has."""
    if view.plan is None:
        return "No plan yet"
    count = len(view.plan.steps)
    drifted = f", {len(view.plan.drifted):,} drifted" if view.plan.drifted else ""
    return f"Plan: {count:,} step{'' if count == 1 else 's'}{drifted}" if count else "Plan: no changes"


def bar(statuses: Iterable[ConnectorStatus]) -> str:
    """The share of each health as a bar, with the counts as its text."""
    found = list(statuses)
    counts = [(health, look, sum(one.health is health for one in found)) for health, look in _BAR]
    present = [one for one in counts if one[2]]
    label = ", ".join(f"{count:,} {health.value}" for health, _, count in present) or "no connectors"
    total, at, parts = max(1, len(found)), 0.0, []
    for _, look, count in present:
        width = max(100 * count / total, 1)
        parts.append(f'<rect class="{look}" x="{at:.2f}" y="0" width="{width:.2f}" height="8"/>')
        at += width
    return (
        f'<svg class="bar" viewBox="0 0 {max(at, 100):.2f} 8" preserveAspectRatio="none" role="img"'
        f' aria-label="{label}"><title>{label}</title>{"".join(parts)}</svg>'
    )


def _changes(lines: Sequence[ChangeLine], *, has_clusters: bool) -> str:
    pending = [one for one in lines if one.state in _NOT_DONE]
    done = [one for one in lines if one.state not in _NOT_DONE]
    chosen = [*pending, *done][:_MOST]
    items = "".join(
        f"<li>{badge(one.state)} {change_link(one.cluster, one.name)} <span class='soft'>{shown(one.kind)} of</span>"
        f" {connector_link(one.cluster, one.connector)}"
        f'<div class="soft">{_where(one, has_clusters=has_clusters)}</div></li>'
        for one in chosen
    )
    more = f'<p class="soft">{len(pending) - _MOST:,} more are not applied.</p>' if len(pending) > _MOST else ""
    return f'<ol class="events">{items}</ol>{more}' if items else empty("There are no offset changes.")


def _where(one: ChangeLine, *, has_clusters: bool) -> str:
    parts = [shown(one.cluster) if has_clusters else "", time(one.since, ""), shown(one.message)]
    return " · ".join(part for part in parts if part)
