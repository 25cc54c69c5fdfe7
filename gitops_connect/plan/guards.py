"""Limits that refuse a whole plan: looked at after every plan is made, and before the first effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gitops_connect.errors import UnsafePlan
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.plan.situation import Situation


def enforce(plan: Plan) -> None:
    """Raise UnsafePlan with every refusal and the way out of each, or return."""
    if plan.refusals:
        lines = "\n".join(f"  {refusal}" for refusal in plan.refusals)
        raise UnsafePlan(f"cluster {plan.cluster}: the plan is refused, and nothing was done\n{lines}")


def refusals(situation: Situation, connectors: Sequence[ConnectorPlan]) -> tuple[str, ...]:
    """Why these steps may not be taken; empty where they may."""
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
        f"ProtectedConnector: {name} would be deleted, and [clusters.{situation.desired.cluster}] protected has"
        f" {pattern!r}; declare it again, or take the pattern out"
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
    figures = f"{count} of our {ours} connectors would be deleted, and {allowed} may be ({limit})"
    return [f"TooManyDeletions: {figures}; is it the right branch and folder? If it is meant, raise the limit for once"]
