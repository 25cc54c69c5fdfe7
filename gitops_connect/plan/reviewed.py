"""Which changes of a plan need a review, and whether a plan that was reviewed covers them.

docs/reference/reviews.md has the rules. The plan of a pull request before its merge is made in the mode AUTO.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from gitops_connect.model.canonical import digest
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ClusterName, Digest, OffsetChangeName, Revision
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetChangeStatus, Plan, Step, destructive_effects
from gitops_connect.model.reviewed_plans import (
    DestructiveEffect,
    DestructiveKind,
    ReviewedConnector,
    ReviewedConnectors,
    ReviewedPlan,
    ReviewMode,
    Reviews,
    UnreviewedChange,
    connectors_digest,
)
from gitops_connect.model.strimzi import reviewed_name


def reviewed_plan(
    pull_request: int, head: Revision, plans: Iterable[Plan], pending: Iterable[Plan] = ()
) -> ReviewedPlan:
    """What reviewers see of the plans of all clusters, without what the plans of its target branch do anyway.

    A pull request is answerable for what it changes: its review covers nothing of `pending`.
    """
    branch = {(plan.cluster, one.name): one for plan in pending for one in plan.connectors if one.steps}
    connectors = {
        plan.cluster: {
            one.name: own
            for one in plan.connectors
            if one.steps and (own := _own(one, branch.get((plan.cluster, one.name)))) is not None
        }
        for plan in plans
    }
    return ReviewedPlan(pull_request, head, connectors_digest(connectors), connectors)


def with_unread(reviewed: ReviewedPlan, plans: Iterable[Plan], before: ReviewedConnectors) -> ReviewedPlan:
    """With what was shown `before` of clusters and connectors that could not be read for these plans.

    Otherwise the same plan would need an approval after a request to Connect that failed.
    """
    unread = {plan.cluster: plan.unread for plan in plans}
    connectors = {
        cluster: {
            **{name: one for name, one in found.items() if cluster not in unread or name in unread[cluster]},
            **reviewed.connectors.get(cluster, {}),
        }
        for cluster, found in {**reviewed.connectors, **before}.items()
    }
    return replace(reviewed, connectors=connectors, digest=connectors_digest(connectors))


def _own(connector: ConnectorPlan, branch: ConnectorPlan | None) -> ReviewedConnector | None:
    """What reviewers see of the connector that is not in the plan of the branch; None if that is nothing.

    The connector may have moved between the two plans: all effects of an offset change of the branch are the branch's.
    """
    seen = _seen(connector)
    if branch is None:
        return seen
    of_branch = (*branch.steps, *branch.held)
    before, known = _seen(branch), {_changed(step) for step in of_branch if step.offset_change is not None}
    steps = tuple(
        one
        for step in connector.steps
        if _changed(step) not in known and (one := _step_digest(step)) not in before.steps
    )
    effects = tuple(
        effect
        for effect in seen.effects
        if (effect.offset_change, effect.digest) not in known and not any(one.covers(effect) for one in before.effects)
    )
    return ReviewedConnector(steps, effects) if steps or effects else None


def _changed(step: Step) -> tuple[OffsetChangeName, Digest] | None:
    """The offset change that the step carries out; None if it does something else."""
    return None if (one := step.offset_change) is None else (reviewed_name(one.name), one.digest)


def _seen(connector: ConnectorPlan) -> ReviewedConnector:
    """What reviewers see of a connector; of a blocked one, what must be approved."""
    if connector.unreviewed is not None:
        return connector.unreviewed.asked
    return ReviewedConnector(tuple(map(_step_digest, connector.steps)), needs_review(connector))


def _step_digest(step: Step) -> Digest:
    """A digest of what a step does, whatever was there before.

    A secret is in it as its reference, which a pull request shows; a secret in the document itself as a keyed digest.
    """
    offset_change = (
        [reviewed_name(step.offset_change.name), step.offset_change.digest] if step.offset_change is not None else []
    )
    changes = [[change.key, change.shown_after, change.reference or change.secret] for change in step.changes]
    state = step.initial_state.value if step.initial_state is not None else None
    return digest([step.action.value, state, changes, offset_change])


def needs_review(connector: ConnectorPlan) -> tuple[DestructiveEffect, ...]:
    """The destructive effects that someone must have seen: all but those of offset changes in progress."""
    begun = {reviewed_name(one.name) for one in connector.offset_changes if one.status is OffsetChangeStatus.UNFINISHED}
    return tuple(one for one in destructive_effects(connector) if one.offset_change not in begun)


def is_covered(plan: ReviewedPlan, known: Sequence[ReviewedPlan]) -> bool:
    """Whether each destructive effect of the plan is in one of the known plans."""
    return all(
        any(
            before.covers(effect)
            for one in known
            for before in one.connectors.get(cluster, {}).get(name, ReviewedConnector()).effects
        )
        for cluster, found in plan.connectors.items()
        for name, connector in found.items()
        for effect in connector.effects
    )


def missing_review(
    reviews: Reviews, cluster: ClusterName, planned: ConnectorPlan, by_a_commit: Collection[Step]
) -> UnreviewedChange | None:
    """What blocks the connector; None if nothing does. `by_a_commit`: the steps that a commit causes."""
    match reviews.mode:
        case ReviewMode.AUTO:
            return None
        case ReviewMode.REVIEWED:
            return _unreviewed(cluster, planned, (*reviews.merged, *reviews.approved))
        case ReviewMode.MANUAL:
            return _unreviewed(cluster, planned, reviews.approved, by_a_commit)


def _unreviewed(
    cluster: ClusterName, planned: ConnectorPlan, reviewed: Sequence[ReviewedPlan], steps: Iterable[Step] = ()
) -> UnreviewedChange | None:
    """The destructive effects, and those of `steps`, that no reviewed plan contains."""
    known = [one for plan in reviewed if (one := plan.connectors.get(cluster, {}).get(planned.name)) is not None]
    seen, effects = _seen(planned), [effect for one in known for effect in one.effects]
    missing = [one.words for one in seen.effects if not any(effect.covers(one) for effect in effects)]
    approved = {step for one in known for step in one.steps}
    begun = {one.name for one in planned.offset_changes if one.status is OffsetChangeStatus.UNFINISHED}
    missing += [
        f"{step.action.value}: {step.reason}"
        for step in steps
        if not (step.offset_change is not None and step.offset_change.name in begun)
        and _step_digest(step) not in approved
    ]
    if not missing:
        return None
    now = {one.words for one in seen.effects}
    before = tuple(dict.fromkeys(one.words for one in effects if one.words not in now))
    return UnreviewedChange(cluster, planned.name, before, tuple(missing), seen)


def review_of(reviews: Reviews, cluster: ClusterName, planned: ConnectorPlan, step: Step) -> ReviewedPlan | None:
    """The reviewed plan that lets the step pass; None if the step needed no review, or had none."""

    def seen_in(plan: ReviewedPlan) -> ReviewedConnector:
        return plan.connectors.get(cluster, {}).get(planned.name, ReviewedConnector())

    if reviews.mode is ReviewMode.MANUAL:
        digest_of_step = _step_digest(step)
        return next((plan for plan in reviews.approved if digest_of_step in seen_in(plan).steps), None)
    effects = [one for one in needs_review(planned) if _is_of(step, one)]
    known = (*reviews.approved, *reviews.merged)
    return next((plan for plan in known for before in seen_in(plan).effects if any(map(before.covers, effects))), None)


def _is_of(step: Step, effect: DestructiveEffect) -> bool:
    """Whether the step has the effect."""
    if effect.kind is DestructiveKind.DELETE:
        return step.action is Action.DELETE
    if effect.kind is DestructiveKind.DELIVERY:
        return step.delivery is not None
    return step.offset_change is not None and reviewed_name(step.offset_change.name) == effect.offset_change


def unreviewed(change: UnreviewedChange, reviews: Reviews) -> Hold:
    """The hold that shows the steps of a connector, and does not apply them, until the change is reviewed."""
    if reviews.pull_request is not None:
        way = f"comment `gitops-connect approve DIGEST` on pull request #{reviews.pull_request}, or commit a change"
    else:
        way = "merge a pull request whose plan shows this change, or commit another change"
    return Hold(HoldKind.UNREVIEWED, ", ".join(change.planned), way)
