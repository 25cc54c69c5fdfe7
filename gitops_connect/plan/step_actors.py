"""Who or what causes each step of a plan, for the history."""

from __future__ import annotations

from gitops_connect.model.names import Revision
from gitops_connect.model.offset_changes import OffsetChangeState, clear_name
from gitops_connect.model.outcomes import Actor, ActorKind
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.revisions import is_commit
from gitops_connect.plan.ownership_records import drifted
from gitops_connect.plan.rollbacks import declared_at
from gitops_connect.plan.situation import Situation

_STARTS = (Action.PAUSE, Action.RESUME)
_STATES = (Action.STOP, *_STARTS)
_CONFIGS = (Action.CREATE, Action.CONFIGURE)


def actor_of(situation: Situation, planned: ConnectorPlan, step: Step, by: str = "") -> Actor:
    """Who or what causes the step. The author of an earlier commit is not known here.

    What gitops-connect does by itself has no author, whoever committed last. `by` is the person who applies the plan by
    a command: the actor if the documents are in a directory without Git.
    """
    itself = _by_itself(situation, planned, step)
    if itself is not None:
        return itself
    commit = _commit(situation, planned, step)
    if by and not is_commit(commit):
        return Actor(ActorKind.COMMAND, by, commit)
    return Actor(ActorKind.PERSON, situation.author if commit == situation.revision else "", commit)


def _by_itself(situation: Situation, planned: ConnectorPlan, step: Step) -> Actor | None:
    """What makes gitops-connect do the step by itself; None if a commit is the cause."""
    declared = situation.desired.by_name.get(planned.name)
    if step.restart is not None and step.restart.request is None:
        return Actor(ActorKind.AUTOMATIC_RESTART)
    if step.topics is not None and step.topics.outdated:
        return Actor(ActorKind.TOPIC_CLEANUP)
    if step.action is Action.ROLL_BACK and declared is not None and declared.rolled_back is not None:
        return Actor(ActorKind.ROLLBACK, commit=declared.rolled_back.revision)
    if step.action in _STARTS and not _is_of_offsets(planned) and planned.name in situation.stopped:
        return Actor(ActorKind.RECOVERY)
    if declared is not None and drifted(situation, declared) and _corrects(planned, step):
        return Actor(ActorKind.DRIFT_CORRECTION, commit=situation.ownership[planned.name].revision)
    return None


def _is_of_offsets(planned: ConnectorPlan) -> bool:
    """Whether the stop and the start of the connector are for its offset changes, or for its deletion."""
    return any(one.offset_change is not None or one.action is Action.DELETE for one in planned.steps)


def _corrects(planned: ConnectorPlan, step: Step) -> bool:
    """Whether the step brings a connector back to the document that was applied before."""
    return step.action in _CONFIGS or (step.action in _STATES and not _is_of_offsets(planned))


def _commit(situation: Situation, planned: ConnectorPlan, step: Step) -> Revision:
    """The commit that the step carries out: the newest one, unless the change was recorded with an earlier one.

    A config may have waited for its place in a rollout, and an offset change or a deletion may have been begun before.
    """
    records, declared = situation.offsets.records, situation.desired.by_name.get(planned.name)
    if step.action in _CONFIGS and declared is not None:
        return declared_at(situation, declared)
    begun = records.get(clear_name(planned.name))
    if begun is not None and begun.state is OffsetChangeState.OPEN:
        return begun.revision
    changes = (one.offset_change for one in (step, *planned.steps) if one.offset_change is not None)
    change = next(changes, None) if step.offset_change is not None or step.action in _STATES else None
    return situation.revision if change is None else change.revision
