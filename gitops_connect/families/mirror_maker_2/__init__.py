"""MirrorMaker 2: connectors that copy topics, consumer groups and heartbeats. `facts.yaml` has the facts."""

from __future__ import annotations

import re

from gitops_connect.families.family import Config
from gitops_connect.families.field_kinds import FieldKind
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
