"""MirrorMaker 2: connectors that copy topics, consumer groups and heartbeats. `facts.yaml` has the facts."""

from __future__ import annotations

import re
from functools import lru_cache

from gitops_connect.families.family import Config
from gitops_connect.families.field_kinds import FieldKind
from gitops_connect.families.kafka_use import KafkaUse
from gitops_connect.families.ties import Ties, TopicFilter, translate
from gitops_connect.model.sensitivity import is_reference

SOURCE_CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT_CLASS = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT_CLASS = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""A topic whose name is a pattern that matches only this topic."""


def _is_zero(value: object) -> bool:
    return type(value) is int and value == 0


ZERO = FieldKind(
    "the number 0", _is_zero, is_number=True, bound="0, the only value that the connector accepts", fast_pattern="0"
)
"""Checkpoints and heartbeats, whose offsets are always 0."""


_TOPIC_FILTER = "DefaultTopicFilter"
_HEARTBEATS = "heartbeats"
"""`ReplicationPolicy.isHeartbeatsTopic`, with any prefix for the source of a source."""


_NOT_COPIED = r"mm2.*\.internal, .*\.replica, __.*, .*[\-\.]internal"
"""`DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT` of the known versions."""


def topics_read(config: Config) -> Ties:
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


def topics_excluded(config: Config) -> re.Pattern[str] | None:
    """The topics that `DefaultTopicFilter` leaves out; None if that is not certain."""
    listed = config.get("topics.exclude", config.get("topics.blacklist", _NOT_COPIED))
    return None if is_reference(listed) else _any_of(listed)


@lru_cache(64)  # it is asked for each topic
def _any_of(listed: str) -> re.Pattern[str] | None:
    """Each pattern is translated by itself: the default has more repetitions than one pattern may have."""
    found = [translate(one.strip()) for one in listed.split(",") if one.strip()]
    known = [f"(?i:{one.pattern})" if one.flags & re.IGNORECASE else one.pattern for one in found if one is not None]
    return re.compile("|".join(known), re.ASCII) if len(known) == len(found) else None


def topics_written(config: Config) -> KafkaUse:
    """The topics on the target that the connector writes with Connect's producer.

    With a replication policy of another class, or without one of the keys, they are unknown.
    """
    policy = config.get("replication.policy.class", "DefaultReplicationPolicy").rpartition(".")[2]
    alias, separator = config.get("source.cluster.alias", ""), config.get("replication.policy.separator", ".")
    if policy not in ("DefaultReplicationPolicy", "IdentityReplicationPolicy") or not alias:
        return KafkaUse(own_clients=_OWN_CLIENTS)
    match config.get("connector.class", "").rpartition(".")[2].removesuffix("Connector"):
        case "MirrorSource":
            listed = [one.strip() for one in config.get("topics", "").split(",")]
            prefix = f"{alias}{separator}" if policy == "DefaultReplicationPolicy" else ""
            if not all(map(_PLAIN.fullmatch, listed)):
                return KafkaUse((), (prefix,) if prefix else (), _OWN_CLIENTS)
            heartbeats = f"{alias}{separator}{_HEARTBEATS}"  # the identity policy renames them, too
            return KafkaUse((*(prefix + one for one in listed), heartbeats), (), _OWN_CLIENTS, (_HEARTBEATS,))
        case "MirrorCheckpoint" if separator == ".":
            return KafkaUse((f"{alias}.checkpoints.internal",), (), _OWN_CLIENTS)
        case "MirrorHeartbeat":
            return KafkaUse((_HEARTBEATS,), (), _OWN_CLIENTS)
        case _:
            return KafkaUse(own_clients=_OWN_CLIENTS)


_OWN_CLIENTS = "source.cluster.* and target.cluster.*"
