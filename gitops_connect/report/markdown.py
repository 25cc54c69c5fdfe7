"""A plan for a pull request or a job summary: the summary first, the steps in a fold, coloured by a diff fence.

Inside such a fence the forges colour only lines that start with `+`, `-` or `!`, so the other symbols become `!`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import is_commit, short
from gitops_connect.report import offset_lines, words
from gitops_connect.report.markdown_blocks import Markdown, bold, bullets, folded_diff, paragraph
from gitops_connect.report.offset_lines import Line, LineKind
from gitops_connect.report.plan_view import ConnectorView, PlanView, asides, view
from gitops_connect.report.printable import Sentence
from gitops_connect.report.summary import summary_line

_MEANINGS = {"+": "create", "-": "delete", "!": "any other change"}


def render(plans: Sequence[Plan], moves: int | None = offset_lines.MOST_MOVES, errors: int = 0) -> str:
    """All plans, with one summary. `moves`: so many partitions of each offset change are shown; None: all.

    `errors` is the number of errors in the documents.
    """
    views = [view(plan, moves) for plan in plans]
    blocks = [bold(Sentence(summary_line(plans, errors))), *legend(views)]
    for one in views:
        blocks.extend(_plan(one))
    return "\n".join(blocks)


def legend(views: Sequence[PlanView]) -> Iterator[Markdown]:
    """The symbols that occur in the fences of these plans; nothing if there are none."""
    found = {_coloured(symbol) for one in views for symbol in one.symbols if symbol}
    known = [symbol for symbol in _MEANINGS if symbol in found]
    if known:
        words_of_all = ", ".join(f"{{}} {_MEANINGS[symbol]}" for symbol in known)
        yield paragraph(Sentence.of(f"Symbols: {words_of_all}", *known))


def connector_lines(connector: ConnectorView) -> Iterator[str]:
    """The steps and notes of one connector."""
    return (_line(line, "  ") for line in connector.lines)


def stray_lines(shown: PlanView) -> tuple[Sentence, list[str]] | None:
    """The offset changes whose connector is not declared, with their title; None if there are none."""
    lines = shown.strays
    return (Sentence(lines[0].text.rstrip(":")), [_line(line, "") for line in lines[1:]]) if lines else None


def _line(line: Line, indent: str) -> str:
    """The symbol is the first character of the line, so that it colours the line. `indent` is that of remarks."""
    mark = _coloured(line.mark or " ")
    match line.kind:
        case LineKind.CONNECTOR:
            return f"{mark} {line.name}{f' ({line.note})' if line.note else ''}"
        case LineKind.STEP:
            return f"{mark}   {line.number} {line.name}: {line.text}"
        case LineKind.NEW_KEY | LineKind.KEY:
            return f"{mark}       {line.name}: {line.text}"
        case LineKind.EFFECT:
            return f"!       {line.text}"
        case LineKind.REMARK:
            return f"{mark} {indent}{line.text}"
        case LineKind.DETAIL:
            return f"{mark} {indent}    {line.text}"
        case _:
            assert_never(line.kind)


def _coloured(symbol: str) -> str:
    return symbol if symbol in "+-" else " " if symbol in "=& " else "!"


def _plan(shown: PlanView) -> Iterator[Markdown]:
    plan = shown.plan
    yield paragraph(_heading(plan))
    if shown.connectors:
        body = [line for connector in shown.connectors for line in connector_lines(connector)]
        yield folded_diff(Sentence(words.plural(len(plan.steps), "step")), body)
    yield from bullets(list(asides(plan)))
    if strays := stray_lines(shown):
        yield folded_diff(*strays)
    yield from map(paragraph, offset_lines.applied_sentence(plan.applied))


def _heading(plan: Plan) -> Sentence:
    version = str(plan.connect_version)
    if is_commit(plan.revision):
        words_of_commit = "Connect cluster {} (Kafka Connect {}) at commit {}"
        return Sentence.of(words_of_commit, plan.cluster, version, short(plan.revision))
    return Sentence.of("Connect cluster {} (Kafka Connect {}), planned from a directory", plan.cluster, version)
