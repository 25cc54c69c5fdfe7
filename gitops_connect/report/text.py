"""A plan and its outcome for a terminal or a CI log: Terraform's style, ASCII symbols, colour only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import assert_never

from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import origin
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import Line
from gitops_connect.report.plan_view import PlanView, Row, RowPart, asides, legend, view
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.summary import summary_line


class Colour(Enum):
    """ANSI sequences; `NONE` is without colour."""

    NONE = ""
    GREEN = "\x1b[32m"
    RED = "\x1b[31m"
    YELLOW = "\x1b[33m"
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"


_RESET = "\x1b[0m"
_OF_SYMBOL = {
    "+": Colour.GREEN,
    "-": Colour.RED,
    "<": Colour.RED,
    "~": Colour.YELLOW,
    "#": Colour.YELLOW,
    "|": Colour.YELLOW,
    "?": Colour.YELLOW,
}
_WIDTH = 40
_ACTION_WIDTH = len("create (stopped)")
_WIDEST = 100
"""Values are not aligned behind longer keys: all other lines would become as long as the longest key."""


class TextReport:
    """Renders plans and outcomes. The caller, who knows the terminal, decides on `coloured`.

    `moves`: so many partitions of each offset change are shown; None: all. `applied`: the offset changes that were
    applied before are listed, and not only counted.
    """

    def __init__(self, *, coloured: bool, moves: int | None = offset_lines.MOST_MOVES, applied: bool = False) -> None:
        self._coloured = coloured
        self._moves = moves
        self._applied = applied

    def plans(self, plans: Sequence[Plan], errors: int = 0) -> str:
        """The symbols, every plan, and one summary at the end. `errors` is the number of errors in the documents.

        The caller prints the diagnostics of the plans before.
        """
        views = [view(plan, self._moves, offset_lines.reasons(plan.diagnostics)) for plan in plans]
        blocks = ["\n".join(self._plan(one)) for one in views]
        if symbols := legend(views):
            blocks = [symbols, *blocks]
        return "\n\n".join([*blocks, self._paint(summary_line(plans, errors), Colour.BOLD)]) + "\n"

    def step(self, outcome: StepOutcome) -> str:
        """One line at the end of a step. Its warnings are printed once, at the end of an apply."""
        word, colour = _word(outcome.result)
        step = outcome.step
        line = f"  {step.action.symbol} {escaped(step.connector)}: {step.action.value} {self._paint(word, colour)}"
        message = one_line(outcome.message.removeprefix(f"{word}: "))
        if outcome.result is Result.APPLIED:
            line += f" after {outcome.seconds:.1f} s{', with a warning' if message else ''}"
            message = ""
        return f"{line}: {message}" if message else line

    def outcome(self, outcomes: Sequence[ReconciliationOutcome]) -> str:
        """The end of an apply: the number of steps by result, the steps not applied, and those with a warning."""
        steps = [step for outcome in outcomes for step in outcome.steps]
        count = {result: sum(step.result is result for step in steps) for result in Result}
        undone = [self.step(step) for step in steps if step.result is not Result.APPLIED]
        warned = [f"  {self._of_step(step)}: {self._warning(step)}" for step in steps if words.is_warned_of(step)]
        total = (
            f"Apply: {count[Result.APPLIED]} of {words.plural(len(steps), 'step')} applied,"
            f" {count[Result.FAILED]} failed, {count[Result.SKIPPED]} skipped"
        )
        total += f", {words.plural(len(warned), 'warning')}." if warned else "."
        blocks = [
            *(["Not applied:", *undone, ""] if undone else []),
            *(["Applied with a warning:", *warned, ""] if warned else []),
        ]
        return "\n".join([*blocks, self._paint(total, Colour.BOLD)]) + "\n"

    def offsets(self, lines: Iterable[Line]) -> str:
        """The lines of a difference that `offsets diff` and `offsets check` print."""
        return "".join(f"{line}\n" for line in self._lines(lines, "  "))

    def _warning(self, outcome: StepOutcome) -> str:
        return f"{self._paint('warning', Colour.YELLOW)}: {one_line(outcome.message)}"

    def _of_step(self, outcome: StepOutcome) -> str:
        of = outcome.step.operation
        change = f" ({escaped(of.name)})" if of is not None else ""
        return f"{escaped(outcome.step.connector)}: {outcome.step.action.value}{change}"

    def _plan(self, shown: PlanView) -> Iterator[str]:
        plan = shown.plan
        cluster = self._paint(escaped(plan.cluster), Colour.BOLD)
        yield f"connect cluster: {cluster}  (Kafka Connect {plan.connect_version})   {escaped(origin(plan.revision))}"
        if plan.connectors:
            yield ""
        for connector in shown.connectors:
            yield from self._rows(connector.rows)
        yield from self._asides(plan)
        applied = offset_lines.applied_lines(plan.applied) if self._applied else ()
        for block in (shown.strays, applied):
            if lines := list(self._lines(block, "  ")):
                yield from ("", *lines)
        if not self._applied:
            yield from (f"\n  {one.render('`{}`'.format)}" for one in offset_lines.applied_sentence(plan.applied))

    def _rows(self, rows: Iterable[Row | Line]) -> Iterator[str]:
        """The rows; the values of neighbouring config keys are aligned."""
        for _, same in groupby(rows, key=lambda row: row.part if isinstance(row, Row) else None):
            group = list(same)
            width = min(max((len(escaped(row.name)) for row in group if isinstance(row, Row)), default=0), _WIDEST) + 1
            for row in group:
                yield self._row(row, width) if isinstance(row, Row) else self._line(row, "      ")

    def _row(self, row: Row, width: int) -> str:
        mark, name, text = self._mark(row.mark), escaped(row.name), escaped(row.text)
        match row.part:
            case RowPart.CONNECTOR:
                return f"  {mark} {name:<{_WIDTH}}  {text}{f'  {row.note}' if row.note else ''}"
            case RowPart.STEP:
                return f"      {row.number} {mark} {name:<{_ACTION_WIDTH}} {self._paint(text, Colour.DIM)}"
            case RowPart.NEW_KEY:
                return f"          {f'{name}:':<{width}} {text}"
            case RowPart.KEY:
                return f"          {mark} {f'{name}:':<{width}} {text}"
            case RowPart.EFFECT:
                return f"          {self._paint(text, Colour.YELLOW)}"
            case RowPart.REMARK:
                return f"      {text}"
            case _:
                assert_never(row.part)

    def _asides(self, plan: Plan) -> Iterator[str]:
        lines = list(asides(plan))
        if lines:
            yield ""
        for line in lines:
            yield f"  {line.render(escaped)}"

    def _lines(self, lines: Iterable[Line], indent: str) -> Iterator[str]:
        return (self._line(line, indent) for line in lines)

    def _line(self, line: Line, indent: str) -> str:
        mark = f"{self._mark(line.mark)} " if line.mark else ""
        return f"{indent}{'    ' if line.inner else ''}{mark}{escaped(line.text)}"

    def _mark(self, mark: str) -> str:
        return self._paint(mark, _OF_SYMBOL.get(mark, Colour.NONE))

    def _paint(self, text: str, colour: Colour) -> str:
        return f"{colour.value}{text}{_RESET}" if self._coloured and colour is not Colour.NONE else text


def _word(result: Result) -> tuple[str, Colour]:
    match result:
        case Result.APPLIED:
            return "applied", Colour.GREEN
        case Result.FAILED:
            return "FAILED", Colour.RED
        case Result.SKIPPED:
            return "skipped", Colour.YELLOW
        case _:
            assert_never(result)
