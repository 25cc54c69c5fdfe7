"""The words that every rendering of a plan shares."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gitops_connect.model.masking import MASK
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Step
from gitops_connect.report.printable import LONGEST, escaped

CHANGE_OFFSETS = (Action.ALTER, Action.RESET, Action.RECORD)
_SYMBOLS = {
    "create": Action.CREATE.symbol,
    "change": Action.CONFIGURE.symbol,
    "delete": Action.DELETE.symbol,
    "keep": Action.RECORD.symbol,
}


def kind(connector: ConnectorPlan) -> str:
    """`create`, `change`, `delete`, or `keep` if only the ledger changes: what becomes of the connector as a whole."""
    actions = {step.action for step in connector.steps}
    if actions == {Action.RECORD}:
        return "keep"
    if Action.CREATE in actions:
        return "create"
    return "delete" if Action.DELETE in actions else "change"


def symbol(connector: ConnectorPlan) -> str:
    """The character for the connector as a whole: of its only step, or of what becomes of the connector."""
    if len(connector.steps) == 1:
        return connector.steps[0].action.symbol
    return _SYMBOLS[kind(connector)] if connector.steps else "="


def action(step: Step) -> str:
    """The action, with the state that a create asks for."""
    return f"{step.action.value} ({step.initial_state.value})" if step.initial_state else step.action.value


def is_warned_of(outcome: StepOutcome) -> bool:
    """Whether a step took effect with a warning from Connect or from the cluster."""
    return outcome.result is Result.APPLIED and bool(outcome.message)


def sending_words(sending: SendingProgress) -> str:
    """How far the offsets of a large change are sent, how quickly, and how long the rest of them takes."""
    done = f"{sending.operation}: {sending.done:,} of {sending.entries:,} offsets sent"
    if sending.rate is None or sending.remaining is None:
        return done
    return f"{done}, {sending.rate:,.0f} per second, {sending.remaining:,.0f} s left"


def values(change: Change) -> str:
    """Before and after of one key, with their secrets masked."""
    before, after = change.shown_before, change.shown_after
    if before is None:
        return MASK if change.sensitive else quote(after)
    if after is None:
        return f"{MASK} -> (none)" if change.sensitive else f"{quote(before)} -> (none)"
    if change.sensitive:
        return f"{MASK} (before) -> {MASK} (after)"
    if before == after:
        return f"{quote(after)} (only the masked part changes)"
    return f"{quote(before)} -> {quote(after)}"


def effect_lines(step: Step) -> Iterator[str]:
    """What a step means for offsets that it does not change, and what to do, each on a line of its own."""
    for effect in step.offset_effects:
        yield f"offsets: {escaped(effect.message)}"
        if effect.hint:
            yield f"  hint: {escaped(effect.hint)}"


def change_symbol(change: Change) -> str:
    """`+`, `-` or `~`."""
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def quote(value: str | None) -> str:
    """A value on one line, as JSON writes it; the end of a very long one is left out, with its length."""
    text = escaped(json.dumps(value or "", ensure_ascii=False))
    if len(text) <= LONGEST:
        return text
    return f'{text[:LONGEST]}…" ({len(value or "")} characters)'


def plural(count: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
