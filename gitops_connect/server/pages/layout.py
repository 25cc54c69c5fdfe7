"""The frame of every page: head, navigation, and the element that tells a screen reader what has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gitops_connect import __version__
from gitops_connect.report.page import shown
from gitops_connect.report.theme import STYLE

_STATIC = Path(__file__).parents[1] / "static"
_PAGES = (
    ("/", "Overview"),
    ("/pull-requests", "Reviews"),
    ("/offset-changes", "Offsets"),
    ("/journal", "Journal"),
    ("/problems", "Problems"),
)
_ICONS = {
    "ok": '<path d="M3 8.5l3.2 3.2L13 4.8"/>',
    "sync": '<path d="M13 6A5.3 5.3 0 0 0 3.6 5M3 10a5.3 5.3 0 0 0 9.4 1M3 2.5V6h3.5M13 13.5V10H9.5"/>',
    "bad": '<path d="M4 4l8 8M12 4l-8 8"/>',
    "warn": '<path d="M8 2.2L14.3 13.5H1.7zM8 6.5v3.2M8 11.6v.3"/>',
    "pause": '<path d="M5.5 3.5v9M10.5 3.5v9"/>',
    "wait": '<path d="M8 4.5V8l2.3 1.5"/><circle cx="8" cy="8" r="6"/>',
    "none": '<circle cx="8" cy="8" r="5.5" stroke-dasharray="2.5 2.5"/>',
    "what": '<path d="M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.8.4-1 .8-1 1.5M8 12.5v.2"/>',
    "logo": '<circle cx="3.5" cy="8" r="2"/><circle cx="12.5" cy="3.5" r="2"/><circle cx="12.5" cy="12.5" r="2"/>'
    '<path d="M5.3 7.1l5.4-2.7M5.3 8.9l5.4 2.7"/>',
}
_SPRITE = "".join(f'<symbol id="i-{name}" viewBox="0 0 16 16">{path}</symbol>' for name, path in _ICONS.items())


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `summary` is read aloud when it changes; `snapshot` is the number of the snapshot that it shows."""

    title: str
    path: str
    body: Iterable[str]
    summary: str = ""
    snapshot: int = 0
    problems: int = 0


@cache
def static_file(name: str) -> bytes:
    """The content of a file in `static`; the stylesheet begins with the theme that all pages share."""
    content = (_STATIC / name).read_text(encoding="utf-8")
    return (STYLE + content if name == "style.css" else content).encode()


@cache
def static_url(name: str) -> str:
    """The URL of a static file; it changes with its content, so that browsers may keep the file."""
    return f"/static/{name}?v={hashlib.sha256(static_file(name)).hexdigest()[:12]}"


def render(page: Page) -> str:
    """The whole page; all values except the body are escaped."""
    links = "".join(_link(path, name, page) for path, name in _PAGES)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{shown(page.title)} · gitops-connect</title>
<link rel="icon" href="{static_url("icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="{static_url("style.css")}">
<script src="{static_url("page.js")}" defer></script>
</head>
<body data-snapshot="{page.snapshot}">
<svg hidden>{_SPRITE}</svg>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div class="bar">
<a class="brand" href="/">{icon("logo")}<span>gitops-connect</span></a>
<nav aria-label="Pages">{links}</nav>
<p class="live" id="connection" hidden></p>
</div></header>
<main id="main" tabindex="-1">
{"".join(page.body)}
</main>
<p class="silent" id="announce" role="status" data-text="{shown(page.summary)}"></p>
<footer><p>gitops-connect {shown(__version__)} · <a href="/api/v1/openapi.json">API</a> · <a href="/metrics">Metrics</a>
<noscript> · Reload the page to update it.</noscript></p></footer>
</body>
</html>
"""


def _link(path: str, name: str, page: Page) -> str:
    current = ' aria-current="page"' if path == page.path else ""
    count = f' <span class="count">{page.problems:,}</span>' if path == "/problems" and page.problems else ""
    return f'<a href="{path}"{current}>{name}{count}</a>'


def icon(name: str) -> str:
    """An icon; the text next to it has the same meaning."""
    return f'<svg class="icon" aria-hidden="true"><use href="#i-{name}"/></svg>'


def error_page(title: str, detail: str) -> str:
    """A page for an error."""
    return render(Page(title, "", [f'<h1>{shown(title)}</h1><p>{shown(detail)}</p><p><a href="/">Overview</a></p>']))
