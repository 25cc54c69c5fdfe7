"""The pages of the open pull requests: what merging each of them would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_connect.daemon.state import PullRequestView, Snapshot
from gitops_connect.model.masking import mask
from gitops_connect.model.reviewed_plans import Approval
from gitops_connect.model.reviews import CommitState
from gitops_connect.report.page import code, shown
from gitops_connect.server.pages import plan_text
from gitops_connect.server.pages.lists import problem_table
from gitops_connect.server.pages.parts import NONE, commit, empty, facts, link, mark, prose, section, table, time

_NO_FORGE = "Pull requests are not reviewed: [forge] kind is not set."
_STATES = {
    CommitState.SUCCESS: ("good", "ok"),
    CommitState.PENDING: ("note", "wait"),
    CommitState.FAILURE: ("error", "bad"),
}


def list_body(snapshot: Snapshot, *, has_forge: bool) -> Iterator[str]:
    """The page of all open pull requests."""
    yield "<h1>Pull requests</h1>"
    listed = _list(snapshot) if has_forge else empty(_NO_FORGE)
    yield f'<section id="pull-requests" data-live aria-label="Pull requests">{listed}</section>'


def _list(snapshot: Snapshot) -> str:
    if not snapshot.is_leader:
        return empty("Only the leader reviews pull requests, and this replica is not the leader.")
    rows = [
        (
            link(f"#{view.pull_request.number} {view.pull_request.title}", *_path(view)),
            _state(view.state),
            prose(view.summary),
            shown(view.pull_request.author),
            commit(view.plan.head),
            time(view.reviewed),
        )
        for view in snapshot.pull_requests
    ]
    headers = ("Pull request", "Plan", "Summary", "Author", "Commit", "Reviewed")
    return table("Pull requests", headers, rows) if rows else empty("No pull request is open.")


def body(view: PullRequestView, approvals: Sequence[Approval]) -> Iterator[str]:
    """The page of one pull request."""
    one, plan = view.pull_request, view.plan
    crumbs = '<a href="/">Overview</a> / <a href="/pull-requests">Pull requests</a>'
    yield f'<p class="crumbs">{crumbs}</p><h1>#{one.number} {shown(one.title)}</h1>'
    pairs = [
        ("Plan", _state(view.state)),
        ("Summary", prose(view.summary)),
        ("Author", shown(one.author)),
        ("Target branch", code(one.target)),
        ("Commit", commit(plan.head)),
        ("Digest", code(plan.digest) if plan.digest is not None else NONE),
        ("Reviewed", time(view.reviewed)),
        ("On the forge", _external(one.url)),
    ]
    yield f'<div id="facts" data-live>{facts(pairs)}{"".join(_notes(view))}</div>'
    whole = plan_text.coloured_of_pull_request(plan) if plan.plans else empty("There is no plan.")
    yield section("plan", "What merging would do", whole, _links(view) if plan.plans else "")
    yield section("problems", "Problems of the documents", problem_table([(None, each) for each in plan.diagnostics]))
    yield section("approvals", "Approvals", _approvals(approvals))


def _notes(view: PullRequestView) -> Iterator[str]:
    """What else a reviewer must know."""
    for cluster, reason in view.plan.unread.items():
        text = mask(reason, view.plan.secrets)
        yield f'<p class="message">Cluster {shown(cluster)} could not be planned: {prose(text)}</p>'
    for other in view.plan.others:
        names = shown(", ".join(other.connectors))
        yield f'<p class="message">{_external(other.url, f"#{other.number}")} also changes offsets of {names}.</p>'


def _links(view: PullRequestView) -> str:
    path = "/".join(_path(view))
    return f'<a href="/{path}/plan.txt">Text</a> <a href="/api/v1/{path}/plan">JSON</a>'


def _path(view: PullRequestView) -> tuple[str, str]:
    return "pull-requests", str(view.pull_request.number)


def _state(state: CommitState) -> str:
    return mark(state.value, *_STATES[state])


def _external(url: str, text: str = "") -> str:
    """A link to another site; only the text if the URL is not one of the web."""
    said = shown(text or url)
    return f'<a href="{shown(url)}" rel="noopener">{said}</a>' if url.startswith(("https://", "http://")) else said


def _approvals(approvals: Sequence[Approval]) -> str:
    rows = [(code(one.digest), shown(one.who), time(one.at), shown(one.place)) for one in approvals]
    headers = ("Digest", "Who", "When", "Where")
    return table("Approvals", headers, rows) if rows else empty("Nobody has approved a plan in a comment.")
