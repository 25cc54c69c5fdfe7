"""A plan as the terminal shows it, with its colours as classes."""

from __future__ import annotations

import html
import re

from gitops_connect.model.masking import mask
from gitops_connect.model.plans import Plan
from gitops_connect.report.pull_request_plan import PullRequestPlan
from gitops_connect.report.text import Colour, TextReport

MOST_LINES = 1500
"""Lines of a plan on a page. The whole plan is at `/clusters/X/plan.txt`."""
_CLASSES = {one.value: f"t-{one.name.lower()}" for one in Colour if one is not Colour.NONE}
_SEQUENCE = re.compile("\x1b\\[[0-9;]*m")


def plain(plan: Plan) -> str:
    """The whole plan as text."""
    return TextReport(coloured=False).plans([plan])


def coloured(plan: Plan) -> str:
    """The plan as markup."""
    return _markup(TextReport(coloured=True).plans([plan]))


def of_pull_request(plan: PullRequestPlan) -> str:
    """The whole plan of a pull request as text, without secrets. Empty if there is none."""
    return _of_pull_request(plan, coloured=False)


def coloured_of_pull_request(plan: PullRequestPlan) -> str:
    """The plan of a pull request as markup, without secrets."""
    return _markup(_of_pull_request(plan, coloured=True))


def _of_pull_request(plan: PullRequestPlan, *, coloured: bool) -> str:
    if not plan.plans:
        return ""
    text = TextReport(coloured=coloured).plans(plan.plans, len(plan.diagnostics.errors))
    return mask(text, plan.secrets)


def _markup(report: str) -> str:
    """`TextReport` escapes control characters of values, so that every sequence is its own."""
    lines = report.splitlines()
    text = "\n".join(lines[:MOST_LINES])
    markup = _SEQUENCE.sub(_tag, html.escape(text))
    more = f"\n… {len(lines) - MOST_LINES:,} more lines" if len(lines) > MOST_LINES else ""
    return f'<pre class="terminal" tabindex="0" role="region" aria-label="Plan">{markup}{more}</pre>'


def _tag(found: re.Match[str]) -> str:
    style = _CLASSES.get(found[0])
    return f'<span class="{style}">' if style else "</span>"
