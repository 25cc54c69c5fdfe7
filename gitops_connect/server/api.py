"""The endpoints of `/api/v1`. `openapi.py` describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import islice

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gitops_connect.model.history_filter import HistoryFilter
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.outcomes import JournalEntry
from gitops_connect.model.plans import Action
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report import plan_json
from gitops_connect.report.offset_change_view import ChangeViews
from gitops_connect.report.step_history import csv_lines, history_value, json_lines
from gitops_connect.report.words import auto_restart_status
from gitops_connect.server import values
from gitops_connect.server.access import Access
from gitops_connect.server.connector_offsets import read_offsets
from gitops_connect.server.error_answers import JSONAnswer
from gitops_connect.server.fleet import ConnectorQuery
from gitops_connect.server.openapi import document
from gitops_connect.server.page_values import config_lines, recorded_line, rollout_lines, task_lines
from gitops_connect.server.pages import plan_text
from gitops_connect.server.served import (
    MOST,
    USUAL,
    ChangeCursor,
    Served,
    all_problems,
    change_cursor,
    cluster_in,
    declared_in,
    history_filter,
    number,
    page_size,
    served,
    served_change,
    served_cluster,
    served_connector,
    served_pull_request,
)

_LINES = 500
"""Lines of a download that are sent at once."""


def openapi(_request: Request) -> Response:
    return JSONAnswer(document())


def status(request: Request) -> Response:
    snapshot = served(request).snapshot
    value = {
        "snapshot": snapshot.number,
        "is_leader": snapshot.is_leader,
        "repository": values.repository_value(snapshot.repository),
        "clusters": [values.cluster_value(view) for view in snapshot.clusters.values()],
    }
    return JSONAnswer(value)


def clusters(request: Request) -> Response:
    found = served(request).snapshot.clusters.values()
    return JSONAnswer({"clusters": [values.cluster_value(view) for view in found]})


def cluster(request: Request) -> Response:
    """One cluster, with the steps of its reconciliation."""
    _, view = served_cluster(request)
    return JSONAnswer({**values.cluster_value(view), "steps": [values.step_value(one) for one in view.steps]})


def plan(request: Request) -> Response:
    """The last plan of a cluster, in the format of `plan -o json`."""
    one, view = served_cluster(request)
    if view.plan is None or view.observed is None:
        raise HTTPException(404, f"there is no plan of the cluster {view.cluster} yet")
    origin = plan_json.PlanOrigin(view.observed, view.plan.revision, directory=one.directory)
    diagnostics = view.diagnostics.under(one.directory)
    return Response(plan_json.render([view.plan], diagnostics, origin), media_type="application/json")


def connectors(request: Request) -> Response:
    """The connectors that the parameters select; all of them without `limit`."""
    one, limit = served(request), number(request.query_params, "limit", None, MOST)
    found = one.index.select(replace(ConnectorQuery.of(request.query_params), group="", size=limit or one.index.total))
    clusters = one.snapshot.clusters
    return JSONAnswer(
        {
            "total": found.total,
            "verdicts": {kind.value: found.counts.get(kind, 0) for kind in VerdictKind},
            "connectors": [values.connector_value(each, clusters.get(each.cluster)) for each in found.connectors],
            "next": found.next,
        }
    )


def connector(request: Request) -> Response:
    """One connector, with its conditions, restarts, offset changes and last steps."""
    one, view, found = served_connector(request)
    outlook = (
        next((each.restarts for each in view.plan.unhealthy if each.name == found.name), None) if view.plan else None
    )
    changes, restarts = one.ledger.offset_changes.latest(view.cluster, found.name, limit=MOST), one.ledger.restarts
    restart = restarts.of(view.cluster).get(found.name)
    chosen = HistoryFilter((view.cluster,), (found.name,), actions=tuple(Action))
    steps = one.ledger.status.history(chosen, limit=USUAL)
    planned = next((each for each in view.plan.connectors if each.name == found.name), None) if view.plan else None
    config = config_lines(declared_in(one, view.cluster, found.name), planned)
    views = ChangeViews.of(view.cluster, view.plan, one.directory)
    return JSONAnswer(
        {
            **values.connector_value(found, view),
            "parts": [asdict(task) for task in task_lines(found, view.plan)],
            "config": [values.config_value(line, one.directory) for line in config],
            "conditions": values.condition_values(view.cluster, view.conditions, found.name),
            "restarts": values.restart_value(restart, outlook),
            "autoRestart": auto_restart_status(found.name, restart),
            "offsets": values.offsets_value(read_offsets(one.ledger, view, found.name), MOST),
            "active_topics": sorted(view.topics[found.name]) if found.name in view.topics else None,
            "operations": [values.offset_change_value(recorded_line(views, each), each) for each in changes],
            "journal": values.journal_values(steps),
        }
    )


def rollouts(request: Request) -> Response:
    """The commits whose configs are on trial, wait or have failed on a cluster, with the connectors."""
    one, view = served_cluster(request)
    lines = rollout_lines(one.ledger.configs.of(view.cluster), one.index.clusters[view.cluster].by_name)
    return JSONAnswer({"rollouts": [values.rollout_value(line) for line in lines]})


def offset_changes(request: Request) -> Response:
    """Offset changes in the ledger, the last one first, with the parameter `after` of the next page."""
    one, params = served(request), request.query_params
    changes, limit, cursor = one.ledger.offset_changes, page_size(params), change_cursor(params)
    connector = ConnectorName(params["connector"]) if "connector" in params else None
    states = [state for state in OffsetChangeState if params.get("state") == state.value]
    is_any = bool(states) or "state" not in params
    clusters = sorted(name for name in one.snapshot.clusters if is_any and params.get("cluster", name) == name)
    found = [
        (name, record)
        for name in clusters
        for record in (
            changes.latest(name, connector, states, limit=limit + 1)
            if cursor is None
            else changes.page(name, connector, states, cursor.beyond(name), limit + 1)
        )
    ]
    found.sort(key=lambda each: each[1].since, reverse=True)
    page, known = found[:limit], one.snapshot.clusters
    views = {name: ChangeViews.of(name, known[name].plan, one.directory) for name in {each for each, _ in page}}
    return JSONAnswer(
        {
            "total": sum(changes.count(name, connector, states) for name in clusters),
            "operations": [values.offset_change_value(recorded_line(views[name], each), each) for name, each in page],
            "next": ChangeCursor.of(*page[-1]).text if len(found) > limit else None,
        }
    )


def offset_change(request: Request) -> Response:
    """One offset change of the ledger or the plan, with the offsets before and after, and its receipt."""
    limit, (_, found) = page_size(request.query_params), served_change(request)
    value = values.offset_change_value(found.line, found.record)
    offsets = values.moves_value(found.difference, limit)
    return JSONAnswer({**value, "offsets": offsets, "receipt": found.receipt.value(limit)})


def journal(request: Request) -> Response:
    """The steps of plans, and nothing else of the history: what clients of earlier versions expect."""
    one, params = served(request), request.query_params
    limit = page_size(params)
    clusters, connectors = ((params[name],) if params.get(name) else () for name in ("cluster", "connector"))
    chosen = HistoryFilter(clusters, connectors, actions=tuple(Action))
    entries = one.ledger.status.history(chosen, before=number(params, "before", None), limit=limit)
    following = entries[-1].id if len(entries) == limit else None
    return JSONAnswer({"steps": values.journal_values(entries), "next": following})


def history(request: Request) -> Response:
    """A page of the history, the newest steps first, with the parameter `after` of the next page."""
    one, params = served(request), request.query_params
    chosen, limit = history_filter(one, params, ("after", "limit")), page_size(params)
    entries = one.ledger.status.history(chosen, before=number(params, "after", None), limit=limit)
    following = entries[-1].id if len(entries) == limit else None
    return JSONAnswer({"steps": [history_value(each) for each in entries], "next": following})


def history_csv(request: Request) -> Response:
    return _download(request, csv_lines, "text/csv; charset=utf-8", "history.csv")


def history_json(request: Request) -> Response:
    return _download(request, json_lines, "application/json", "history.json")


def _download(
    request: Request, lines: Callable[[Iterable[JournalEntry]], Iterator[str]], media_type: str, name: str
) -> Response:
    """The whole history that the filter selects, which is read while it is sent."""
    one = served(request)
    found = lines(one.ledger.status.whole_history(history_filter(one, request.query_params, ())))
    blocks = iter(lambda: "".join(islice(found, _LINES)), "")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(blocks, media_type=media_type, headers=headers)


def conditions(request: Request) -> Response:
    params, snapshot = request.query_params, served(request).snapshot
    of = ConnectorName(params["connector"]) if "connector" in params else None
    views = [view for view in snapshot.clusters.values() if params.get("cluster", view.cluster) == view.cluster]
    found = [one for view in views for one in values.condition_values(view.cluster, view.conditions, of)]
    return JSONAnswer({"conditions": found})


def diagnostics(request: Request) -> Response:
    found = all_problems(served(request))
    return JSONAnswer({"diagnostics": [values.diagnostic_value(each, cluster) for cluster, each in found]})


def pull_requests(request: Request) -> Response:
    one = served(request)
    found = [values.pull_request_value(view) for view in one.snapshot.pull_requests]
    kind = one.settings.forge.kind
    forge = None if kind is None else kind.value
    return JSONAnswer({"forge": forge, "is_leader": one.snapshot.is_leader, "pull_requests": found})


def pull_request(request: Request) -> Response:
    """One pull request with its plan, as text and as the comment, and the approvals."""
    one, view = served_pull_request(request)
    return JSONAnswer(
        {
            **values.pull_request_value(view),
            "comment": view.comment,
            "text": plan_text(view.plan),
            "diagnostics": list(map(values.diagnostic_value, view.plan.diagnostics)),
            "approvals": [values.approval_value(each) for each in one.ledger.reviews.approvals(view.plan.number)],
        }
    )


def pull_request_plan(request: Request) -> Response:
    """The plan of a pull request, in the format of `plan -o json`."""
    one, view = served_pull_request(request)
    origin = plan_json.PlanOrigin(view.reviewed, view.plan.head, directory=one.directory)
    text = plan_json.render(view.plan.plans, view.plan.diagnostics, origin)
    return Response(mask(text, view.plan.secrets), media_type="application/json")


def review(request: Request) -> Response:
    one = _leader_for_changes(request)
    if one.settings.forge.kind is None:
        raise HTTPException(409, "pull requests are not reviewed: [forge] kind is not set")
    one.daemon.review_now()
    return JSONAnswer({"forge": one.settings.forge.kind.value}, 202)


def _leader_for_changes(request: Request) -> Served:
    """The objects of a request that starts something. Raises HTTPException (401, 403, 409)."""
    one = served(request)
    if one.settings.server.token is None:
        raise HTTPException(403, "the server is read-only: [server] token is not set")
    if not Access(one.settings.server).may_change(request.headers):
        raise HTTPException(
            401, "expected the token in the header Authorization: Bearer", {"WWW-Authenticate": "Bearer"}
        )
    if not one.snapshot.is_leader:
        raise HTTPException(409, "this replica makes no changes now; send the request to the leader")
    return one


def _chosen(one: Served, request: Request) -> list[ClusterName]:
    """The cluster of the parameter, or all of them. Raises HTTPException (404)."""
    name = request.query_params.get("cluster")
    return [cluster_in(one.snapshot, name).cluster] if name else list(one.snapshot.clusters)


def reconcile(request: Request) -> Response:
    """Poll the repository, then reconcile one cluster or all of them."""
    one = _leader_for_changes(request)
    chosen = _chosen(one, request)
    number = one.daemon.reconcile_now(chosen)
    return JSONAnswer({"request": number, "clusters": chosen}, 202, {"Location": f"/api/v1/reconcile/{number}"})


def reconciliation(request: Request) -> Response:
    """Whether a request to reconcile was carried out, and the result of each cluster."""
    one, number = served(request), request.path_params["number"]
    if not 1 <= number <= one.daemon.reconciliations.last:
        raise HTTPException(404, f"there is no request {number}; the daemon counts from 1 after each start")
    polled = one.daemon.reconciliations.polled >= number
    results = {each: one.daemon.reconciliations.result(each, number) for each in _chosen(one, request)}
    is_unread = polled and one.snapshot.repository.revision is None
    return JSONAnswer(
        {
            "request": number,
            "polled": polled,
            "finished": is_unread or None not in results.values(),
            "repository_error": one.snapshot.repository.error if polled else "",
            "results": [values.result_value(each, result) for each, result in results.items() if result is not None],
        }
    )
