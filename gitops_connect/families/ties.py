"""The values that a config fixes in partitions: an offset of another partition is stored, and never read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gitops_connect.families.topics import TopicFilter
from gitops_connect.model.findings import KNOWN, VALUE, Finding, LazyWords, show
from gitops_connect.model.sensitivity import is_reference

RULES = frozenset({"manifest/alias", "manifest/file", "manifest/server", "manifest/database", "manifest/topic"})
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
class Tied:
    """A field of the partition that the config determines.

    `rule` is the id of the rule that a wrong value violates. `keys`: the first one that the config has counts;
    `default` is the value if the config has none of them. `is_list`: the config lists several values, and the case of
    their letters does not matter.
    """

    field: str
    rule: Literal["manifest/alias", "manifest/file", "manifest/server", "manifest/database"]
    keys: tuple[str, ...]
    default: str | None = None
    is_list: bool = False

    def expectation(self, config: Mapping[str, str]) -> Expectation | None:
        """The possible values; None if they are not known here."""
        key = next((key for key in self.keys if key in config), self.keys[0])
        value = config.get(key, self.default)
        if not value or is_reference(value):
            return None
        values = frozenset(one.strip() for one in value.split(",")) if self.is_list else frozenset((value,))
        return Expectation(self.field, self.rule, key, value, values, in_any_case=self.is_list)


@dataclass(frozen=True, slots=True)
class Ties:
    """Everything that the config fixes. With `filters`, each entry of a large manifest is checked singly."""

    expectations: tuple[Expectation | TopicFilter, ...] = ()
    filters: tuple[Filter, ...] = ()

    def hold(self, partition: Mapping[str, Any]) -> bool:
        """True if there are no findings."""
        for one in self.expectations:
            if not one.admits(partition[one.field]):
                return False
        return all(found(partition) is None for found in self.filters)

    def findings(self, partition: Mapping[str, Any]) -> Iterator[Finding]:
        """The strings in the partition that differ from those of the config."""
        for one in self.expectations:
            found = partition.get(one.field)
            if isinstance(found, str) and not one.admits(found):
                words = LazyWords(partial(_words, found, one))
                yield Finding(one.rule, f"partition.{one.field}", words, unread=True)
        yield from filter(None, (found(partition) for found in self.filters))


def _words(found: str, expected: Expectation | TopicFilter) -> Mapping[str, str]:
    shown = {"found": show(found), "key": expected.key, "expected": show(expected.value)}
    return {**shown, VALUE: found, KNOWN: "\n".join(sorted(expected.values or ()))}
