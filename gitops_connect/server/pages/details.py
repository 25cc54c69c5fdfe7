"""The pages of one cluster, one connector and one offset change, and the lists of steps, changes and problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.differences import Difference
from gitops_connect.model.journal import JournalEntry
from gitops_connect.model.names import ClusterName
from gitops_connect.model.operations import OperationRecord
from gitops_connect.model.plans import Change, PlannedOperation
from gitops_connect.model.status import ConnectorStatus
from gitops_connect.report import offset_lines
from gitops_connect.report.page import code, shown
from gitops_connect.report.words import values
from gitops_connect.server.pages import overview
from gitops_connect.server.pages.connector_table import connector_table, count_words, filter_form
from gitops_connect.server.pages.lists import (
    ChangeLine,
    change_table,
    condition_table,
    problem_table,
    restart_table,
    rollback_table,
    step_table,
)
from gitops_connect.server.pages.parts import (
    NONE,
    badge,
    cluster_link,
    commit,
    connector_link,
    empty,
    facts,
    href,
    mark,
    prose,
    section,
    table,
    time,
)
from gitops_connect.server.pages.plan_text import coloured
from gitops_connect.server.queries import ConnectorFilter

MOST_MOVES = 500
"""Partitions of an offset change on its page. The API returns more."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What the page of a cluster or a connector shows."""

    snapshot: Snapshot
    view: ClusterView
    changes: Sequence[ChangeLine]
    steps: Sequence[JournalEntry]
    problems: Sequence[tuple[ClusterName | None, Diagnostic]]


def cluster_body(page: Detail, chosen: ConnectorFilter) -> Iterator[str]:
    """The page of a cluster."""
    view = page.view
    yield f'<p class="crumbs"><a href="/">Overview</a> / Cluster</p><h1>{shown(view.cluster)}</h1>'
    yield f'<div id="notices" data-live>{"".join(overview.notices(page.snapshot))}</div>'
    yield f'<div id="facts" data-live>{overview.bar(view.connectors)}{_cluster_facts(view)}</div>'
    conditions = [(key, one) for key, one in view.conditions.items() if not key[0]]
    yield section("conditions", "Conditions", condition_table(conditions))
    yield section("plan", "Last plan", _plan(view), _plan_links(view))
    path = href("clusters", view.cluster)
    yield '<div class="head"><h2 id="connectors-title">Connectors</h2></div>'
    yield filter_form(chosen, (), path)
    chosen_ones = list(chosen.select(page.snapshot))
    yield '<section id="connectors" data-live data-rows aria-labelledby="connectors-title">'
    yield f'<p class="soft" id="shown">{count_words(len(chosen_ones), len(view.connectors))}</p>'
    yield connector_table(chosen_ones, len(view.connectors), with_cluster=False)
    yield "</section>"
    yield section("changes", "Offset changes", change_table(page.changes))
    yield section("restarts", "Restarts", restart_table(view))
    yield section("rollbacks", "Rollbacks", rollback_table(view))
    yield section("problems", "Problems of the documents", problem_table(page.problems))
    yield section("steps", "Last steps", step_table(page.steps), _journal_link(view.cluster, ""))


def _cluster_facts(view: ClusterView) -> str:
    return facts(
        [
            ("Applied", commit(view.applied)),
            ("Desired", commit(view.plan.revision) if view.plan else NONE),
            ("Last read", time(view.observed)),
            ("Next reconciliation", time(view.next, "in progress")),
            ("Kafka Connect", shown(str(view.plan.connect_version)) if view.plan else NONE),
            ("Drifted", f"{len(view.plan.drifted):,}" if view.plan else NONE),
        ]
    )


def _plan(view: ClusterView) -> str:
    return coloured(view.plan) if view.plan else empty("No plan was made yet.")


def _plan_links(view: ClusterView) -> str:
    path = href("clusters", view.cluster)
    return f'<a href="{path}/plan.txt">Text</a> <a href="/api/v1{path}/plan">JSON</a>' if view.plan else ""


def _journal_link(cluster: str, connector: str) -> str:
    query = urlencode({"cluster": cluster, **({"connector": connector} if connector else {})})
    return f'<a href="/journal?{shown(query)}">Journal</a>'


def connector_body(page: Detail, one: ConnectorStatus) -> Iterator[str]:
    """The page of a connector."""
    view = page.view
    crumbs = f'<a href="/">Overview</a> / {cluster_link(view.cluster)} / Connector'
    yield f'<p class="crumbs">{crumbs}</p><h1>{shown(one.name)}</h1>'
    pairs = [
        ("Sync", badge(one.sync)),
        ("Health", f"{badge(one.health)} {shown(one.reason.value)}"),
        ("State", shown(one.state)),
        ("Running tasks", shown(one.tasks)),
        ("Since", time(one.since)),
        *([("Suspended", shown(one.suspension.origin))] if one.suspension else []),
    ]
    message = f'<p class="message">{prose(one.message)}</p>' if one.message else ""
    yield f'<div id="facts" data-live>{facts(pairs)}{message}</div>'
    conditions = [(key, condition) for key, condition in view.conditions.items() if key[0] == one.name]
    yield section("conditions", "Conditions", condition_table(conditions))
    plan = f'<a href="{href("clusters", view.cluster)}#plan">Plan of the cluster</a>'
    yield section("plan", "Planned steps", _planned_steps(view, one), plan)
    steps = step_table(page.steps, with_connector=False)
    yield section("steps", "Last steps", steps, _journal_link(view.cluster, one.name))
    yield section("restarts", "Restarts", restart_table(_only(view, one)))
    yield section("rollbacks", "Rollbacks", rollback_table(_only(view, one)))
    yield section("changes", "Offset changes", change_table(page.changes))
    yield section("problems", "Problems of its documents", problem_table(page.problems))


def _only(view: ClusterView, one: ConnectorStatus) -> ClusterView:
    """The cluster with the restarts and rollbacks of one connector."""
    plan = view.plan
    if plan is None:
        return view
    restarts = {name: record for name, record in plan.restarts.items() if name == one.name}
    unhealthy = tuple(each for each in plan.unhealthy if each.name == one.name)
    rolled_back = {name: found for name, found in plan.rolled_back.items() if name == one.name}
    return replace(view, plan=replace(plan, restarts=restarts, unhealthy=unhealthy, rolled_back=rolled_back))


def _planned_steps(view: ClusterView, one: ConnectorStatus) -> str:
    planned = next((each for each in view.plan.connectors if each.name == one.name), None) if view.plan else None
    rows = [
        (f"{code(step.action.symbol)} {shown(step.action.value)}", shown(step.reason), _keys(step.changes))
        for step in (planned.steps if planned else ())
    ]
    notes = "".join(f"<li>{prose(note)}</li>" for note in (planned.notes if planned else ()))
    listed = table("Planned steps", ("Step", "Reason", "Config keys"), rows) if rows else empty("No step is planned.")
    return f"{listed}<ul>{notes}</ul>" if notes else listed


def _keys(changes: Sequence[Change]) -> str:
    return "<br>".join(f"{code(one.key)} {code(values(one))}" for one in changes) or NONE


def change_body(
    view: ClusterView, line: ChangeLine, difference: Difference | None, record: OperationRecord | None
) -> Iterator[str]:
    """The page of an offset change. `difference` has the offsets before and after."""
    crumbs = f'<a href="/">Overview</a> / {cluster_link(view.cluster)} / Offset change'
    yield f'<p class="crumbs">{crumbs}</p><h1>{shown(line.name)}</h1>'
    pairs = [
        ("Status", badge(line.state)),
        ("Connector", connector_link(line.cluster, line.connector)),
        ("Operation", shown(line.kind)),
        ("Since", time(line.since)),
        ("Commit", commit(line.revision)),
    ]
    if record is not None and record.entries is not None:
        pairs.append(("Entries sent", f"{record.sent or 0:,} of {record.entries:,}"))
    if record is not None and record.failures:
        pairs.append(("Failed attempts", f"{record.failures:,}{' (final)' if record.final else ''}"))
    message = f'<p class="message">{prose(line.message)}</p>' if line.message else ""
    yield f'<div id="facts" data-live>{facts(pairs)}{message}</div>'
    yield section("offsets", "Offsets before and after", _moves(difference))


def _moves(difference: Difference | None) -> str:
    if difference is None:
        return empty("The offsets are not stored, or are too many for a page.")
    rows = [
        (
            code(offset_lines.partition_words(move.partition)),
            code(offset_lines.offset_words(move.current)),
            code(offset_lines.offset_words(move.declared)),
            mark(move.direction.value, "note", "sync"),
        )
        for move in difference.moves[:MOST_MOVES]
    ]
    left = len(difference.moves) - len(rows)
    more = f'<p class="soft">{left:,} more partitions; the API lists them.</p>' if left > 0 else ""
    headers = ("Partition", "Before", "After", "Direction")
    listed = table("Offsets before and after", headers, rows) if rows else empty("No offset changes.")
    return f"<p>{shown(offset_lines.counts(difference))}</p>{listed}{more}"


def planned_change(view: ClusterView, name: str) -> PlannedOperation | None:
    """An offset change of the last plan."""
    declared = (*view.plan.operations, *view.plan.applied) if view.plan else ()
    return next((one for one in declared if one.name == name), None)


def journal_body(entries: Sequence[JournalEntry], following: Mapping[str, str] | None, of: str) -> Iterator[str]:
    """The page of the journal; `following` are the parameters of the next page, `of` says what is selected."""
    where = f' <span class="soft">{shown(of)}</span>' if of else ""
    yield f"<h1>Journal{where}</h1>"
    older = f'<p><a class="more" href="/journal?{shown(urlencode(following))}">Older steps</a></p>' if following else ""
    yield f'<section id="steps" data-live aria-label="Steps">{step_table(entries)}{older}</section>'


def changes_body(lines: Sequence[ChangeLine]) -> Iterator[str]:
    """The page of all offset changes."""
    yield "<h1>Offset changes</h1>"
    yield f'<section id="changes" data-live aria-label="Offset changes">{change_table(lines)}</section>'


def problems_body(problems: Sequence[tuple[ClusterName | None, Diagnostic]]) -> Iterator[str]:
    """The page of all problems of the documents."""
    yield "<h1>Problems of the documents</h1>"
    yield f'<section id="problems" data-live aria-label="Problems">{problem_table(problems)}</section>'
