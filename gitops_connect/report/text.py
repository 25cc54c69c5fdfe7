"""A plan and its outcome for a terminal or a CI log: Terraform's style, ASCII symbols, colour only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import assert_never

from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Plan, Step
from gitops_connect.model.revisions import origin
from gitops_connect.report import offset_lines, symbols, words
from gitops_connect.report.health_lines import unhealthy_lines
from gitops_connect.report.offset_lines import Line
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.sentence import Sentence
from gitops_connect.report.summary import summary_line


class Colour(Enum):
    """ANSI sequences; `NONE` is without colour."""

    NONE = ""
    GREEN = "\x1b[32m"
    RED = "\x1b[31m"
    YELLOW = "\x1b[33m"
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"


NOT_MERGED = (
    "not merged: no secret was read, and configs were checked against the plugins' definitions; Connect validates them"
    " after the merge"
)
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
        blocks = ["\n".join(self._plan(plan)) for plan in plans]
        if legend := symbols.legend(symbols.used(plans, self._moves)):
            blocks = [legend, *blocks]
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

    def _plan(self, plan: Plan) -> Iterator[str]:
        cluster = self._paint(escaped(plan.cluster), Colour.BOLD)
        yield f"connect cluster: {cluster}  (Kafka Connect {plan.connect_version})   {escaped(origin(plan.revision))}"
        if plan.connectors:
            yield ""
        printed = offset_lines.reasons(plan.diagnostics)
        for connector in plan.connectors:
            yield from self._connector(connector, printed)
        yield from self._asides(plan)
        applied = offset_lines.applied_lines(plan.applied) if self._applied else ()
        for block in (offset_lines.stray_lines(plan, self._moves, printed), applied):
            if lines := list(self._lines(block, "  ")):
                yield from ("", *lines)
        if not self._applied:
            yield from (f"\n  {one.render('`{}`'.format)}" for one in offset_lines.applied_sentence(plan.applied))

    def _connector(self, connector: ConnectorPlan, printed: offset_lines.Reasons) -> Iterator[str]:
        mark = words.symbol(connector)
        extent = words.plural(len(connector.steps), "step") if connector.steps else offset_lines.extent(connector)
        drift = "  drift: changed on the cluster since the last apply" if connector.drifted else ""
        yield f"  {self._mark(mark)} {escaped(connector.name):<{_WIDTH}}  {extent}{drift}"
        operations = {operation.name: operation for operation in connector.operations}
        for number, step in enumerate(connector.steps, start=1):
            yield from self._step(number, step)
            if step.action in words.CHANGE_OFFSETS and step.operation and step.operation.name in operations:
                lines = offset_lines.planned_lines(operations[step.operation.name], self._moves)
                yield from self._lines(lines, "      ")
        for operation in offset_lines.waiting_of(connector):
            yield from self._lines(offset_lines.waiting_lines(operation, self._moves, printed), "      ")
        yield from (f"      {escaped(suspended)}" for suspended in words.suspended_lines(connector))
        for note in connector.notes:
            yield f"      note: {escaped(note)}"

    def _step(self, number: int, step: Step) -> Iterator[str]:
        mark, action = self._mark(step.action.symbol), words.action(step)
        yield f"      {number} {mark} {action:<{_ACTION_WIDTH}} {self._paint(escaped(step.reason), Colour.DIM)}"
        yield from self._changes(step.changes, all_new=step.action is Action.CREATE)
        for line in words.effect_lines(step):
            yield f"          {self._paint(escaped(line), Colour.YELLOW)}"

    def _changes(self, changes: Sequence[Change], *, all_new: bool) -> Iterator[str]:
        keys = [escaped(change.key) for change in changes]
        width = min(max(map(len, keys), default=0), _WIDEST) + 1
        for name, change in zip(keys, changes, strict=True):
            mark = "" if all_new else f"{self._mark(words.change_symbol(change))} "
            key = f"{name}:"
            yield f"          {mark}{key:<{width}} {words.values(change)}"

    def _asides(self, plan: Plan) -> Iterator[str]:
        lines = list(asides(plan))
        if lines:
            yield ""
        for line in lines:
            yield f"  {line.render(escaped)}"

    def _lines(self, lines: Iterable[Line], indent: str) -> Iterator[str]:
        for line in lines:
            mark = f"{self._mark(line.mark)} " if line.mark else ""
            yield f"{indent}{'    ' if line.inner else ''}{mark}{escaped(line.text)}"

    def _mark(self, mark: str) -> str:
        return self._paint(mark, _OF_SYMBOL.get(mark, Colour.NONE))

    def _paint(self, text: str, colour: Colour) -> str:
        return f"{colour.value}{text}{_RESET}" if self._coloured and colour is not Colour.NONE else text


def asides(plan: Plan) -> Iterator[Sentence]:
    """Further facts about the plan that are no steps, one line each."""
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


def suspended_cluster(plan: Plan) -> Iterator[Sentence]:
    """By whom or what the whole cluster is suspended; nothing if it is not."""
    if plan.suspension is not None:
        yield Sentence.of("the cluster is suspended {}", one_line(plan.suspension.origin))


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
