"""The frame of a page for a browser: one file, in a light and a dark theme, without scripts and external resources.

All values on the page are escaped by `shown`, because the text of a manifest is not trusted.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from gitops_connect.report.printable import escaped, shortened
from gitops_connect.report.theme import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def shown(text: str) -> str:
    """Text that is safe between tags and in attributes: without markup and changes of the writing direction."""
    return html.escape(shortened(escaped(text)))


def code(text: str) -> str:
    """Escaped text in a monospaced font."""
    return f"<code>{shown(text)}</code>"


def frame(title: str, body: Iterable[str]) -> str:
    """The whole page; the title is escaped, and the body is markup."""
    head = (
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown(title)}</title>\n<style>{STYLE}</style>"
    )
    parts = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{parts}\n</body>\n</html>\n'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with their values, each in a box; both are escaped."""
    boxes = "".join(f"<div><dt>{shown(name)}</dt><dd>{shown(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{boxes}</dl>'


def table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of cells with markup under escaped headers. `numbers` are the columns that are aligned to the right."""
    classes = ['class="number"' if column in numbers else "" for column in range(len(headers))]
    head = "".join(f'<th scope="col" {css}>{shown(name)}</th>' for name, css in zip(headers, classes, strict=True))
    lines = (
        "<tr>" + "".join(f"<td {css}>{cell}</td>" for cell, css in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    label = shown(caption)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{label}"><table>\n<caption>{label}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
    ).replace(" >", ">")
