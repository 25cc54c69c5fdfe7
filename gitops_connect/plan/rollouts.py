"""Limits how many connectors get another config at a time, and stops after failures. Nothing here has side effects."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, ConnectorPlan
from gitops_connect.plan.situation import Situation

_NAMED = 3


def limit_rollout(
    situation: Situation, planned: Sequence[ConnectorPlan], unhealthy: Collection[ConnectorName]
) -> list[ConnectorPlan]:
    """Leave out the changed configs that have to wait: for the next reconciliation, or for another commit.

    Connectors that were changed on the cluster, and connectors that are rolled back, never wait.
    """
    if not situation.policy.rollout_size and not situation.policy.rollout_max_failures:
        return list(planned)
    rolled_back = {one.name for one in situation.desired.connectors if one.rolled_back is not None}
    changed = [one.name for one in planned if _changes_config(one) and one.name not in rolled_back]
    why = dict(_waiting(situation, changed, unhealthy))
    return [
        replace(one, applicable=False, notes=(*one.notes, why[one.name])) if one.name in why else one for one in planned
    ]


def _changes_config(planned: ConnectorPlan) -> bool:
    """Whether the connector gets another config because its document changed."""
    changes = any(step.action is Action.CONFIGURE for step in planned.steps)
    return changes and planned.applicable and not planned.drifted


def _waiting(
    situation: Situation, changed: Sequence[ConnectorName], unhealthy: Collection[ConnectorName]
) -> list[tuple[ConnectorName, str]]:
    policy = situation.policy
    failed = [name for name, _ in sorted(situation.config_histories.items()) if _failed(situation, name, unhealthy)]
    if policy.rollout_max_failures and len(failed) >= policy.rollout_max_failures:
        names = ", ".join(failed[:_NAMED]) + (", …" if len(failed) > _NAMED else "")
        note = f"the rollout of this commit is stopped, because connectors failed with it: {names}; commit a fix"
        return [(name, note) for name in changed]
    if not policy.rollout_size:
        return []
    note = f"it waits for the next reconciliation: rollout_size is {policy.rollout_size}"
    return [(name, note) for name in changed[policy.rollout_size :]]


def _failed(situation: Situation, name: ConnectorName, unhealthy: Collection[ConnectorName]) -> bool:
    """Whether the connector got its config from this commit, and does not work with it."""
    history = situation.config_histories[name]
    if history.rolled_back is not None and history.rolled_back.revision == situation.revision:
        return True
    return history.trial is not None and history.trial.revision == situation.revision and name in unhealthy
