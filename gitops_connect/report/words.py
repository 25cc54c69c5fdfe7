"""The words that all reports of a plan share."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gitops_connect.model.credentials import MASK
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Step
from gitops_connect.report.printable import LONGEST, escaped, one_line

CHANGE_OFFSETS = (Action.ALTER, Action.RESET, Action.RECORD)
_SYMBOLS = {
    "create": Action.CREATE.symbol,
    "change": Action.CONFIGURE.symbol,
    "delete": Action.DELETE.symbol,
    "keep": Action.RECORD.symbol,
}


def kind(connector: ConnectorPlan) -> str:
    """`create`, `change`, `delete`, or `keep` if the connector does not change: the effect on it as a whole."""
    actions = {step.action for step in connector.steps}
    if actions <= {Action.ADOPT, Action.LIST, Action.RECORD}:
        return "keep"
    if Action.CREATE in actions:
        return "create"
    return "delete" if Action.DELETE in actions else "change"


def symbol(connector: ConnectorPlan) -> str:
    """The symbol of the connector as a whole: that of its only step, or of the effect of all steps."""
    if len(connector.steps) == 1:
        return connector.steps[0].action.symbol
    return _SYMBOLS[kind(connector)] if connector.steps else "="


def action(step: Step) -> str:
    """The action, with the state that a create requests."""
    return f"{step.action.value} ({step.initial_state.value})" if step.initial_state else step.action.value


def is_warned_of(outcome: StepOutcome) -> bool:
    """Whether a step took effect with a warning from Connect or from the cluster."""
    return outcome.result is Result.APPLIED and bool(outcome.message)


def sending_words(sending: SendingProgress) -> str:
    """How many offsets of a large change are sent, the rate, and the remaining time."""
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
    """The effects of a step on offsets that it does not change, with a hint for each, one line each."""
    for effect in step.offset_effects:
        yield f"offsets: {effect.message}"
        if effect.hint:
            yield f"  hint: {effect.hint}"


def change_symbol(change: Change) -> str:
    """`+`, `-` or `~`."""
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def quote(value: str | None) -> str:
    """A value as JSON on one line; if it is very long, its end is replaced by its length."""
    text = escaped(json.dumps(value or "", ensure_ascii=False))
    if len(text) <= LONGEST:
        return text
    return f'{text[:LONGEST]}…" ({len(value or "")} characters)'


def suspended_lines(connector: ConnectorPlan) -> Iterator[str]:
    """One line if the connector is suspended: by whom or what, and what that prevents."""
    if connector.suspension is None:
        return
    said = one_line(connector.suspension.words)
    if not connector.steps:
        yield said
    elif connector.applicable:
        yield f"{said}; it is stopped for an offset change, and first returns to its state"
    else:
        yield f"{said}; {plural(len(connector.steps), 'step')} would be made"


def unreviewed_lines(connector: ConnectorPlan) -> Iterator[str]:
    """One line if the connector is blocked because nobody has reviewed its change."""
    if connector.unreviewed is not None and connector.steps:
        yield f"blocked: not reviewed ({one_line(', '.join(connector.unreviewed.planned))})"


def plural(count: int, noun: str) -> str:
    """`1 step`, `2,000 steps`."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"
