"""MirrorMaker 2: the connectors of Kafka that copy topics, consumer groups and heartbeats from another cluster."""

from __future__ import annotations

import re

from gitops_connect.families.family import Config, ConnectorClass, Family
from gitops_connect.families.field_kinds import NUMBER, SMALL, TEXT, FieldKind
from gitops_connect.families.offset_keys import OffsetKeys, Start, named_in_partitions
from gitops_connect.families.resume import ALL, FORWARD, NEW, REMOVED, REWIND, ResumeRules
from gitops_connect.families.shapes import Demand, Shape, ShapeFields
from gitops_connect.families.sinks import RECORDS
from gitops_connect.families.ties import Tied, Ties
from gitops_connect.families.topics import TopicFilter, translate
from gitops_connect.model.sensitivity import is_reference

SOURCE_CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT_CLASS = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT_CLASS = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""A topic whose name is a pattern that matches only this topic."""


def _is_zero(value: object) -> bool:
    return type(value) is int and value == 0


_ZERO = FieldKind(
    "the number 0", _is_zero, is_number=True, bound="0, the only value that the connector accepts", fast_pattern="0"
)
"""Checkpoints and heartbeats, whose offsets are always 0."""


_TOPIC_FILTER = "DefaultTopicFilter"
_HEARTBEATS = "heartbeats"
"""`ReplicationPolicy.isHeartbeatsTopic`, with any prefix for the source of a source."""


def _topics_read(config: Config) -> Ties:
    """The topics of a mirror, as in `DefaultTopicFilter`: a list of patterns, each for a whole name.

    `topics.exclude` is ignored; and heartbeats are always replicated. Nothing is fixed if there is no such list, if its
    value is stored elsewhere, or if another class filters the topics.
    """
    value = config.get("topics", "")
    filters = config.get("topic.filter.class", _TOPIC_FILTER)
    if not value.strip() or is_reference(value) or filters.rpartition(".")[2] != _TOPIC_FILTER:
        return Ties()
    listed = [one.strip() for one in value.split(",")]
    names = frozenset(listed) if all(map(_PLAIN.fullmatch, listed)) else None
    pattern = translate("|".join(listed)) if names is None else None
    return Ties((TopicFilter("topics", value, names, pattern, field="topic", always=_HEARTBEATS),))


_SOURCE = Shape(
    "MirrorSourceConnector",
    (ShapeFields({"cluster": TEXT, "topic": TEXT, "partition": SMALL}),),
    ShapeFields({"offset": NUMBER}),
    ("offset",),
    unit=RECORDS,
    measured=("offset",),
    tied=(Tied("cluster", "manifest/alias", ("source.cluster.alias",)),),
    reads=_topics_read,
    demand=Demand.TYPES,
)
"""`MirrorUtils.wrapPartition`, `MirrorSourceConnector.alterOffsets`; `MirrorConnectorConfig` has no default alias.
`MirrorSourceConnector.shouldReplicateTopic` and `DefaultTopicFilter` say which topics are read."""

_CHECKPOINT = Shape(
    "MirrorCheckpointConnector",
    (ShapeFields({"group": TEXT, "topic": TEXT, "partition": SMALL}),),
    ShapeFields({"offset": _ZERO}),
    ("offset",),
    demand=Demand.TYPES,
)
"""`Checkpoint.connectPartition`, `MirrorUtils.validateSourceOffset` with `onlyOffsetZero`."""

_HEARTBEAT = Shape(
    "MirrorHeartbeatConnector",
    (ShapeFields({"sourceClusterAlias": TEXT, "targetClusterAlias": TEXT}),),
    ShapeFields({"offset": _ZERO}),
    ("offset",),
    tied=(
        Tied("sourceClusterAlias", "manifest/alias", ("source.cluster.alias",)),
        Tied("targetClusterAlias", "manifest/alias", ("target.cluster.alias",), "target"),
    ),
    demand=Demand.TYPES,
)
"""`Heartbeat.connectPartition`; the offset is validated as for the checkpoints (`MirrorUtils.validateSourceOffset`).

`MirrorConnectorConfig` has a default for the alias of the target only.
"""

_SOURCE_RULES = ResumeRules(
    "the offset alone, if the source topic still has the records",
    (
        REWIND.needs("the source topic must still have the records; otherwise `auto.offset.reset` decides"),
        (FORWARD | NEW).risk(
            "if the offset is past the end of the partition, `auto.offset.reset` decides: by default, the whole"
            " partition is copied again"
        ),
        REMOVED.effect(
            "the connector copies the partition from the position that `auto.offset.reset` names; the default is the"
            " first record"
        ),
    ),
)
"""`MirrorSourceTask.initializeConsumer`, `MirrorConnectorConfig.sourceConsumerConfig` (`earliest`)."""

_NO_RULES = ResumeRules(
    "nothing: the offsets of this class are always 0, and the class never reads them",
    (ALL.effect("none: the offsets of this class are always 0, and the class never reads them"),),
)
"""`MirrorCheckpointTask`, `MirrorHeartbeatTask`: neither reads its offsets."""

_UNDEFINED = {
    "MirrorConnectorConfig": (
        *("source.cluster.*", "target.cluster.*", "producer.*", "consumer.*", "admin.*"),
        *("source.producer.*", "source.consumer.*", "source.admin.*"),
        *("target.producer.*", "target.consumer.*", "target.admin.*"),
    ),
    # Strimzi's operator sets these in every connector of a mirror (KafkaMirrorMaker2Connectors).
    "MirrorSourceConfig": ("topics", "topics.exclude", "topics.blacklist"),
    "MirrorCheckpointConfig": ("groups", "groups.exclude", "groups.blacklist"),
    "ClientMetricsReporter": ("prometheus.metrics.reporter.*",),
}

FAMILY = Family(
    1,
    "MirrorMaker 2",
    {
        SOURCE_CLASS: ConnectorClass(
            _SOURCE,
            _SOURCE_RULES,
            OffsetKeys(
                Start("copies its topics again from the beginning"),
                (named_in_partitions("cluster", "source.cluster.alias"),),
            ),
            _UNDEFINED,
            disabled_by=("enabled",),
            why_no_tasks="no topic of the source cluster matches `topics`, or none that its credentials may see",
        ),
        CHECKPOINT_CLASS: ConnectorClass(
            _CHECKPOINT,
            _NO_RULES,
            undefined=_UNDEFINED,
            disabled_by=("enabled", "emit.checkpoints.enabled"),
            why_no_tasks="no consumer group of the source cluster matches `groups` and has offsets for a topic that"
            " matches `topics`",
        ),
        HEARTBEAT_CLASS: ConnectorClass(
            _HEARTBEAT, _NO_RULES, undefined=_UNDEFINED, disabled_by=("emit.heartbeats.enabled",)
        ),
    },
)
"""`MirrorUtils.wrapPartition`, `MirrorSourceTask.initializeConsumer`. The checkpoints and heartbeats have no positions.

If a key that disables a connector is false, `taskConfigs` returns no tasks on purpose. Otherwise it returns none for
exactly the reason given (`MirrorSourceConnector`, `MirrorCheckpointConnector`).
"""
