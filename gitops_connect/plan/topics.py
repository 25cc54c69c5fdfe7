"""Active topics in a plan: requested resets, each once for its id, and what a deleted connector has left."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from gitops_connect.connect.capabilities import ACTIVE_TOPICS
from gitops_connect.families.family import Config
from gitops_connect.families.kafka_use import KafkaUse, renaming_transform
from gitops_connect.families.sinks import topics_read
from gitops_connect.families.ties import SINK_TOPIC, TopicFilter, translate
from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.desired import DesiredConnector, OnDelete, TargetState
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.model.plans import Action, ConnectorPlan, Step
from gitops_connect.model.restart_records import RequestKind
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.status import ConditionType
from gitops_connect.plan.situation import Situation

SOURCE = ConnectorType.SOURCE
_SHOWN = 5
"""The number of topics that a note names."""
_TOPICS_ON_DELETE = "onDelete: active topics that the deletion leaves are reset"
_OUTDATED = "its config does not read all topics that it has used"


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


def topics_reset(situation: Situation, desired: DesiredConnector, others: Collection[Step]) -> tuple[Step, ...]:
    """The reset that is due: at most one. A connector that is declared absent must not exist, or `others` delete it.

    A managed connector that is declared absent and does not exist may have been deleted by an interrupted
    reconciliation: what the deletion has left is still to be reset.
    """
    name, version = desired.name, situation.observed.version
    observed, is_absent = situation.observed.connectors.get(name), desired.state is TargetState.ABSENT
    if name in situation.observed.unknown or not ACTIVE_TOPICS.is_in(version):
        return ()
    is_deleted = observed is None or any(step.action is Action.DELETE for step in others)
    known, unread = situation.topics.known.get(name), situation.topics.unread.get(name, "")
    topics = None if known is None else sorted(known)
    if is_reset_due(situation, desired) and (is_deleted or not is_absent):
        reset = TopicsReset(desired.reset_topics, topics, unread)
        return (Step(name, Action.RESET_TOPICS, f"spec.resetTopics.id is {desired.reset_topics!r}", topics=reset),)
    if name not in situation.ownership:
        return ()
    if is_absent:
        return leftovers_reset(situation, name, desired.on_delete) if observed is None else ()
    if situation.policy.resets_outdated_topics and observed is not None and known is not None:
        config = next((step.config for step in others if step.config), observed.config)
        if outdated := _outdated(situation, config, known):
            return (Step(name, Action.RESET_TOPICS, _OUTDATED, topics=TopicsReset("", topics, outdated=outdated)),)
    return ()


def leftovers_reset(situation: Situation, name: ConnectorName, on_delete: OnDelete) -> tuple[Step, ...]:
    """The reset of what a deletion leaves, after which the connector is not managed any more."""
    if not (on_delete.resets_topics and ACTIVE_TOPICS.is_in(situation.observed.version)):
        return ()
    return (Step(name, Action.RESET_TOPICS, _TOPICS_ON_DELETE, topics=TopicsReset()),)


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
    yield from _rule_notes(situation, desired, is_reset=Action.RESET_TOPICS in actions)


def _rule_notes(situation: Situation, desired: DesiredConnector, *, is_reset: bool) -> Iterator[str]:
    """What the active topics show: those that are not allowed or not in the config, and expected ones that are missing.

    A source whose config says which topics Connect creates has expected ones, too.
    """
    observed, topics = situation.observed.connectors.get(desired.name), situation.topics.known.get(desired.name)
    if desired.name in situation.topics.unread and desired.topics is not None:
        yield f"spec.topics is not checked, because {situation.topics.unread[desired.name]}"
    if observed is not None and topics is not None and desired.topics is not None:
        if unexpected := desired.topics.unexpected(topics):
            yield _unexpected_words(unexpected)
        config, is_sink = observed.config, situation.families.is_sink(observed.config)
        outdated = (_outdated if is_sink else _unwritten)(situation, config, topics)
        if outdated and not is_reset:
            what = f"its config does not {'read' if is_sink else 'write'} topics that it has used: {named(outdated)}"
            yield f"{what}; to forget them, set spec.resetTopics"
        unmatched = [one.key for one in _creation_groups(config) if topics and not any(map(one.admits, topics))]
        if unmatched:
            yield f"it has used no topic that matches {named(unmatched)}"
        if missing := desired.topics.missing(topics):
            yield f"it has used no topic that matches {named(missing)} (spec.topics.expected)"


def _outdated(situation: Situation, config: Config, topics: Iterable[TopicName]) -> list[TopicName]:
    """The topics that a sink has used and certainly does not read with this `topics` or `topics.regex`."""
    if not situation.families.is_sink(config):
        return []
    read = topics_read(config)
    return [one for one in topics if not read.hold({SINK_TOPIC: one})]


def _unwritten(situation: Situation, config: Config, topics: Iterable[TopicName]) -> list[TopicName]:
    """The topics that a source has used and certainly does not write with this config, such as a `topic.prefix`."""
    use = _written(situation, config)
    if not use.topics and not use.prefixes:
        return []
    beginnings, ends = use.prefixes, use.suffixes
    return [one for one in topics if not (one in use.topics or one.startswith(beginnings) or one.endswith(ends))]


def _written(situation: Situation, config: Config) -> KafkaUse:
    """The topics that a source writes, as far as its class and its config name them, and no transform may rename."""
    use = situation.families.of(config).kafka_use
    found = KafkaUse() if use is None or renaming_transform(config) else use(config)
    return KafkaUse() if any(map(is_reference, (*found.topics, *found.prefixes))) else found


def _creation_groups(config: Config) -> Iterator[TopicFilter]:
    """The topics of each group of `topic.creation.groups`, as in `TopicCreationGroup`."""
    for group in filter(None, (one.strip() for one in config.get("topic.creation.groups", "").split(","))):
        key = f"topic.creation.{group}.include"
        patterns = [one.strip() for one in config.get(key, "").split(",")]
        if all(patterns):
            yield TopicFilter(key, config[key], None, translate("|".join(patterns)))


def orphaned_topics(situation: Situation, planned: Iterable[ConnectorPlan]) -> Iterator[str]:
    """The sources that the plan deletes, and the sinks that stay and read what they write, in words.

    Topics that were not read are those that the configs name.
    """
    deleted = {one.name for one in planned if any(step.action is Action.DELETE for step in one.steps)}
    sources = [name for name in sorted(deleted) if _is(situation, name, SOURCE)]
    readers = _readers(situation, deleted) if sources else {}
    ordered = sorted(readers)
    for source in sources:
        use = _written(situation, situation.observed.connectors[source].config)
        topics: Collection[str] = situation.topics.known.get(source, use.topics)
        verb = "read its topics"
        if source not in situation.topics.known and use.prefixes:
            verb = f"read topics that begin with {named(use.prefixes)}"
            ranges = ((bisect_left(ordered, one), bisect_left(ordered, one + "\U0010ffff")) for one in use.prefixes)
            topics = [*topics, *chain.from_iterable(ordered[first:end] for first, end in ranges)]
        if shared := readers.keys() & frozenset(map(TopicName, topics)):
            sinks = frozenset(chain.from_iterable(readers[topic] for topic in shared))
            yield f"the source {source} is deleted, and other connectors {verb}: {named(sinks)} ({named(shared)})"


def _readers(situation: Situation, deleted: Collection[ConnectorName]) -> Mapping[TopicName, Collection[ConnectorName]]:
    """The sinks that stay or are created, by the topics that they list in `topics`, or have used and may still read."""
    declared = (one for one in situation.desired.connectors if one.state is not TargetState.ABSENT)
    configs = {name: one.config for name, one in situation.observed.connectors.items() if name not in deleted}
    found = defaultdict[TopicName, list[ConnectorName]](list)
    for name, config in (configs | {one.name: one.config for one in declared}).items():
        if situation.families.is_sink(config):
            read = topics_read(config)
            listed = frozenset(chain.from_iterable(one.values or () for one in read.expectations))
            for topic in listed | situation.topics.known.get(name, frozenset()):
                if read.hold({SINK_TOPIC: topic}):
                    found[TopicName(topic)].append(name)
    return found


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
