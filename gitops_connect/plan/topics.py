"""Active topics in a plan: requested resets, each once for its id, and what a deleted connector has left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from gitops_connect.connect.capabilities import ACTIVE_TOPICS
from gitops_connect.families.sinks import topics_read
from gitops_connect.families.ties import SINK_TOPIC
from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.restart_records import RequestKind
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.situation import Situation

SOURCE, SINK = ConnectorType.SOURCE, ConnectorType.SINK
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
    if desired.topics is not None and not ACTIVE_TOPICS.is_in(version):
        yield f"{ACTIVE_TOPICS.missing(version)}: spec.topics has no effect"
    yield from _rule_notes(situation, desired)


def _rule_notes(situation: Situation, desired: DesiredConnector) -> Iterator[str]:
    """What the active topics show: topics that are not allowed, and expected ones that are missing."""
    observed, topics = situation.observed.connectors.get(desired.name), situation.topics.known.get(desired.name)
    if desired.name in situation.topics.unread and desired.topics is not None:
        yield f"spec.topics is not checked, because {situation.topics.unread[desired.name]}"
    if observed is not None and topics is not None and desired.topics is not None:
        if unexpected := desired.topics.unexpected(topics):
            yield _unexpected_words(unexpected)
        if outdated := _outdated(situation, observed, topics):
            what = f"its config does not read topics that it has used: {named(outdated)}"
            yield f"{what}; to forget them, set spec.resetTopics"
        if missing := desired.topics.missing(topics):
            yield f"it has used no topic that matches {named(missing)} (spec.topics.expected)"


def _outdated(situation: Situation, sink: ObservedConnector, topics: Collection[TopicName]) -> list[TopicName]:
    """The topics that a sink has used and certainly does not read with its current `topics` or `topics.regex`."""
    if not situation.families.is_sink(sink.config):
        return []
    read = topics_read(sink.config)
    return [one for one in topics if not read.hold({SINK_TOPIC: one})]


def orphaned_topics(situation: Situation, planned: Iterable[ConnectorPlan]) -> Iterator[str]:
    """The sources that the plan deletes, and the sinks that stay and have read what they wrote, in words.

    As far as their topics were read.
    """
    deleted = {one.name for one in planned if any(step.action is Action.DELETE for step in one.steps)}
    observed, known = situation.observed.connectors, situation.topics.known
    sinks = [name for name in sorted(known.keys() & observed.keys() - deleted) if _is(situation, name, SINK)]
    for source in sorted(deleted & known.keys()):
        readers = [name for name in sinks if known[name] & known[source]] if _is(situation, source, SOURCE) else []
        if readers:
            shared = known[source] & frozenset().union(*(known[name] for name in readers))
            what = f"the source {source} is deleted, and other connectors have read its topics"
            yield f"{what}: {named(readers)} ({named(shared)})"


def _is(situation: Situation, name: ConnectorName, kind: ConnectorType) -> bool:
    return name in situation.observed.connectors and situation.observed.connectors[name].type is kind


def shared_topics(situation: Situation) -> Iterator[str]:
    """The sources that have written to the same topics, as far as their topics were read, in words.

    At least one of them is declared.
    """
    writers = defaultdict[TopicName, list[ConnectorName]](list)
    for name, topics in sorted(situation.topics.known.items()):
        if _is(situation, name, SOURCE):
            for topic in topics:
                writers[topic].append(name)
    groups = defaultdict[tuple[ConnectorName, ...], list[TopicName]](list)
    for topic, names in writers.items():
        if len(names) > 1 and not situation.desired.by_name.keys().isdisjoint(names):
            groups[tuple(names)].append(topic)
    for sources, shared in sorted(groups.items()):
        yield f"the sources {named(sources)} have written to the same topics: {named(shared)}"


def _unexpected_words(topics: Collection[TopicName]) -> str:
    return f"spec.topics does not allow topics that it has used: {named(topics)}"


def unexpected_topics(situation: Situation) -> Mapping[ConnectorName, str]:
    """In words, the topics of each connector that `spec.topics` does not allow.

    If the active topics of a connector were not read yet, or could not be read, those of the last condition remain.
    """
    found = {}
    for desired in situation.desired.connectors:
        if desired.topics is None or desired.name not in situation.observed.connectors:
            continue
        topics = situation.topics.known.get(desired.name)
        before = situation.conditions.get((desired.name, ConditionType.UNEXPECTED_TOPICS, ""))
        if topics is None and before is not None:
            found[desired.name] = before.message
        elif topics is not None and (unexpected := desired.topics.unexpected(topics)):
            found[desired.name] = _unexpected_words(unexpected)
    return found


def named(topics: Collection[str]) -> str:
    """The first topics by name, and the number of others."""
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    return ", ".join(sorted(topics)[:_SHOWN]) + more
