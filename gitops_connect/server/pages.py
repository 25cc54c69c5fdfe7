"""The pages of the server: the templates in `templates/`, with the filters and names that all of them know.

Every value from outside is escaped (`report.page`). `page_values.py` has the values that the pages show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from gitops_connect import __version__
from gitops_connect.daemon.state import RepositoryView, Snapshot
from gitops_connect.forge.web_links import WebLinks
from gitops_connect.model.history_filter import ACTIONS
from gitops_connect.model.masking import mask
from gitops_connect.model.outcomes import ActorKind, Result
from gitops_connect.model.plans import Plan
from gitops_connect.model.pull_requests import PullRequestPlan
from gitops_connect.model.revisions import short
from gitops_connect.model.units import duration
from gitops_connect.report.offset_lines import counts, distance_words, offset_words, partition_words
from gitops_connect.report.page import THEME, own_templates, templates, whole
from gitops_connect.report.printable import COLOUR, escaped
from gitops_connect.report.receipt import effect_approval_words
from gitops_connect.report.step_history import actor_name, approval_words
from gitops_connect.report.text import Colour, TextReport
from gitops_connect.report.words import values
from gitops_connect.server.fleet import GROUPS, Index
from gitops_connect.server.page_values import Values, look_of, verdict_words

MOST_LINES = 1500
"""Lines of a plan on a page. The whole plan is at `/clusters/X/plan.txt`."""
_CLASSES = {one.value: f"t-{one.name.lower()}" for one in Colour if one is not Colour.NONE}
_LONGEST_CAUSE = 200
"""Characters of a cause in a list; the page of the connector has all of it."""
_MOST_KEPT = 5000
"""Results of macros, such as rows, which take 1 kB each."""
_NOTHING = Snapshot(0, RepositoryView(), {})


def render(template: str, title: str, snapshot: Snapshot, index: Index, **values: object) -> str:
    """A whole page. The navigation marks the page at `path`, if it is among the values."""
    attention, total = index.attention, index.total
    noun = "connector needs" if attention == 1 else "connectors need"
    of_clusters = (one for view in snapshot.clusters.values() for one in view.diagnostics.errors)
    known = {
        "title": title,
        "path": "",
        "snapshot": snapshot,
        "oldest": snapshot.number,
        "links": WebLinks(),
        "theme": "",
        "opened": frozenset(),
        "now": datetime.now(UTC),
        "summary": f"{attention:,} {noun} attention, of {total:,}",
        "attention": attention,
        "total": total,
        "errors": len({*snapshot.repository.diagnostics.errors, *of_clusters}),
    }
    return _environment().get_template(template).render(known | values)


def error_page(title: str, detail: str) -> str:
    return render("error.html", title, _NOTHING, Index({}), summary="", detail=detail)


@cache
def static_file(name: str) -> bytes:
    """The content of a file in `static`; the stylesheet begins with the theme that all pages share."""
    content = files("gitops_connect.server").joinpath("static", name).read_text(encoding="utf-8")
    theme = own_templates().get_template(THEME).render() if name == "style.css" else ""
    return f"{theme}{content}".encode()


@cache
def static_url(name: str) -> str:
    """The URL of a static file; it changes with its content, so that browsers may keep the file."""
    return f"/static/{name}?v={hashlib.sha256(static_file(name)).hexdigest()[:12]}"


def url(*path: str) -> Markup:
    """The path of a page from its parts."""
    return _path("/" + "/".join(quote(part, safe="", errors="replace") for part in path))


@cache
def _environment() -> Environment:
    environment = templates(
        "gitops_connect.server",
        {
            "badge": lambda state: _kept("parts.html", "mark", *look_of(state)),
            "actor": actor_name,
            "age": lambda age: duration(round(age.total_seconds()) * 1000),
            "approval": approval_words,
            "before_and_after": values,
            "clamp": lambda text: text if len(text) <= _LONGEST_CAUSE else f"{text[:_LONGEST_CAUSE]}…",
            "effect_approval": effect_approval_words,
            "counts": counts,
            "comma_separated": ", ".join,
            "distance_words": distance_words,
            "connector_row": lambda one, columns: _kept("connectors.html", "connector_row", one, columns),
            "simple_class": lambda name: name.rpartition(".")[2],
            "lines": lambda text: Markup("\n").join(whole(escaped(line)) for line in text.splitlines()),
            "label_words": lambda labels: ", ".join(f"{name}={value}" for name, value in labels),
            "iso": lambda when: f"{when:%Y-%m-%dT%H:%M:%SZ}",
            "offset_words": offset_words,
            "partition_words": partition_words,
            "short": short,
            "url_path": lambda path: _path(quote(path, errors="replace")),
        },
    )
    environment.globals |= {
        "actions": list(ACTIONS),
        "actors": [one.value for one in ActorKind],
        "results": [one.value for one in Result],
        "static_url": static_url,
        "url": url,
        "version": __version__,
        "groups": GROUPS,
        "verdict_words": verdict_words,
    }
    return environment


@lru_cache(_MOST_KEPT)
def _kept(template: str, macro: str, *arguments: object) -> Markup:
    """What a macro renders. A list has thousands of states, of which few differ, and most rows stay what they are."""
    render: Callable[..., Markup] = getattr(_environment().get_template(template).module, macro)
    return render(*arguments)


def _path(quoted: str) -> Markup:
    """A quoted path is not cut, however long it is. Nothing in it is markup any more."""
    return Markup(quoted)  # noqa: S704 - only letters, digits, `%` and `-._~/`


def plan_text(plan: Plan | PullRequestPlan, *, coloured: bool = False, own: bool = False) -> str:
    """The whole plan as the terminal shows it, without secrets. Empty if a pull request has none.

    `own`: without what the target branch changes anyway.
    """
    report = TextReport(coloured=coloured)
    if isinstance(plan, Plan):
        return report.plans([plan])
    if not plan.plans:
        return ""
    plans = plan.own_plans if own else plan.plans
    return mask(report.plans(plans, len(plan.diagnostics.errors)), plan.secrets)


def coloured_plan(plan: Plan | PullRequestPlan) -> Values:
    """The first lines of a plan: texts, each with the class of its colour. `more` lines are left out.

    `TextReport` escapes control characters of values, so that every sequence is its own.
    """
    lines = plan_text(plan, coloured=True, own=True).splitlines()
    texts = COLOUR.split("\n".join(lines[:MOST_LINES]))
    styles = ["", *(_CLASSES.get(sequence, "") for sequence in texts[1::2])]
    parts = [(style, text) for style, text in zip(styles, texts[::2], strict=True) if text]
    return {"parts": parts, "more": max(0, len(lines) - MOST_LINES)}
