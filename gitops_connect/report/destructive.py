"""Which connectors of a plan lose data, read records again or skip records, in the words of the plan."""

from __future__ import annotations

from gitops_connect.model.destructive_effects import destructive_effects
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.model.reviewed_plans import DestructiveKind

WORDS = tuple(kind.value for kind in DestructiveKind)
"""The words in the order of their severity."""


def destructive_words(connector: ConnectorPlan) -> tuple[str, ...]:
    """What is destructive in the steps of a connector, the worst first; empty if nothing is, or if they only show."""
    effects = destructive_effects(connector) if connector.applicable else ()
    return tuple(dict.fromkeys(one.kind.value for one in effects))


def severity(found: tuple[str, ...]) -> int:
    """A number to sort by: the worst first, and nothing destructive last."""
    return WORDS.index(found[0]) if found else len(WORDS)
