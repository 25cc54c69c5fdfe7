"""Active topics (KIP-558): the topics that a connector has used since its last reset, and documents about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase

from gitops_connect.model.names import ConnectorName, TopicName


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """What a step forgets, and why: the `id` of `spec.resetTopics`, `outdated` topics, or what a deletion leaves.

    `topics` are the active topics when the plan was made; None if they were not read, for the reason `unread`.
    `outdated` are those that a sink does not read any more.
    """

    id: str = ""
    topics: Collection[TopicName] | None = None
    unread: str = ""
    outdated: Collection[TopicName] = ()

    @property
    def is_of_deletion(self) -> bool:
        return not self.id and not self.outdated


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that a connector has used (`added`), or that was reset, between a read at `since` and the next one."""

    connector: ConnectorName
    topic: TopicName
    added: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """The active topics of connectors as they were last read, and the reasons why some could not be read.

    `changes` are those since the last read of each connector.
    """

    known: Mapping[ConnectorName, frozenset[TopicName]] = field(default_factory=dict)
    unread: Mapping[ConnectorName, str] = field(default_factory=dict)
    changes: tuple[TopicChange, ...] = ()

    def after(self, before: ReadTopics) -> ReadTopics:
        """With the changes of an earlier read, too that no event has reported."""
        return replace(self, changes=(*before.changes, *self.changes))


NO_TOPICS = ReadTopics()


@dataclass(frozen=True, slots=True)
class TopicRules:
    """`spec.topics` of a document: globs for the names of the topics that the connector uses.

    Without `allow`, every topic that no glob of `deny` matches is allowed. What is `expected` is allowed, too.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()

    def unexpected(self, topics: Iterable[TopicName]) -> list[TopicName]:
        """The topics that are denied or not allowed, by name."""
        allowed = (*self.allow, *self.expected) if self.allow else ("*",)
        return sorted(one for one in topics if _matches(one, self.deny) or not _matches(one, allowed))

    def missing(self, topics: Collection[TopicName]) -> list[str]:
        """The globs of `expected` that match no topic."""
        return [glob for glob in self.expected if not any(fnmatchcase(one, glob) for one in topics)]


def _matches(topic: TopicName, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(topic, glob) for glob in globs)
