"""The endpoints of the pages and of their static files."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from gitops_connect.daemon.state import ClusterView
from gitops_connect.forge.web_links import web_links
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.history_filter import PARAMETERS
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ConnectorName
from gitops_connect.report.connector_status import lag_words
from gitops_connect.report.offset_change_view import ChangeViews
from gitops_connect.server import page_values
from gitops_connect.server.connector_offsets import read_offsets
from gitops_connect.server.page_values import plan_words
from gitops_connect.server.pages import coloured_plan, plan_text, render, static_file, url
from gitops_connect.server.served import (
    MOST,
    OLDEST,
    USUAL,
    Served,
    all_problems,
    connector_query,
    declared_in,
    history_filter,
    number,
    served,
    served_change,
    served_cluster,
    served_connector,
    served_pull_request,
)

_RECENT = 12
"""Steps and offset changes on the page of a cluster or a connector."""
_MOST_CLUSTERS = 200
"""Clusters of the first page, the worst first."""
_OF_A_LIST = {"cluster", "sync", "health", "attention", "search"}
"""Parameters of the list of connectors that the first page had."""
_FORM = ("q", "cluster", "actor", "action", "result", "from", "to")
"""The parameters of the history that its form has. Links in the table set the others."""
_STATIC_TYPES = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def front(request: Request) -> Response:
    """The clusters, and what needs attention, by its cause. The addresses of the list that was here stay valid."""
    if _OF_A_LIST & request.query_params.keys():
        return RedirectResponse(f"/connectors?{request.url.query}", 308)
    snapshot, index = served(request).snapshot, served(request).index
    lines = [page_values.cluster_line(view, index.clusters[name]) for name, view in snapshot.clusters.items()]
    lines.sort(key=lambda line: line.rank)
    query = replace(connector_query(request), attention=True)
    if "group" not in request.query_params:
        query = replace(query, group="cause")
    shown = lines[:_MOST_CLUSTERS]
    return _page(
        request,
        "fleet.html",
        "Fleet",
        path="/",
        lines=shown,
        more=len(lines) - len(shown),
        attention=index.attention,
        connectors=page_values.connector_list(index, query, "/"),
    )


def connectors(request: Request) -> Response:
    """The list of all connectors."""
    one = served(request)
    values = page_values.connector_list(one.index, connector_query(request), "/connectors")
    return _page(request, "all_connectors.html", "Connectors", path="/connectors", connectors=values)


def cluster(request: Request) -> Response:
    one, view = served_cluster(request)
    path, index = url("clusters", view.cluster), one.index
    return _page(
        request,
        "cluster.html",
        view.cluster,
        view=view,
        line=page_values.cluster_line(view, index.clusters[view.cluster]),
        connectors=page_values.connector_list(index, connector_query(request), path, view.cluster),
        rollouts=page_values.rollout_lines(
            one.ledger.configs.of(view.cluster), one.index.clusters[view.cluster].by_name
        ),
        changes=_changes(one, view, last=_RECENT),
        problems=[(of, each) for of, each in all_problems(one) if of in (None, view.cluster)][:MOST],
        journal=urlencode({"cluster": view.cluster}),
        steps=one.ledger.status.steps(view.cluster, limit=_RECENT),
    )


def plan_page(request: Request) -> Response:
    """The plan of a cluster, with its counts."""
    _, view = served_cluster(request)
    shown = coloured_plan(view.plan) if view.plan else None
    return _page(request, "plan.html", f"Plan of {view.cluster}", view=view, plan=shown, words=plan_words(view.plan))


def plan(request: Request) -> Response:
    _, view = served_cluster(request)
    if view.plan is None:
        raise HTTPException(404, f"there is no plan of the cluster {view.cluster} yet")
    return PlainTextResponse(plan_text(view.plan))


def connector(request: Request) -> Response:
    one, view, found = served_connector(request)
    planned = next((each for each in view.plan.connectors if each.name == found.name), None) if view.plan else None
    return _page(
        request,
        "connector.html",
        found.name,
        view=view,
        one=found,
        tasks=page_values.task_lines(found, view.plan),
        config=page_values.config_lines(declared_in(one, view.cluster, found.name), planned),
        planned=planned,
        journal=urlencode({"cluster": view.cluster, "connector": found.name}),
        steps=one.ledger.status.steps(view.cluster, found.name, limit=_RECENT),
        changes=[line for line in _changes(one, view, found.name) if line.connector == found.name],
        topics=sorted(view.topics[found.name]) if found.name in view.topics else None,
        unexpected=view.plan.unexpected_topics.get(found.name, "") if view.plan else "",
        problems=[
            (of or view.cluster, each)
            for of, each in all_problems(one)
            if each.connector == found.name and of in (None, view.cluster)
        ],
        **_offsets(request, view, found.name),
    )


def _offsets(request: Request, view: ClusterView, name: ConnectorName) -> page_values.Values:
    """The offsets of a connector. Its partitions are listed only if the URL opens them."""
    one, params, lag = served(request), request.query_params, view.lag(name)
    start, is_open = number(params, "start", None) or 0, "offsets" in params.getlist("open")
    return {
        "lag": lag,
        "lag_words": lag_words(lag),
        "progress": view.plan.offset_progress.get(name) if view.plan else None,
        "offsets": read_offsets(one.ledger, view, name) if is_open else None,
        "start": start,
        "end": start + USUAL,
        "read_all": command_line("offsets get", name, "--cluster", view.cluster),
    }


def rollout(request: Request) -> Response:
    """The connectors that have, get, wait for or failed with the config of a commit."""
    (one, view), commit = served_cluster(request), request.path_params["commit"]
    lines = page_values.rollout_lines(one.ledger.configs.of(view.cluster), one.index.clusters[view.cluster].by_name)
    found = next((line for line in lines if line.revision == commit), None)
    if found is None:
        raise HTTPException(404, f"no connector of {view.cluster} waits for, tries or failed with the commit {commit}")
    return _page(request, "rollout.html", f"Rollout of {commit[:7]}", view=view, rollout=found, most=MOST)


def offset_change(request: Request) -> Response:
    start, (view, found) = number(request.query_params, "start", None) or 0, served_change(request)
    shown = {"line": found.line, "record": found.record, "receipt": found.receipt, "difference": found.difference}
    return _page(request, "offset_change.html", found.line.name, view=view, **shown, start=start, end=start + USUAL)


def pull_requests(request: Request) -> Response:
    one = served(request)
    has_forge = one.settings.forge.kind is not None
    return _page(request, "pull_requests.html", "Reviews", path="/pull-requests", has_forge=has_forge)


def pull_request(request: Request) -> Response:
    one, view = served_pull_request(request)
    return _page(
        request,
        "pull_request.html",
        f"#{view.plan.number}",
        path="/pull-requests",
        view=view,
        unread=[(name, mask(reason, view.plan.secrets)) for name, reason in view.plan.unread.items()],
        merge=page_values.merge_lines(view.plan),
        destructive=page_values.destructive_lines(view.plan)[:MOST],
        pending=sorted(view.plan.pending),
        plan=coloured_plan(view.plan) if view.plan.plans else None,
        problems=[(None, each) for each in view.plan.diagnostics][:MOST],
        most=MOST,
        approvals=one.ledger.reviews.approvals(view.plan.number),
    )


def pull_request_plan(request: Request) -> Response:
    _, view = served_pull_request(request)
    return PlainTextResponse(plan_text(view.plan))


def offset_changes(request: Request) -> Response:
    one = served(request)
    lines = [line for view in one.snapshot.clusters.values() for line in _changes(one, view)]
    return _page(request, "offset_changes.html", "Offset changes", path="/offset-changes", changes=lines[:MOST])


def history(request: Request) -> Response:
    one, params = served(request), request.query_params
    entries = one.ledger.status.history(history_filter(one, params), before=number(params, "after", None), limit=USUAL)
    given = [(name, value) for name, value in params.multi_items() if name in PARAMETERS and value]
    return _page(
        request,
        "history.html",
        "History",
        path="/history",
        steps=entries,
        chosen={name: params.get(name, "") for name in _FORM},
        kept=[(name, value) for name, value in given if name not in _FORM],
        clusters=list(one.snapshot.clusters),
        query=urlencode(given),
        following=urlencode([*given, ("after", entries[-1].id)]) if len(entries) == USUAL else "",
    )


def journal(request: Request) -> Response:
    """The address of the history in earlier versions."""
    given = [("after" if name == "before" else name, value) for name, value in request.query_params.multi_items()]
    return RedirectResponse(f"/history?{urlencode(given)}" if given else "/history", 301)


def problems(request: Request) -> Response:
    return _page(request, "problems.html", "Problems", path="/problems", problems=all_problems(served(request))[:MOST])


def static(request: Request) -> Response:
    """The stylesheet, the script and the icon."""
    name = request.path_params["name"]
    media_type = _STATIC_TYPES.get(name)
    if media_type is None:
        raise HTTPException(404, "there is no such file")
    cache = "public, max-age=31536000, immutable" if "v" in request.query_params else "no-cache"
    return Response(static_file(name), media_type=media_type, headers={"Cache-Control": cache})


def _page(request: Request, template: str, title: str, **values: object) -> Response:
    """A page. `?theme=` chooses dark or light, whatever the system prefers."""
    one, theme = served(request), request.query_params.get("theme", "")
    frame = {
        "oldest": request.scope[OLDEST],
        "theme": theme if theme in ("dark", "light") else "",
        "links": web_links(one.settings, one.directory),
        "opened": frozenset(request.query_params.getlist("open")),
    }
    return HTMLResponse(render(template, title, one.snapshot, one.index, **frame, **values))


def _changes(
    one: Served, view: ClusterView, connector: ConnectorName | None = None, last: int = MOST
) -> list[page_values.ChangeLine]:
    """The offset changes of a cluster or a connector: those that are not applied, and the last ones of all."""
    changes = one.ledger.offset_changes
    pending = changes.latest(view.cluster, connector, page_values.PENDING, limit=MOST)
    recent = changes.latest(view.cluster, connector, limit=last)
    views = ChangeViews.of(view.cluster, view.plan, one.directory)
    return page_values.change_lines(views, {one.name: one for one in (*pending, *recent)}.values())
