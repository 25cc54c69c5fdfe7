"""Plans a cluster although a bug prevents the planning of some of its connectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, contained, internal_error
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Plan
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Situation


def plan_contained(situation: Situation) -> tuple[Situation, Plan]:
    """The plan, and the situation that it was made from.

    A declared connector that cannot be planned even alone is treated like one with errors in its documents whose state
    could not be read: it is neither changed nor pruned. Its bug is a diagnostic of the plan. Other bugs are raised.
    """
    try:
        return situation, plan(situation)
    except GitopsConnectError:
        raise
    except Exception:
        bugs = _bugs(situation)
        if not bugs:
            raise
    rest = _without(situation, frozenset(bugs))
    made = plan(rest)
    return rest, replace(made, diagnostics=made.diagnostics + Diagnostics.of(bugs.values()))


def _bugs(situation: Situation) -> Mapping[ConnectorName, Diagnostic]:
    """The declared connectors that cannot be planned even alone. They are found by halving."""
    names = [one.name for one in situation.desired.connectors]
    try:
        plan(situation)
    except Exception as error:  # a bug: `plan` raises nothing else
        if len(names) == 1:
            return {names[0]: internal_error(error, situation.desired.connectors[0].document.location, names[0])}
        middle = len(names) // 2
        halves = (_narrowed(situation, frozenset(half)) for half in (names[:middle], names[middle:]) if half)
        return {name: bug for half in halves for name, bug in _bugs(half).items()}
    return {}


def _narrowed(situation: Situation, names: frozenset[ConnectorName]) -> Situation:
    """The situation of these connectors alone."""
    desired, observed = situation.desired, situation.observed
    return replace(
        situation,
        desired=replace(
            desired,
            connectors=tuple(one for one in desired.connectors if one.name in names),
            operations=tuple(one for one in desired.operations if one.connector in names),
        ),
        observed=replace(
            observed, connectors={name: observed.connectors[name] for name in names & observed.connectors.keys()}
        ),
        ownership={name: situation.ownership[name] for name in names & situation.ownership.keys()},
    )


def _without(situation: Situation, names: frozenset[ConnectorName]) -> Situation:
    """The situation in which the documents and the states of these connectors could not be read."""
    desired, observed = situation.desired, situation.observed
    secrets = contained(lambda: known_secrets(situation).shared, desired.connectors[0].document.location)
    return replace(
        situation,
        desired=replace(
            desired,
            connectors=tuple(one for one in desired.connectors if one.name not in names),
            operations=tuple(one for one in desired.operations if one.connector not in names),
            listings=tuple(one for one in desired.listings if one.connector not in names),
            held=desired.held | names,
        ),
        observed=replace(
            observed,
            connectors={name: one for name, one in observed.connectors.items() if name not in names},
            unknown=observed.unknown | (names & observed.connectors.keys()),
        ),
        secrets=situation.secrets if isinstance(secrets, Diagnostic) else situation.secrets | secrets,
    )
