"""Active topics (KIP-558): the topics that a connector has used since its last reset, and documents about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from gitops_connect.model.names import ConnectorName, TopicName


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """What a step forgets. `id` is that of `spec.resetTopics`; empty for what a deletion has left.

    `topics` are the active topics when the plan was made; None if they were not read, for the reason `unread`.
    """

    id: str = ""
    topics: Collection[TopicName] | None = None
    unread: str = ""


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """The active topics of connectors that one reconciliation has read, and the reasons why some could not be read."""

    known: Mapping[ConnectorName, frozenset[TopicName]] = field(default_factory=dict)
    unread: Mapping[ConnectorName, str] = field(default_factory=dict)


NO_TOPICS = ReadTopics()
