"""A plan as lines, which every report in text shows: the terminal, Markdown, comments and the pages of the server.

`text.py` and `markdown.py` decide how a line looks. So each of them shows the same steps, offset changes and notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import Line, LineKind
from gitops_connect.report.printable import Sentence, one_line
from gitops_connect.report.words import unhealthy_lines

MEANINGS = {
    "&": "adopt",
    "+": "create",
    "~": "change in place",
    "-": "delete",
    "#": "stop",
    "|": "pause",
    "^": "resume",
    "!": "restart",
    "%": "reset active topics",
    "*": "list offsets",
    "<": "rewind",
    ">": "skip",
    "?": "direction unknown",
    "=": "no change",
}
"""The symbols: what happens to a connector, a config key, or the offset of a partition. Each has one meaning."""
NOT_MERGED = (
    "not merged: no secret was read, and configs were checked against the plugins' definitions; Connect validates them"
    " after the merge"
)
_DRIFT = "drift: changed on the cluster since the last apply"


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A connector of a plan with its lines."""

    connector: ConnectorPlan
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan with the lines of its connectors, and those of offset changes whose connector is not declared."""

    plan: Plan
    connectors: tuple[ConnectorView, ...]
    strays: tuple[Line, ...]

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset(line.mark for part in (*(one.lines for one in self.connectors), self.strays) for line in part)


def view(plan: Plan, moves: int | None, printed: offset_lines.Reasons | None = None) -> PlanView:
    """The lines of a plan, with `moves` partitions of each offset change (None: all), without `printed` reasons."""
    connectors = tuple(view_connector(one, moves, printed) for one in plan.connectors)
    return PlanView(plan, connectors, tuple(offset_lines.stray_lines(plan, moves, printed)))


def view_connector(
    connector: ConnectorPlan, moves: int | None, printed: offset_lines.Reasons | None = None
) -> ConnectorView:
    return ConnectorView(connector, tuple(_lines(connector, moves, printed)))


def _lines(connector: ConnectorPlan, moves: int | None, printed: offset_lines.Reasons | None) -> Iterator[Line]:
    drift = _DRIFT if connector.drifted else ""
    yield Line(extent(connector), words.symbol(connector), LineKind.CONNECTOR, connector.name, drift)
    offset_changes = {offset_change.name: offset_change for offset_change in connector.offset_changes}
    for number, step in enumerate(connector.steps, start=1):
        yield Line(step.reason, step.action.symbol, LineKind.STEP, words.action(step), number=number)
        kind = LineKind.NEW_KEY if step.action is Action.CREATE else LineKind.KEY
        for change in step.changes:
            yield Line(words.values(change), words.change_symbol(change), kind, change.key)
        yield from (Line(effect, kind=LineKind.EFFECT) for effect in words.effect_lines(step))
        if step.action in words.CHANGE_OFFSETS and step.offset_change and step.offset_change.name in offset_changes:
            yield from offset_lines.planned_lines(offset_changes[step.offset_change.name], moves)
    for offset_change in offset_lines.waiting_of(connector):
        yield from offset_lines.waiting_lines(offset_change, moves, printed)
    yield from (Line(hold, kind=LineKind.REMARK) for hold in words.hold_lines(connector))
    yield from (Line(f"note: {note}", kind=LineKind.REMARK) for note in connector.notes)


def extent(connector: ConnectorPlan) -> str:
    """The number of steps; for a connector without steps, that of its blocked offset changes."""
    if connector.steps:
        return words.plural(len(connector.steps), "step")
    count = len(offset_lines.waiting_of(connector))
    return {0: "no steps", 1: "1 offset change blocked"}.get(count, f"{count} offset changes blocked")


def legend(views: Sequence[PlanView]) -> str:
    """One line, as in `Symbols: + create  - delete`; empty if there are no symbols."""
    symbols = frozenset[str]().union(*(one.symbols for one in views))
    known = [f"{symbol} {meaning}" for symbol, meaning in MEANINGS.items() if symbol in symbols]
    return f"Symbols: {'  '.join(known)}" if known else ""


def asides(plan: Plan) -> Iterator[Sentence]:
    """Further facts about the plan that are not steps, one line each."""
    if plan.untrusted:
        yield Sentence(NOT_MERGED)
    yield from suspended_cluster(plan)
    for warning in plan.warnings:
        yield Sentence.of("warning: {}", warning)
    for refusal in plan.refusals:
        yield Sentence.of("rejected: {}", refusal)
    yield from unhealthy_lines(plan.unhealthy)
    if plan.unmanaged:
        count = words.plural(len(plan.unmanaged), "connector")
        yield Sentence.of(f"unmanaged, left unchanged: {count} on the cluster ({{}})", plan.unmanaged)


def exactly_once_support(plan: Plan) -> Iterator[Sentence]:
    """Whether the workers support exactly-once sources, if a declared source asks for it."""
    if plan.exactly_once is not None:
        yield Sentence.of("support for exactly-once sources (exactly.once.source.support): {}", plan.exactly_once.value)


def suspended_cluster(plan: Plan) -> Iterator[Sentence]:
    """By whom or what the whole cluster is suspended; nothing if it is not."""
    if plan.suspension is not None:
        yield Sentence.of("the cluster is suspended {}", one_line(plan.suspension.origin))
