"""A plan for a pull request or a job summary: the summary first, the steps in a fold, coloured by a diff fence.

Inside such a fence the forges colour only lines that start with `+`, `-` or `!`, so the other symbols become `!`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gitops_connect.model.plans import ConnectorPlan, Plan
from gitops_connect.model.revisions import is_commit, short
from gitops_connect.report import offset_lines, symbols, words
from gitops_connect.report.markdown_blocks import Markdown, bold, bullets, folded_diff, paragraph
from gitops_connect.report.offset_lines import Line
from gitops_connect.report.sentence import Sentence
from gitops_connect.report.summary import summary_line
from gitops_connect.report.text import asides

_MEANINGS = {"+": "create", "-": "delete", "!": "any other change"}


def render(plans: Sequence[Plan], moves: int | None = offset_lines.MOST_MOVES, errors: int = 0) -> str:
    """All plans, with one summary. `moves`: so many partitions of each offset change are shown; None: all.

    `errors` is the number of errors in the documents.
    """
    blocks = [bold(Sentence(summary_line(plans, errors))), *_legend(symbols.used(plans, moves))]
    for plan in plans:
        blocks.extend(_plan(plan, moves))
    return "\n".join(blocks)


def _plan(plan: Plan, moves: int | None) -> Iterator[Markdown]:
    yield paragraph(_heading(plan))
    if plan.connectors:
        body = [line for connector in plan.connectors for line in _connector(connector, moves)]
        yield folded_diff(words.plural(len(plan.steps), "step"), body)
    yield from bullets(list(asides(plan)))
    if lines := list(offset_lines.stray_lines(plan, moves)):
        yield folded_diff(lines[0].text.rstrip(":"), [_line(line, "") for line in lines[1:]])
    yield from map(paragraph, offset_lines.applied_sentence(plan.applied))


def _heading(plan: Plan) -> Sentence:
    version = str(plan.connect_version)
    if is_commit(plan.revision):
        words_of_commit = "Connect cluster {} (Kafka Connect {}) at commit {}"
        return Sentence.of(words_of_commit, plan.cluster, version, short(plan.revision))
    return Sentence.of("Connect cluster {} (Kafka Connect {}), planned from a directory", plan.cluster, version)


def _legend(used: Collection[str]) -> Iterator[Markdown]:
    """The symbols that occur in the fences."""
    found = {_coloured(symbol) for symbol in used}
    known = [symbol for symbol in _MEANINGS if symbol in found]
    if known:
        words_of_all = ", ".join(f"{{}} {_MEANINGS[symbol]}" for symbol in known)
        yield paragraph(Sentence.of(f"Symbols: {words_of_all}", *known))


def _connector(connector: ConnectorPlan, moves: int | None) -> Iterator[str]:
    drift = " (drift: changed on the cluster since the last apply)" if connector.drifted else ""
    yield f"{_coloured(words.symbol(connector))} {connector.name}{drift}"
    operations = {operation.name: operation for operation in connector.operations}
    for number, step in enumerate(connector.steps, start=1):
        yield f"{_coloured(step.action.symbol)}   {number} {words.action(step)}: {step.reason}"
        for change in step.changes:
            yield f"{_coloured(words.change_symbol(change))}       {change.key}: {words.values(change)}"
        yield from (f"!       {effect}" for effect in words.effect_lines(step))
        if step.action in words.CHANGE_OFFSETS and step.operation and step.operation.name in operations:
            for line in offset_lines.planned_lines(operations[step.operation.name], moves):
                yield _line(line, "  ")
    for operation in offset_lines.waiting_of(connector):
        for line in offset_lines.waiting_lines(operation, moves):
            yield _line(line, "  ")
    yield from (f"    {suspended}" for suspended in words.suspended_lines(connector))
    yield from (f"    note: {note}" for note in connector.notes)


def _line(line: Line, indent: str) -> str:
    """The symbol is the first character of the line, so that it colours the line."""
    return f"{_coloured(line.mark or ' ')} {indent}{'    ' if line.inner else ''}{line.text}"


def _coloured(symbol: str) -> str:
    return symbol if symbol in "+-" else " " if symbol in "= " else "!"
