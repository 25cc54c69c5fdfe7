"""The values that a config fixes in partitions: aliases, file or logical names, databases, topics, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gitops_connect.checks import jdbc_tables
from gitops_connect.checks.field_types import show
from gitops_connect.checks.rules import KNOWN, VALUE, Finding, LazyWords
from gitops_connect.checks.topics import TopicFilter, mirror_topic_filter, topic_filter
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.shape_fields import Shape, Tie, Tied

_RULES = {
    Tie.ALIAS: "manifest/alias",
    Tie.FILE: "manifest/file",
    Tie.SERVER: "manifest/server",
    Tie.DATABASE: "manifest/database",
}
_TOPIC_RULE = "manifest/topic"
_TASK_RULE = "manifest/task"
RULES = frozenset({*_RULES.values(), _TOPIC_RULE})
"""The rules of these findings: each finding is about an existing string with a wrong value, and nothing else."""

Filter = Callable[[Mapping[str, Any]], Finding | None]
"""The finding for a partition that the connector certainly does not read; None if nothing is wrong or known."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A field of the partition and its possible values. `value` is the config's value of `key`."""

    field: str
    rule: str
    key: str
    value: str
    values: frozenset[str]
    in_any_case: bool = False

    def admits(self, found: Any) -> bool:
        """True for one of the values."""
        if found in self.values:
            return True
        return self.in_any_case and isinstance(found, str) and found.lower() in map(str.lower, self.values)


@dataclass(frozen=True, slots=True)
class Ties:
    """Everything that the config fixes."""

    expectations: tuple[Expectation, ...] = ()
    topics: TopicFilter | None = None
    filters: tuple[Filter, ...] = ()

    def hold(self, partition: Mapping[str, Any]) -> bool:
        """True if there are no findings."""
        for one in self.expectations:
            if not one.admits(partition[one.field]):
                return False
        if self.topics is not None and not self.topics.reads(partition[self.topics.field]):
            return False
        return all(found(partition) is None for found in self.filters)

    def findings(self, partition: Mapping[str, Any]) -> Iterator[Finding]:
        """The strings in the partition that differ from those of the config."""
        for one in self.expectations:
            found = partition.get(one.field)
            if isinstance(found, str) and not one.admits(found):
                words = partial(_words, found, one.key, one.value, one.values)
                yield Finding(one.rule, f"partition.{one.field}", LazyWords(words), unread=True)
        if self.topics is not None:
            topic = partition.get(self.topics.field)
            if isinstance(topic, str) and not self.topics.reads(topic):
                yield _of_topic(self.topics, topic)
        yield from filter(None, (found(partition) for found in self.filters))


def _of_topic(topics: TopicFilter, topic: str) -> Finding:
    words = partial(_words, topic, topics.key, topics.value, topics.names or ())
    return Finding(_TOPIC_RULE, f"partition.{topics.field}", LazyWords(words), unread=True)


def _words(found: str, key: str, value: str, known: Iterable[str]) -> Mapping[str, str]:
    shown = {"found": show(found), "key": key, "expected": show(value)}
    return {**shown, VALUE: found, KNOWN: "\n".join(sorted(known))}


def ties_of(shape: Shape | None, config: Mapping[str, str] | None) -> Ties:
    """The ties of a connector with that shape. Values that a worker resolves from elsewhere are not known here."""
    if shape is None or config is None:
        return Ties()
    found: list[Expectation] = []
    filters: list[Filter] = []
    topics = topic_filter(config) if "kafka_topic" in shape.partitions[0].required else None
    for tied in shape.tied:
        match tied.tie:
            case Tie.TOPICS:
                topics = mirror_topic_filter(config)
            case Tie.TABLES:
                filters.append(jdbc_tables.TableFilter(config).finding)
            case Tie.TASKS:
                filters += _of_tasks(tied, config)
            case _:
                found += _expectations(tied, config)
    return Ties(tuple(found), topics, tuple(filters))


def _expectations(tied: Tied, config: Mapping[str, str]) -> Iterator[Expectation]:
    key = next((key for key in tied.keys if key in config), tied.keys[0])
    value = config.get(key, tied.default)
    if not value or is_reference(value):
        return
    is_list = tied.tie is Tie.DATABASE
    values = frozenset(one.strip() for one in value.split(",")) if is_list else frozenset((value,))
    yield Expectation(tied.field, _RULES[tied.tie], key, value, values, in_any_case=is_list)


def _of_tasks(tied: Tied, config: Mapping[str, str]) -> Iterator[Filter]:
    """A filter for task keys, which are read only if each task has its own offset; their values are unknown."""
    key = tied.keys[0]
    value = config.get(key, "false")
    if is_reference(value) or value.strip().lower() == "true":
        return

    def finding(partition: Mapping[str, Any]) -> Finding | None:
        if tied.field not in partition:
            return None
        words = LazyWords(lambda: {"found": show(partition[tied.field]), "key": key, "expected": show(value)})
        return Finding(_TASK_RULE, f"partition.{tied.field}", words, unread=True)

    yield finding
