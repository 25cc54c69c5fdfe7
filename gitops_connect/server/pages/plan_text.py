"""A plan as the terminal shows it, with its colours as classes."""

from __future__ import annotations

import html
import re

from gitops_connect.model.plans import Plan
from gitops_connect.report.text import Colour, TextReport

MOST_LINES = 1500
"""Lines of a plan on a page. The whole plan is at `/clusters/X/plan.txt`."""
_CLASSES = {one.value: f"t-{one.name.lower()}" for one in Colour if one is not Colour.NONE}
_SEQUENCE = re.compile("\x1b\\[[0-9;]*m")


def plain(plan: Plan) -> str:
    """The whole plan as text."""
    return TextReport(coloured=False).plans([plan])


def coloured(plan: Plan) -> str:
    """The plan as markup. `TextReport` escapes control characters of values, so that every sequence is its own."""
    lines = TextReport(coloured=True).plans([plan]).splitlines()
    text = "\n".join(lines[:MOST_LINES])
    markup = _SEQUENCE.sub(_tag, html.escape(text))
    more = f"\n… {len(lines) - MOST_LINES:,} more lines" if len(lines) > MOST_LINES else ""
    return f'<pre class="terminal" tabindex="0" role="region" aria-label="Plan">{markup}{more}</pre>'


def _tag(found: re.Match[str]) -> str:
    style = _CLASSES.get(found[0])
    return f'<span class="{style}">' if style else "</span>"
