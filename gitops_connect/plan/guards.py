"""Limits that refuse a whole plan: made after every plan and before the first effect."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase

from gitops_connect.errors import UnsafePlan
from gitops_connect.model.plans import Action, Plan
from gitops_connect.plan.situation import Situation


def enforce(plan: Plan, situation: Situation) -> None:
    """Raise UnsafePlan, with every refusal and the way out of each, or return."""
    refusals = [*_protected(plan, situation), *_too_many(plan, situation)]
    if refusals:
        raise UnsafePlan(f"cluster {plan.cluster}: the plan is refused\n" + "\n".join(f"  {line}" for line in refusals))


def _deletions(plan: Plan) -> list[str]:
    return [step.connector for step in plan.steps if step.action is Action.DELETE]


def _protected(plan: Plan, situation: Situation) -> list[str]:
    return [
        f"ProtectedConnector: {name} would be deleted, and [clusters.{plan.cluster}] protected has {pattern!r};"
        " declare it again, or take the pattern out"
        for name in _deletions(plan)
        for pattern in situation.policy.protected
        if fnmatchcase(name, pattern)
    ]


def _too_many(plan: Plan, situation: Situation) -> list[str]:
    ours = len(situation.ownership.keys() & situation.observed.connectors.keys())
    allowed = max(1, math.floor(ours * situation.policy.max_deletions))
    count = len(_deletions(plan))
    if count <= allowed:
        return []
    limit = f"[clusters.{plan.cluster}] max_deletions = {situation.policy.max_deletions:g}"
    return [f"TooManyDeletions: {count} of our {ours} would be deleted, {allowed} may be ({limit}); raise it if meant"]
