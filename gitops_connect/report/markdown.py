"""A plan for a pull request or a job summary: the summary first, the steps in a fold, coloured by a diff fence.

Inside such a fence the forges colour only lines that start with `+`, `-` or `!`, so the other symbols become `!`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_connect.model.plans import ConnectorPlan, Plan
from gitops_connect.report import words
from gitops_connect.report.text import asides


def render(plans: Sequence[Plan]) -> str:
    """All plans, under one summary."""
    lines = [f"**{words.summary_line(plans)}**", ""]
    for plan in plans:
        lines.extend(_plan(plan))
    return "\n".join(lines).rstrip() + "\n"


def _plan(plan: Plan) -> Iterator[str]:
    version, commit = plan.connect_version, words.short(plan.revision)
    yield f"Connect cluster `{plan.cluster}` (Kafka Connect {version}) at commit `{commit}`"
    yield ""
    if plan.connectors:
        yield f"<details><summary>{words.plural(len(plan.steps), 'step')}</summary>"
        yield ""
        body = [line for connector in plan.connectors for line in _connector(connector)]
        fence = _fence(body)
        yield f"{fence}diff"
        yield from body
        yield fence
        yield ""
        yield "</details>"
        yield ""
    for line in asides(plan):
        yield f"- {_escape(line)}"
    if any(asides(plan)):
        yield ""


def _connector(connector: ConnectorPlan) -> Iterator[str]:
    drift = " (drift: changed on the cluster since it was applied)" if connector.drifted else ""
    yield f"{_coloured(words.symbol(connector))} {connector.name}{drift}"
    for number, step in enumerate(connector.steps, start=1):
        yield f"{_coloured(step.action.symbol)}   {number} {words.action(step)}: {step.reason}"
        for change in step.changes:
            yield f"{_coloured(words.change_symbol(change))}       {change.key}: {words.values(change)}"
    for note in connector.notes:
        yield f"    note: {note}"


def _coloured(symbol: str) -> str:
    return symbol if symbol in "+-" else "!" if symbol != "=" else " "


def _fence(body: Sequence[str]) -> str:
    """A fence that no value in the body can close."""
    longest = max((len(line) - len(line.lstrip("`")) for line in body), default=0)
    return "`" * max(3, longest + 1)


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("`", "\\`")
