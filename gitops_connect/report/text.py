"""A plan and its outcome for a terminal or a CI log: Terraform's style, ASCII symbols, colour only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby

from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import origin
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import Line, LineKind
from gitops_connect.report.plan_view import PlanView, asides, exactly_once_support, legend, view
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
_WORDS = {
    Result.APPLIED: ("applied", Colour.GREEN),
    Result.UNCONFIRMED: ("not confirmed yet", Colour.YELLOW),
    Result.FAILED: ("FAILED", Colour.RED),
    Result.SKIPPED: ("skipped", Colour.YELLOW),
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
        """The symbols, every plan without its diagnostics, and a summary, which counts `errors`."""
        views = [view(plan, self._moves, offset_lines.reasons(plan.diagnostics)) for plan in plans]
        blocks = ["\n".join(self._plan(one)) for one in views]
        if symbols := legend(views):
            blocks = [symbols, *blocks]
        return "\n\n".join([*blocks, self._paint(summary_line(plans, errors), Colour.BOLD)]) + "\n"

    def step(self, outcome: StepOutcome) -> str:
        """One line at the end of a step. Its warnings are printed once, at the end of an apply."""
        word, colour = _WORDS[outcome.result]
        step = outcome.step
        line = f"  {step.action.symbol} {escaped(step.connector)}: {step.action.value} {self._paint(word, colour)}"
        message = one_line(outcome.message.removeprefix(f"{word}: "))
        if outcome.result is Result.APPLIED:
            is_warned = words.is_warned_of(outcome)
            line += f" after {outcome.seconds:.1f} s{', with a warning' if is_warned else ''}"
            message = "" if is_warned else message
        return f"{line}: {message}" if message else line

    def outcome(self, outcomes: Sequence[ReconciliationOutcome]) -> str:
        """The end of an apply: the number of steps by result, the steps not applied, and those with a warning."""
        steps = [step for outcome in outcomes for step in outcome.steps]
        count = {result: sum(step.result is result for step in steps) for result in Result}
        undone = [self.step(step) for step in steps if not step.result.is_in_place]
        open_ = [self.step(step) for step in steps if step.result is Result.UNCONFIRMED]
        warned = [self._warning(step) for step in steps if words.is_warned_of(step)]
        total = (
            f"Apply: {count[Result.APPLIED]} of {words.plural(len(steps), 'step')} applied,"
            f" {count[Result.FAILED]} failed, {count[Result.SKIPPED]} skipped"
        )
        total += f", {count[Result.UNCONFIRMED]} not confirmed yet" if open_ else ""
        total += f", {words.plural(len(warned), 'warning')}." if warned else "."
        blocks = [
            *(["Not applied:", *undone, ""] if undone else []),
            *(["Not confirmed yet (`gitops-connect status` shows whether they work):", *open_, ""] if open_ else []),
            *(["Applied with a warning:", *warned, ""] if warned else []),
        ]
        return "\n".join([*blocks, self._paint(total, Colour.BOLD)]) + "\n"

    def offsets(self, lines: Iterable[Line]) -> str:
        """The lines of a difference that `offsets diff` and `offsets check` print."""
        return "".join(f"{line}\n" for line in self._lines(lines, "  "))

    def _warning(self, outcome: StepOutcome) -> str:
        step, warning = outcome.step, self._paint("warning", Colour.YELLOW)
        change = f" ({escaped(step.offset_change.name)})" if step.offset_change is not None else ""
        return f"  {escaped(step.connector)}: {step.action.value}{change}: {warning}: {one_line(outcome.message)}"

    def _plan(self, shown: PlanView) -> Iterator[str]:
        plan = shown.plan
        cluster = self._paint(escaped(plan.cluster), Colour.BOLD)
        yield f"connect cluster: {cluster}  (Kafka Connect {plan.connect_version})   {escaped(origin(plan.revision))}"
        for line in exactly_once_support(plan):
            yield f"  {line.render(escaped)}"
        if plan.connectors:
            yield ""
        for connector in shown.connectors:
            yield from self._lines(connector.lines, "      ")
        if notes := [f"  {line.render(escaped)}" for line in asides(plan)]:
            yield from ("", *notes)
        applied = offset_lines.applied_lines(plan.applied) if self._applied else ()
        for block in (shown.strays, applied):
            if lines := list(self._lines(block, "  ")):
                yield from ("", *lines)
        if not self._applied:
            yield from (f"\n  {one.render('`{}`'.format)}" for one in offset_lines.applied_sentence(plan.applied))

    def _lines(self, lines: Iterable[Line], indent: str) -> Iterator[str]:
        """The lines; the values of neighbouring config keys are aligned. `indent` is that of remarks."""
        for _, same in groupby(lines, key=lambda line: line.kind):
            group = list(same)
            width = min(max(len(escaped(line.name)) for line in group), _WIDEST) + 1
            yield from (self._line(line, width, indent) for line in group)

    def _line(self, line: Line, width: int, indent: str) -> str:
        mark, name, text = self._mark(line.mark), escaped(line.name), escaped(line.text)
        marked = f"{mark} {text}" if mark else text
        match line.kind:
            case LineKind.CONNECTOR:
                return f"  {mark} {name:<{_WIDTH}}  {text}{f'  {line.note}' if line.note else ''}"
            case LineKind.STEP:
                return f"      {line.number} {mark} {name:<{_ACTION_WIDTH}} {self._paint(text, Colour.DIM)}"
            case LineKind.NEW_KEY | LineKind.KEY:
                symbol = f"{mark} " if line.kind is LineKind.KEY else ""
                return f"          {symbol}{f'{name}:':<{width}} {text}"
            case LineKind.EFFECT:
                return f"          {self._paint(text, Colour.YELLOW)}"
            case LineKind.REMARK:
                return f"{indent}{marked}"
            case LineKind.DETAIL:
                return f"{indent}    {marked}"

    def _mark(self, mark: str) -> str:
        return self._paint(mark, _OF_SYMBOL.get(mark, Colour.NONE))

    def _paint(self, text: str, colour: Colour) -> str:
        return f"{colour.value}{text}{_RESET}" if self._coloured and colour is not Colour.NONE else text
