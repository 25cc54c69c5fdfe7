"""Limits that reject a whole plan: checked after every plan is made, and before the first effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gitops_connect.errors import UnsafePlan
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.plan.situation import Situation


def enforce(plan: Plan) -> None:
    """Raise UnsafePlan with every refusal and its fix, or return."""
    if plan.refusals:
        lines = "\n".join(f"  {refusal}" for refusal in plan.refusals)
        raise UnsafePlan(f"cluster {plan.cluster}: the plan is rejected, and nothing was changed\n{lines}")


def refusals(situation: Situation, connectors: Sequence[ConnectorPlan]) -> tuple[str, ...]:
    """Why these steps are rejected; empty if they are allowed."""
    deleted = [
        step.connector
        for connector in connectors
        if connector.applicable
        for step in connector.steps
        if step.action is Action.DELETE
    ]
    return (*_protected(situation, deleted), *_too_many(situation, len(deleted)))


def _protected(situation: Situation, deleted: Sequence[ConnectorName]) -> list[str]:
    return [
        f"ProtectedConnector: connector {name} would be deleted, but [clusters.{situation.desired.cluster}] protected"
        f" contains {pattern!r}; declare the connector again, or remove the pattern"
        for name in deleted
        for pattern in situation.policy.protected
        if fnmatchcase(name, pattern)
    ]


def _too_many(situation: Situation, count: int) -> list[str]:
    """One deletion is always allowed, so that a small cluster can shrink."""
    ours = len(situation.ownership.keys() & situation.observed.connectors.keys())
    allowed = max(1, math.floor(ours * situation.policy.max_deletions))
    if count <= allowed:
        return []
    limit = f"[clusters.{situation.desired.cluster}] max_deletions = {situation.policy.max_deletions:g}"
    figures = f"{count} of {ours} managed connectors would be deleted, but at most {allowed} are allowed ({limit})"
    way_out = "check the branch and the directory, or raise the limit for this change"
    return [f"TooManyDeletions: {figures}; {way_out}"]
