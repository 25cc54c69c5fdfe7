"""What a connector's config fixes of its partitions: a mirror's aliases, a file's name, a logical name, the topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.checks.field_types import show
from gitops_connect.checks.rules import Finding
from gitops_connect.checks.topics import TopicFilter, topic_filter
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.shape_fields import Shape, Tie, Tied

_RULES = {Tie.ALIAS: "manifest/alias", Tie.FILE: "manifest/file", Tie.SERVER: "manifest/server"}
_TOPIC_RULE = "manifest/topic"
RULES = frozenset({*_RULES.values(), _TOPIC_RULE})
"""Of all these findings: each is of a text that is there, and is another one than it should be, and of nothing else."""
_TOPIC = "kafka_topic"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A field of the partition and the one value that it can have."""

    field: str
    rule: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Ties:
    """Everything that the config fixes."""

    expectations: tuple[Expectation, ...] = ()
    topics: TopicFilter | None = None

    def hold(self, partition: Mapping[str, Any]) -> bool:
        """True where there is nothing to find."""
        for one in self.expectations:
            if partition[one.field] != one.value:
                return False
        return self.topics is None or self.topics.reads(partition[_TOPIC])

    def findings(self, partition: Mapping[str, Any]) -> Iterator[Finding]:
        """The texts in the partition that are not those of the config."""
        for one in self.expectations:
            found = partition.get(one.field)
            if isinstance(found, str) and found != one.value:
                words = {"found": show(found), "key": one.key, "expected": show(one.value)}
                yield Finding(one.rule, f"partition.{one.field}", words, unread=True)
        topic = partition.get(_TOPIC)
        if self.topics is not None and isinstance(topic, str) and not self.topics.reads(topic):
            words = {"found": show(topic), "key": self.topics.key, "expected": show(self.topics.value)}
            yield Finding(_TOPIC_RULE, f"partition.{_TOPIC}", words, unread=True)


def ties_of(shape: Shape | None, config: Mapping[str, str] | None) -> Ties:
    """For a connector of that shape. What a worker resolves from elsewhere is not known here."""
    if shape is None or config is None:
        return Ties()
    found = tuple(one for tied in shape.tied if (one := _expectation(tied, config)) is not None)
    return Ties(found, topic_filter(config) if _TOPIC in shape.partitions[0].required else None)


def _expectation(tied: Tied, config: Mapping[str, str]) -> Expectation | None:
    key = next((key for key in tied.keys if key in config), tied.keys[0])
    value = config.get(key, tied.default)
    return None if not value or is_reference(value) else Expectation(tied.field, _RULES[tied.tie], key, value)
