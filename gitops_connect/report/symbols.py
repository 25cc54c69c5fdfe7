"""The symbols of a plan. Each has one meaning, which the legend above the plan explains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.report import offset_lines, words

MEANINGS = {
    "&": "adopt",
    "+": "create",
    "~": "change in place",
    "-": "delete",
    "#": "stop",
    "|": "pause",
    "^": "resume",
    "!": "restart",
    "<": "rewind",
    ">": "skip",
    "?": "direction unknown",
    "=": "no change",
}
"""What happens to a connector, a config key, or the offset of a partition."""


def used(plans: Sequence[Plan], moves: int | None) -> frozenset[str]:
    """The symbols of all lines of these plans. `moves`: so many moves of each offset change are shown."""
    return frozenset(symbol for plan in plans for symbol in _of_plan(plan, moves))


def legend(symbols: Collection[str]) -> str:
    """One line, as in `Symbols: + create  - delete`; empty if there are no symbols."""
    known = [f"{symbol} {meaning}" for symbol, meaning in MEANINGS.items() if symbol in symbols]
    return f"Symbols: {'  '.join(known)}" if known else ""


def _of_plan(plan: Plan, moves: int | None) -> Iterator[str]:
    for connector in plan.connectors:
        yield words.symbol(connector)
        yield from _of_steps(connector)
    for operation in plan.operations:
        if operation.difference is not None:
            yield from (
                offset_lines.SYMBOLS[one.direction] for one in offset_lines.shown_moves(operation.difference, moves)
            )
    if offset_lines.waiting(plan):
        yield offset_lines.BLOCKED


def _of_steps(connector: ConnectorPlan) -> Iterator[str]:
    for step in connector.steps:
        yield step.action.symbol
        if step.action is not Action.CREATE:
            yield from (words.change_symbol(change) for change in step.changes)
