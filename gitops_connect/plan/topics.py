"""Active topics in a plan: requested resets, each once for its id, and what a deleted connector has left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gitops_connect.connect.capabilities import ACTIVE_TOPICS
from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import RequestKind
from gitops_connect.plan.situation import Situation

_SHOWN = 5
"""The number of topics that a note names."""


def is_reset_due(situation: Situation, desired: DesiredConnector) -> bool:
    """Whether `spec.resetTopics` has a new id, and the connector is managed or does not exist.

    A connector that is adopted now has its id recorded only: with a lost ledger, no reset of a connector that exists is
    carried out again.
    """
    name = desired.name
    if not desired.reset_topics or name in situation.observed.unknown:
        return False
    exists = name in situation.observed.connectors
    is_done = situation.restart_requests.get((name, RequestKind.TOPICS)) == desired.reset_topics
    return not is_done and (not exists or name in situation.ownership)


def needs_topics(situation: Situation, desired: DesiredConnector) -> bool:
    """Whether the plan shows the active topics: a reset is due, or the connector is to be created."""
    if desired.name in situation.observed.connectors or desired.state is TargetState.ABSENT:
        return is_reset_due(situation, desired)
    return desired.name not in situation.observed.unknown


def requested_reset(situation: Situation, desired: DesiredConnector, others: Collection[Step]) -> Iterator[Step]:
    """The reset that is due. A connector that is declared absent must not exist, or `others` delete it."""
    if not is_reset_due(situation, desired) or not ACTIVE_TOPICS.is_in(situation.observed.version):
        return
    exists = desired.name in situation.observed.connectors
    if exists and desired.state is TargetState.ABSENT and all(step.action is not Action.DELETE for step in others):
        return
    known, unread = situation.topics.known.get(desired.name), situation.topics.unread.get(desired.name, "")
    topics = TopicsReset(desired.reset_topics, None if known is None else sorted(known), unread)
    yield Step(desired.name, Action.RESET_TOPICS, f"spec.resetTopics.id is {desired.reset_topics!r}", topics=topics)


def resets_seen_before_managed(situation: Situation) -> Mapping[tuple[ConnectorName, RequestKind], str]:
    """The ids to record, and not to carry out: those of connectors that exist and are not managed yet."""
    return {
        (one.name, RequestKind.TOPICS): one.reset_topics
        for one in situation.desired.connectors
        if one.reset_topics
        and one.state is not TargetState.ABSENT
        and one.name in situation.observed.connectors
        and one.name not in situation.ownership
        and situation.restart_requests.get((one.name, RequestKind.TOPICS)) != one.reset_topics
    }


def topic_notes(situation: Situation, desired: DesiredConnector, steps: Collection[Step]) -> Iterator[str]:
    """What a reader has to know about the active topics of a connector."""
    version, actions = situation.observed.version, {step.action for step in steps}
    if is_reset_due(situation, desired) and not ACTIVE_TOPICS.is_in(version):
        yield f"{ACTIVE_TOPICS.missing(version)}: spec.resetTopics has no effect"
    left = situation.topics.known.get(desired.name)
    if left and Action.CREATE in actions and Action.RESET_TOPICS not in actions:
        what = f"an earlier connector of this name left active topics: {named(left)}"
        yield f"{what}; to forget them before the connector is created, set spec.resetTopics"


def named(topics: Collection[str]) -> str:
    """The first topics by name, and the number of others."""
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    return ", ".join(sorted(topics)[:_SHOWN]) + more
