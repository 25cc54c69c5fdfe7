"""The lines of a plan in a fence that the forges colour as a diff, for every report in Markdown.

Inside such a fence the forges colour only lines that start with `+`, `-` or `!`, so the other symbols become `!`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gitops_connect.model.plans import ConnectorPlan, Plan
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import Line
from gitops_connect.report.sentence import Sentence

_MEANINGS = {"+": "create", "-": "delete", "!": "any other change"}


def legend(used: Collection[str]) -> Iterator[Sentence]:
    """The symbols that occur in the fences; nothing if there are none."""
    found = {_coloured(symbol) for symbol in used}
    known = [symbol for symbol in _MEANINGS if symbol in found]
    if known:
        words_of_all = ", ".join(f"{{}} {_MEANINGS[symbol]}" for symbol in known)
        yield Sentence.of(f"Symbols: {words_of_all}", *known)


def connector_lines(connector: ConnectorPlan, moves: int | None) -> Iterator[str]:
    """The steps and notes of one connector. `moves`: so many partitions of each offset change are shown; None: all."""
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


def stray_lines(plan: Plan, moves: int | None) -> tuple[Sentence, list[str]] | None:
    """The offset changes whose connector is not declared, with their title; None if there are none."""
    lines = list(offset_lines.stray_lines(plan, moves))
    return (Sentence(lines[0].text.rstrip(":")), [_line(line, "") for line in lines[1:]]) if lines else None


def _line(line: Line, indent: str) -> str:
    """The symbol is the first character of the line, so that it colours the line."""
    return f"{_coloured(line.mark or ' ')} {indent}{'    ' if line.inner else ''}{line.text}"


def _coloured(symbol: str) -> str:
    return symbol if symbol in "+-" else " " if symbol in "=& " else "!"
