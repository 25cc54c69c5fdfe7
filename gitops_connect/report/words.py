"""The words and numbers that every rendering of a plan shares, so that no two of them count differently."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitops_connect.model.masking import MASK
from gitops_connect.model.names import Revision
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Plan, Step
from gitops_connect.report import offsets
from gitops_connect.report.health import unhealthy_sentence
from gitops_connect.report.printable import LONGEST, escaped

CHANGE_OFFSETS = (Action.ALTER, Action.RESET, Action.RECORD)
NO_CHANGES = "No changes. Your connectors match the configuration."
NOT_PLANNED = "No plan could be made."
NO_CHANGES_YET = "Nothing can be done now: what has errors or could not be read is left as it is."


def summarise(plans: Iterable[Plan]) -> dict[str, int]:
    """How many connectors are created, changed and deleted, in how many steps; how many offset changes; how many
    connectors are unhealthy.
    """
    counts = {"create": 0, "change": 0, "delete": 0, "steps": 0, "offset_changes": 0, "offset_changes_waiting": 0}
    counts["unhealthy"] = 0
    for plan in plans:
        counts["unhealthy"] += len(plan.unhealthy)
        counts["offset_changes"] += len(offsets.to_apply(plan))
        counts["offset_changes_waiting"] += len(offsets.waiting(plan))
        for connector in plan.connectors:
            if connector.applicable and connector.steps:
                counts["steps"] += len(connector.steps)
                if (what := kind(connector)) in counts:
                    counts[what] += 1
    return counts


def summary_line(plans: Sequence[Plan]) -> str:
    """Terraform's last line; offset changes and unhealthy connectors are counted if there are any."""
    if not plans:
        return NOT_PLANNED
    counts = summarise(plans)
    return " ".join(part for part in (_changes(plans, counts), unhealthy_sentence(counts["unhealthy"])) if part)


def _changes(plans: Sequence[Plan], counts: Mapping[str, int]) -> str:
    changes = _offset_changes(counts["offset_changes"], counts["offset_changes_waiting"])
    if all(plan.is_empty for plan in plans):
        if all(plan.complete for plan in plans):
            return f"Nothing can be done now.{changes}" if changes else NO_CHANGES
        return NO_CHANGES_YET + changes
    total = f"{counts['create']} to create, {counts['change']} to change, {counts['delete']} to delete"
    return f"Plan: {total}.{changes}"


def _offset_changes(due: int, waiting: int) -> str:
    parts = [f"{due} to apply"] if due else []
    parts += [f"{waiting} waiting"] if waiting else []
    return f" Offset changes: {', '.join(parts)}." if parts else ""


def kind(connector: ConnectorPlan) -> str:
    """`create`, `change`, `delete`, or `keep` if only the ledger changes: what becomes of the connector as a whole."""
    actions = {step.action for step in connector.steps}
    if actions == {Action.RECORD}:
        return "keep"
    if Action.CREATE in actions:
        return "create"
    return "delete" if Action.DELETE in actions else "change"


def symbol(connector: ConnectorPlan) -> str:
    """The character for the connector as a whole: of its only step, or that of a change."""
    if not connector.steps:
        return "="
    if kind(connector) == "change" and len(connector.steps) > 1:
        return Action.CONFIGURE.symbol
    return connector.steps[0].action.symbol


def action(step: Step) -> str:
    """The action, with the state that a create asks for."""
    return f"{step.action.value} ({step.initial_state.value})" if step.initial_state else step.action.value


def is_warned_of(outcome: StepOutcome) -> bool:
    """Whether a step took effect and yet is no plain success: Connect, or the cluster, had something to say."""
    return outcome.result is Result.APPLIED and bool(outcome.message)


def sending_words(sending: SendingProgress) -> str:
    """How far the offsets of a large change are sent, how quickly, and how long the rest of them takes."""
    done = f"{sending.operation}: {sending.done:,} of {sending.entries:,} offsets sent"
    if sending.rate is None or sending.remaining is None:
        return done
    return f"{done}, {sending.rate:,.0f} a second, {sending.remaining:,.0f} s left"


def short(revision: Revision) -> str:
    """A commit as people quote it."""
    return revision.removeprefix("worktree-")[:7] if not revision.startswith("worktree-") else "working tree"


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
