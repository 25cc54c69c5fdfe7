"""Parts of several pages: states with their icons, times, links, tables and sections."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote

from gitops_connect.model.conditions import ConditionStatus
from gitops_connect.model.names import Revision
from gitops_connect.model.operations import OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import OperationStatus
from gitops_connect.model.revisions import short
from gitops_connect.model.status import Health, Sync
from gitops_connect.report.page import shown
from gitops_connect.report.printable import escaped
from gitops_connect.server.pages.layout import icon

State = Sync | Health | Result | OperationState | OperationStatus | ConditionStatus

_LOOKS: dict[State, tuple[str, str]] = {
    Sync.SYNCED: ("good", "ok"),
    Sync.OUT_OF_SYNC: ("warning", "sync"),
    Sync.UNKNOWN: ("warning", "what"),
    Sync.UNMANAGED: ("soft", "none"),
    Health.HEALTHY: ("good", "ok"),
    Health.PROGRESSING: ("note", "wait"),
    Health.DEGRADED: ("error", "bad"),
    Health.SUSPENDED: ("soft", "pause"),
    Health.MISSING: ("warning", "none"),
    Health.UNKNOWN: ("warning", "what"),
    Result.APPLIED: ("good", "ok"),
    Result.FAILED: ("error", "bad"),
    Result.SKIPPED: ("warning", "pause"),
    OperationState.INTENDED: ("note", "wait"),
    OperationState.OPEN: ("note", "wait"),
    OperationState.SETTLED: ("good", "ok"),
    OperationState.FAILED: ("error", "bad"),
    OperationState.UNKNOWN: ("warning", "what"),
    OperationState.RELEASED: ("soft", "none"),
    OperationStatus.PLANNED: ("note", "wait"),
    OperationStatus.UNFINISHED: ("note", "wait"),
    OperationStatus.WAITING: ("warning", "warn"),
    OperationStatus.UNKNOWN: ("warning", "what"),
    OperationStatus.APPLIED: ("good", "ok"),
    OperationStatus.IDLE: ("soft", "none"),
    ConditionStatus.TRUE: ("good", "ok"),
    ConditionStatus.FALSE: ("error", "bad"),
    ConditionStatus.UNKNOWN: ("warning", "what"),
}
"""The class and the icon of each state. The text is always shown, because colours alone say nothing to many people."""
NONE = "&ndash;"
"""The markup for a value that does not exist."""
_LONGEST = 4000
"""Characters of a message."""
_WORDS: dict[State, str] = {Sync.OUT_OF_SYNC: "Out of sync"}


def badge(state: State) -> str:
    """A state with its icon."""
    look, sign = _LOOKS[state]
    return mark(words(state), look, sign)


def words(state: State) -> str:
    """The state as people read it."""
    return _WORDS.get(state) or str(state.value).replace("_", " ")


def mark(text: str, look: str, sign: str) -> str:
    """A text with an icon in a colour."""
    return f'<span class="badge {look}">{icon(sign)}{shown(text)}</span>'


def time(when: datetime | None, otherwise: str = NONE) -> str:
    """A time in UTC, which the script replaces with its age."""
    if when is None:
        return otherwise
    return f'<time datetime="{when:%Y-%m-%dT%H:%M:%SZ}">{when:%Y-%m-%d %H:%M:%S} UTC</time>'


def commit(revision: Revision | None) -> str:
    """A commit in its short form."""
    if revision is None:
        return NONE
    return f'<code class="commit" title="{shown(revision)}">{shown(short(revision))}</code>'


def link(text: str, *path: str) -> str:
    """A link to a path, each part of which is quoted."""
    return f'<a href="{href(*path)}">{shown(text)}</a>'


def href(*path: str) -> str:
    """The path of its parts, for an attribute."""
    return "/" + "/".join(quote(part, safe="", errors="replace") for part in path)


def cluster_link(cluster: str) -> str:
    """A link to the page of a cluster."""
    return link(cluster, "clusters", cluster)


def connector_link(cluster: str, connector: str) -> str:
    """A link to the page of a connector."""
    return link(connector, "clusters", cluster, "connectors", connector)


def change_link(cluster: str, name: str) -> str:
    """A link to the page of an offset change."""
    quoted = quote(name, safe="/", errors="replace")
    return f'<a href="{href("clusters", cluster, "operations")}/{quoted}">{shown(name)}</a>'


def section(name: str, title: str, content: str, aside: str = "") -> str:
    """A part of a page with a heading. The script replaces it when its content has changed."""
    head = f'<div class="head"><h2 id="{name}-title">{shown(title)}</h2>{aside}</div>'
    return f'<section id="{name}" data-live aria-labelledby="{name}-title">{head}{content}</section>\n'


def banner(look: str, sign: str, content: str) -> str:
    """A message above everything else; the content is markup."""
    return f'<div class="banner {look}">{icon(sign)}<div>{content}</div></div>'


def empty(text: str) -> str:
    """The text of a list without entries."""
    return f'<p class="empty">{shown(text)}</p>'


def table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], *, keys: Sequence[str] = ()) -> str:
    """A table of cells with markup; on a phone, each row is a card. `keys` identify the rows for the script."""
    head = "".join(f'<th scope="col">{shown(name)}</th>' for name in headers)
    names = [shown(name) for name in headers]
    body = "".join(_row(row, names, keys[index] if keys else "") for index, row in enumerate(rows))
    return (
        f'<div class="sheet" role="region" tabindex="0" aria-label="{shown(caption)}"><table class="cards">'
        f'<caption class="silent">{shown(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _row(cells: Sequence[str], names: Sequence[str], key: str) -> str:
    first, *others = zip(cells, names, strict=True)
    rest = "".join(f'<td data-name="{name}">{cell}</td>' for cell, name in others)
    name = f' id="{shown(key)}"' if key else ""
    return f'<tr{name}><th scope="row">{first[0]}</th>{rest}</tr>\n'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with their values, which are markup."""
    return '<dl class="list">' + "".join(f"<div><dt>{shown(n)}</dt><dd>{v}</dd></div>" for n, v in pairs) + "</dl>"


def prose(text: str) -> str:
    """A message of several lines from outside, without control characters."""
    return "<br>".join(html.escape(escaped(line)) for line in text[:_LONGEST].splitlines())
