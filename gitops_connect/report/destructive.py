"""Which connectors of a plan lose data, read records again or skip records, in the words of the plan."""

from __future__ import annotations

from gitops_connect.model.differences import Direction
from gitops_connect.model.plans import Action, ConnectorPlan
from gitops_connect.report import offset_lines

_ACTIONS = (Action.DELETE, Action.RESET)
_DIRECTIONS = (Direction.REWIND, Direction.CHANGED, Direction.REMOVED, Direction.FORWARD)
WORDS = (*(one.value for one in _ACTIONS), *(one.value for one in _DIRECTIONS))
"""The words in the order of their severity."""


def destructive_words(connector: ConnectorPlan) -> tuple[str, ...]:
    """What is destructive in the steps of a connector, the worst first; empty if nothing is, or if they only show."""
    if not connector.applicable:
        return ()
    actions = {step.action for step in connector.steps}
    done = offset_lines.carried_out(connector)
    counts = [one.difference.counts for one in connector.operations if one.difference and one.name in done]
    found = {action.value for action in _ACTIONS if action in actions}
    found |= {way.value for way in _DIRECTIONS if any(one.get(way) for one in counts)}
    return tuple(word for word in WORDS if word in found)


def severity(found: tuple[str, ...]) -> int:
    """A number to sort by: the worst first, and nothing destructive last."""
    return WORDS.index(found[0]) if found else len(WORDS)
