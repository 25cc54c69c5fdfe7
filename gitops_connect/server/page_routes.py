"""The endpoints of the pages and of their static files."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.offset_changes.recorded_changes import recorded_difference
from gitops_connect.report.connector_status import lag_words
from gitops_connect.server import page_values
from gitops_connect.server.pages import coloured_plan, plan_text, render, static_file, url
from gitops_connect.server.served import (
    MOST,
    USUAL,
    ConnectorFilter,
    Served,
    cluster_diagnostics,
    cluster_in,
    connector_in,
    number,
    pull_request_in,
    served,
)

_RECENT = 12
"""Steps of the first page."""
_MOST_MOVES = 500
"""Partitions of an offset change on its page. The API returns more."""
_STATIC_TYPES = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def front(request: Request) -> Response:
    one, snapshot = served(request), served(request).snapshot
    views = snapshot.clusters.values()
    lines = [line for view in views for line in _changes(one, view, last=page_values.MOST_CHANGES)]
    changes, more = page_values.first_changes(lines)
    return _page(
        "overview.html",
        "Status",
        snapshot,
        path="/",
        tiles=page_values.tiles(snapshot),
        cards=[page_values.cluster_card(view) for view in snapshot.clusters.values()],
        connectors=page_values.connector_list(snapshot, ConnectorFilter.of(request.query_params), "/"),
        changes=changes,
        more_changes=more,
        has_clusters=len(snapshot.clusters) > 1,
        steps=one.ledger.status.steps(limit=_RECENT),
    )


def cluster(request: Request) -> Response:
    one, snapshot = served(request), served(request).snapshot
    view = cluster_in(snapshot, request.path_params["cluster"])
    chosen = ConnectorFilter.of(request.query_params)
    return _page(
        "cluster.html",
        view.cluster,
        snapshot,
        view=view,
        bar=page_values.health_bar(view.connectors),
        conditions=page_values.conditions_of(view),
        plan=coloured_plan(view.plan) if view.plan else None,
        connectors=page_values.connector_list(snapshot, chosen, url("clusters", view.cluster), view),
        changes=_changes(one, view),
        restarts=page_values.restarts_of(view),
        rollbacks=page_values.rollbacks_of(view),
        problems=[(of, each) for of, each in _problems(one, snapshot) if of in (None, view.cluster)],
        journal=urlencode({"cluster": view.cluster}),
        steps=one.ledger.status.steps(view.cluster, limit=_RECENT),
    )


def plan(request: Request) -> Response:
    view = cluster_in(served(request).snapshot, request.path_params["cluster"])
    if view.plan is None:
        raise HTTPException(404, f"there is no plan of the cluster {view.cluster} yet")
    return PlainTextResponse(plan_text(view.plan))


def connector(request: Request) -> Response:
    one, snapshot = served(request), served(request).snapshot
    view = cluster_in(snapshot, request.path_params["cluster"])
    found = connector_in(view, request.path_params["connector"])
    planned = view.plan.connectors if view.plan else ()
    return _page(
        "connector.html",
        found.name,
        snapshot,
        view=view,
        one=found,
        lag=lag_words(view.lag(found.name)),
        conditions=page_values.conditions_of(view, found.name),
        planned=next((each for each in planned if each.name == found.name), None),
        journal=urlencode({"cluster": view.cluster, "connector": found.name}),
        steps=one.ledger.status.steps(view.cluster, found.name, limit=_RECENT),
        restarts=page_values.restarts_of(view, found.name),
        rollbacks=page_values.rollbacks_of(view, found.name),
        changes=[line for line in _changes(one, view, found.name) if line.connector == found.name],
        topics=sorted(view.topics[found.name]) if found.name in view.topics else None,
        problems=[
            (of or view.cluster, each)
            for of, each in _problems(one, snapshot)
            if each.connector == found.name and of in (None, view.cluster)
        ],
    )


def offset_change(request: Request) -> Response:
    one, snapshot, name = served(request), served(request).snapshot, request.path_params["operation"]
    view = cluster_in(snapshot, request.path_params["cluster"])
    record = one.ledger.offset_changes.find(view.cluster, OffsetChangeName(name))
    planned = page_values.planned_change(view, name)
    if record is not None:
        line = page_values.recorded_line(view.cluster, record)
        difference = recorded_difference(one.ledger.offset_changes, view.cluster, record)
        difference = difference or (planned.difference if planned else None)
    elif planned is not None:
        line, difference = page_values.planned_line(view.cluster, planned), planned.difference
    else:
        raise HTTPException(404, f"there is no offset change {name!r} on the cluster {view.cluster}")
    shown = {"line": line, "record": record, "difference": difference, "most_moves": _MOST_MOVES}
    return _page("offset_change.html", name, snapshot, view=view, **shown)


def pull_requests(request: Request) -> Response:
    one = served(request)
    has_forge = one.settings.forge.kind is not None
    return _page("pull_requests.html", "Pull requests", one.snapshot, path="/pull-requests", has_forge=has_forge)


def pull_request(request: Request) -> Response:
    one = served(request)
    view = pull_request_in(one.snapshot, request.path_params["number"])
    return _page(
        "pull_request.html",
        f"#{view.plan.number}",
        one.snapshot,
        path="/pull-requests",
        view=view,
        unread=[(name, mask(reason, view.plan.secrets)) for name, reason in view.plan.unread.items()],
        plan=coloured_plan(view.plan) if view.plan.plans else None,
        problems=[(None, each) for each in view.plan.diagnostics],
        approvals=one.ledger.reviews.approvals(view.plan.number),
    )


def pull_request_plan(request: Request) -> Response:
    return PlainTextResponse(plan_text(pull_request_in(served(request).snapshot, request.path_params["number"]).plan))


def offset_changes(request: Request) -> Response:
    one, snapshot = served(request), served(request).snapshot
    lines = [line for view in snapshot.clusters.values() for line in _changes(one, view)]
    return _page("offset_changes.html", "Offset changes", snapshot, path="/offset-changes", changes=lines[:MOST])


def journal(request: Request) -> Response:
    one, params = served(request), request.query_params
    cluster_name, name = params.get("cluster", ""), params.get("connector", "")
    entries = one.ledger.status.steps(
        ClusterName(cluster_name) if cluster_name else None,
        ConnectorName(name) if name else None,
        before=number(params, "before", None),
        limit=USUAL,
    )
    kept = {key: value for key, value in (("cluster", cluster_name), ("connector", name)) if value}
    following = urlencode({**kept, "before": str(entries[-1].id)}) if len(entries) == USUAL else ""
    of = " / ".join(kept.values())
    return _page("journal.html", "Journal", one.snapshot, path="/journal", steps=entries, following=following, of=of)


def problems(request: Request) -> Response:
    one, snapshot = served(request), served(request).snapshot
    return _page("problems.html", "Problems", snapshot, path="/problems", problems=_problems(one, snapshot)[:MOST])


def static(request: Request) -> Response:
    """The stylesheet, the script and the icon."""
    name = request.path_params["name"]
    media_type = _STATIC_TYPES.get(name)
    if media_type is None:
        raise HTTPException(404, "there is no such file")
    cache = "public, max-age=31536000, immutable" if "v" in request.query_params else "no-cache"
    return Response(static_file(name), media_type=media_type, headers={"Cache-Control": cache})


def _page(template: str, title: str, snapshot: Snapshot, **values: object) -> Response:
    return HTMLResponse(render(template, title, snapshot, **values))


def _changes(
    one: Served, view: ClusterView, connector: ConnectorName | None = None, last: int = MOST
) -> list[page_values.ChangeLine]:
    """The offset changes of a cluster or a connector: those that are not applied, and the last ones of all."""
    changes = one.ledger.offset_changes
    pending = changes.latest(view.cluster, connector, page_values.PENDING, limit=MOST)
    recent = changes.latest(view.cluster, connector, limit=last)
    return page_values.change_lines(view, {one.name: one for one in (*pending, *recent)}.values())


def _problems(one: Served, snapshot: Snapshot) -> list[tuple[ClusterName | None, Diagnostic]]:
    found: list[tuple[ClusterName | None, Diagnostic]] = [
        (None, each) for each in snapshot.repository.diagnostics.under(one.directory)
    ]
    for view in snapshot.clusters.values():
        found += [(view.cluster, each) for each in cluster_diagnostics(snapshot, view).under(one.directory)]
    return found
