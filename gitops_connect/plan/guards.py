"""Limits that reject a whole plan, and saved plans that are stale: checked before the first effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gitops_connect.errors import StalePlan, UnsafePlan, UsageError
from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ClusterName, Digest, Revision
from gitops_connect.model.plans import Action, ConnectorPlan, Plan
from gitops_connect.plan.situation import Situation


def enforce(plan: Plan) -> None:
    """Raise UnsafePlan with every refusal and its fix, or return."""
    if (error := unsafe(plan, "nothing was changed")) is not None:
        raise error


def unsafe(plan: Plan, effect: str = "nothing of the commit was applied") -> UnsafePlan | None:
    """The error of a plan that the guards reject; None if they allow it."""
    lines = "\n".join(f"  {refusal}" for refusal in plan.refusals)
    return UnsafePlan(f"cluster {plan.cluster}: the plan is rejected, and {effect}\n{lines}") if lines else None


def guard(refused: Sequence[str]) -> Hold:
    """The hold of every connector of a rejected plan."""
    names = ", ".join(dict.fromkeys(refusal.partition(":")[0] for refusal in refused))
    return Hold(HoldKind.GUARD, f"{names} rejects the plan", "fix what the plan names as rejected")


def refusals(situation: Situation, connectors: Sequence[ConnectorPlan]) -> tuple[str, ...]:
    """Why these steps are rejected; empty if they are allowed."""
    steps = (step for connector in connectors if connector.applicable for step in connector.steps)
    deleted = sorted(step.connector for step in steps if step.action is Action.DELETE)
    refused = [
        f"ProtectedConnector: connector {name} would be deleted, but [clusters.{situation.desired.cluster}] protected"
        f" contains {pattern!r}; declare the connector again, or remove the pattern"
        for name in deleted
        for pattern in situation.policy.protected
        if fnmatchcase(name, pattern)
    ]
    ours = len(situation.ownership.keys() & situation.observed.connectors.keys())
    allowed = max(1, math.floor(ours * situation.policy.max_deletions))  # at least one: a small cluster can shrink
    if (count := len(deleted)) > allowed:
        limit = f"[clusters.{situation.desired.cluster}] max_deletions = {situation.policy.max_deletions:g}"
        figures = f"{count} of {ours} managed connectors would be deleted, but at most {allowed} are allowed ({limit})"
        advice = "check the branch and the directory, or raise the limit for this change"
        refused.append(f"TooManyDeletions: {figures}; {advice}")
    return tuple(refused)


# A saved plan: the plan is made again, and applied only if the result is exactly the saved plan. So the file needs to
# contain no secret, and exactly the reviewed plan is applied.

_MAJOR = "1"


@dataclass(frozen=True, slots=True)
class SavedCluster:
    cluster: ClusterName
    digest: Digest
    fingerprint: Digest


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A file written by `plan --out`. `path` is the planned directory if it was not the repository."""

    revision: Revision
    path: str | None
    clusters: tuple[SavedCluster, ...]


def load_saved(text: str, name: str) -> SavedPlan:
    """Read the file `name` that `plan --out` wrote. Raises UsageError if it has other content."""
    try:
        document = parse_json(text)
        version = str(document["format_version"])
        if version.partition(".")[0] != _MAJOR:
            raise UsageError(f"{name} has plan format {version}, but this version reads {_MAJOR}.x; make a new plan")
        clusters = tuple(
            SavedCluster(ClusterName(one["cluster"]), Digest(one["digest"]), Digest(one["live_fingerprint"]))
            for one in document["clusters"]
        )
        return SavedPlan(Revision(document["commit"]), document.get("path"), clusters)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{name} is not a plan saved by `gitops-connect plan --out`") from error


def require_fresh(saved: SavedPlan, plans: Sequence[Plan]) -> None:
    """Raise StalePlan, naming what changed, unless the fresh plans equal the saved plans.

    A directory that was planned directly has no commit to compare (the saved plan itself may be stored in it). For such
    a directory, the plan is fresh if the steps and the observed state are equal.
    """
    current = {plan.cluster: plan for plan in plans}
    moved = []
    for one in saved.clusters:
        plan = current.get(one.cluster)
        if plan is None:
            moved.append(f"cluster {one.cluster} is no longer in the settings")
        elif saved.path is None and plan.revision != saved.revision:
            moved.append(f"the repository moved from commit {saved.revision} to {plan.revision}")
        elif plan.fingerprint != one.fingerprint:
            moved.append(f"connectors of cluster {one.cluster} have changed since the plan was saved")
        elif plan.digest != one.digest:
            moved.append(f"the steps for cluster {one.cluster} are different now: the settings or the ledger changed")
    if moved:
        lines = "\n".join(f"  {line}" for line in dict.fromkeys(moved))
        raise StalePlan(f"the saved plan is stale\n{lines}\nmake a new plan, review it, and apply it")
