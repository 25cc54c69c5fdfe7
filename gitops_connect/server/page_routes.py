"""The endpoints of the pages and of their static files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.names import ClusterName, ConnectorName, OperationName
from gitops_connect.offset_changes.recorded_difference import recorded_difference
from gitops_connect.server import queries
from gitops_connect.server.pages import details, lists, overview, plan_text
from gitops_connect.server.pages import pull_requests as pull_requests_page
from gitops_connect.server.pages.layout import Page, render, static_file
from gitops_connect.server.queries import ConnectorFilter
from gitops_connect.server.served import Served, cluster_diagnostics, cluster_in, connector_in, pull_request_in, served

_RECENT = 12
"""Steps of the first page."""
_STATIC_TYPES = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def front(request: Request) -> Response:
    """`/`."""
    one, snapshot = served(request), served(request).snapshot
    chosen = ConnectorFilter.of(request.query_params)
    changes = [line for view in snapshot.clusters.values() for line in _changes(one, view)]
    shown = overview.Overview(snapshot, chosen, changes, one.ledger.status.steps(limit=_RECENT))
    return _page("Status", "/", overview.body(shown), snapshot)


def cluster(request: Request) -> Response:
    """`/clusters/X`."""
    one, snapshot = served(request), served(request).snapshot
    view = cluster_in(snapshot, request.path_params["cluster"])
    chosen = replace(ConnectorFilter.of(request.query_params), cluster=view.cluster)
    problems = [(of, each) for of, each in _problems(one, snapshot) if of in (None, view.cluster)]
    steps = one.ledger.status.steps(view.cluster, limit=_RECENT)
    page = details.Detail(snapshot, view, _changes(one, view), steps, problems)
    return _page(view.cluster, "", details.cluster_body(page, chosen), snapshot)


def plan(request: Request) -> Response:
    """`/clusters/X/plan.txt`."""
    view = cluster_in(served(request).snapshot, request.path_params["cluster"])
    if view.plan is None:
        raise HTTPException(404, f"there is no plan of the cluster {view.cluster} yet")
    return PlainTextResponse(plan_text.plain(view.plan))


def connector(request: Request) -> Response:
    """`/clusters/X/connectors/Y`."""
    one, snapshot = served(request), served(request).snapshot
    view = cluster_in(snapshot, request.path_params["cluster"])
    found = connector_in(view, request.path_params["connector"])
    changes = [line for line in _changes(one, view) if line.connector == found.name]
    problems = [
        (of or view.cluster, each)
        for of, each in _problems(one, snapshot)
        if each.connector == found.name and of in (None, view.cluster)
    ]
    steps = one.ledger.status.steps(view.cluster, found.name, limit=_RECENT)
    page = details.Detail(snapshot, view, changes, steps, problems)
    return _page(found.name, "", details.connector_body(page, found), snapshot)


def offset_change(request: Request) -> Response:
    """`/clusters/X/operations/NAME`."""
    one, snapshot, name = served(request), served(request).snapshot, request.path_params["operation"]
    view = cluster_in(snapshot, request.path_params["cluster"])
    record = one.ledger.operations.records(view.cluster).get(OperationName(name))
    planned = details.planned_change(view, name)
    if record is not None:
        line = lists.recorded_line(view.cluster, record)
        difference = recorded_difference(one.ledger.operations, view.cluster, record)
        difference = difference or (planned.difference if planned else None)
    elif planned is not None:
        line, difference = lists.planned_line(view.cluster, planned), planned.difference
    else:
        raise HTTPException(404, f"there is no offset change {name!r} on the cluster {view.cluster}")
    return _page(name, "", details.change_body(view, line, difference, record), snapshot)


def pull_requests(request: Request) -> Response:
    """`/pull-requests`."""
    one = served(request)
    body = pull_requests_page.list_body(one.snapshot, has_forge=one.settings.forge.kind is not None)
    return _page("Pull requests", "/pull-requests", body, one.snapshot)


def pull_request(request: Request) -> Response:
    """`/pull-requests/N`."""
    one = served(request)
    view = pull_request_in(one.snapshot, request.path_params["number"])
    body = pull_requests_page.body(view, one.ledger.reviews.approvals(view.plan.number))
    return _page(f"#{view.plan.number}", "/pull-requests", body, one.snapshot)


def pull_request_plan(request: Request) -> Response:
    """`/pull-requests/N/plan.txt`."""
    view = pull_request_in(served(request).snapshot, request.path_params["number"])
    return PlainTextResponse(plan_text.of_pull_request(view.plan))


def offset_changes(request: Request) -> Response:
    """`/offset-changes`."""
    one, snapshot = served(request), served(request).snapshot
    lines = [line for view in snapshot.clusters.values() for line in _changes(one, view)]
    return _page("Offset changes", "/offset-changes", details.changes_body(lines[: queries.MOST]), snapshot)


def journal(request: Request) -> Response:
    """`/journal`."""
    one, params = served(request), request.query_params
    cluster_name, name = params.get("cluster", ""), params.get("connector", "")
    entries = one.ledger.status.steps(
        ClusterName(cluster_name) if cluster_name else None,
        ConnectorName(name) if name else None,
        before=queries.number(params, "before", None),
        limit=queries.USUAL,
    )
    kept = {key: value for key, value in (("cluster", cluster_name), ("connector", name)) if value}
    following = {**kept, "before": str(entries[-1].id)} if len(entries) == queries.USUAL else None
    of = " / ".join(kept.values())
    return _page("Journal", "/journal", details.journal_body(entries, following, of), one.snapshot)


def problems(request: Request) -> Response:
    """`/problems`."""
    one, snapshot = served(request), served(request).snapshot
    found = _problems(one, snapshot)[: queries.MOST]
    return _page("Problems", "/problems", details.problems_body(found), snapshot)


def static(request: Request) -> Response:
    """The stylesheet, the script and the icon."""
    name = request.path_params["name"]
    media_type = _STATIC_TYPES.get(name)
    if media_type is None:
        raise HTTPException(404, "there is no such file")
    is_versioned = "v" in request.query_params
    cache = "public, max-age=31536000, immutable" if is_versioned else "no-cache"
    return Response(static_file(name), media_type=media_type, headers={"Cache-Control": cache})


def _page(title: str, path: str, body: Iterable[str], snapshot: Snapshot) -> Response:
    of_clusters = (one for view in snapshot.clusters.values() for one in view.diagnostics.errors)
    count = len({*snapshot.repository.diagnostics.errors, *of_clusters})
    return HTMLResponse(render(Page(title, path, body, overview.summary(snapshot), snapshot.number, count)))


def _changes(one: Served, view: ClusterView) -> list[lists.ChangeLine]:
    return lists.change_lines(view, one.ledger.operations.records(view.cluster).values())


def _problems(one: Served, snapshot: Snapshot) -> list[tuple[ClusterName | None, Diagnostic]]:
    found: list[tuple[ClusterName | None, Diagnostic]] = [
        (None, each) for each in snapshot.repository.diagnostics.under(one.directory)
    ]
    for view in snapshot.clusters.values():
        found += [(view.cluster, each) for each in cluster_diagnostics(snapshot, view).under(one.directory)]
    return found
