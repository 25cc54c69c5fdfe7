"""The types of the fields in the current offsets: a manifest with other types is a mistake.

A string instead of a number makes another partition, or an offset that the connector cannot read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from gitops_connect.checks.field_types import describe, place_of
from gitops_connect.checks.rules import Finding, LazyWords
from gitops_connect.model.offsets import Offsets, OffsetText

_WORDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a fraction",
}
Types = Mapping[str, frozenset[type]]
CURRENT_TYPE = "manifest/current-type"


@dataclass(frozen=True)
class CurrentTypes:
    """The types of all fields, computed at the first use."""

    current: Offsets

    def findings(self, where: str, part: Mapping[str, Any], own: OffsetText | None) -> Iterator[Finding]:
        """The fields of a `partition` or an `offset` that have other types in the current offsets.

        `own` is the current offset of exactly this partition, if it has one: it takes precedence over all others.
        """
        first = {} if own is None else _types([json.loads(own)])
        others = self._known(where)
        for name, value in part.items():
            expected = first.get(name) or others.get(name)
            if expected and type(value) in _WORDS and type(value) not in expected:
                words = LazyWords(partial(_words, value, expected))
                yield Finding(CURRENT_TYPE, place_of(where, name), words, unread=where == "partition")

    def has(self, where: str, name: str) -> bool:
        """True if any of the current offsets has that field."""
        return name in self._known(where)

    @cached_property
    def are_mixed(self) -> bool:
        """True if a field of the offsets has several types: then only an entry's own current offset counts."""
        return any(len(types) > 1 for types in self._offsets.values())

    def _known(self, where: str) -> Types:
        return self._partitions if where == "partition" else self._offsets

    @cached_property
    def _partitions(self) -> Types:
        return _types(json.loads(text) for text in self.current)

    @cached_property
    def _offsets(self) -> Types:
        return _types(json.loads(text) for text in self.current.values())


def _words(value: Any, expected: Iterable[type]) -> Mapping[str, str]:
    return {"found": describe(value), "expected": _list(expected)}


def _types(values: Iterable[Mapping[str, Any]]) -> Types:
    """The types of each field, without null, which shows no type."""
    found: dict[str, set[type]] = {}
    for value in values:
        for name, one in value.items():
            found.setdefault(name, set()).add(type(one))
    return {name: frozenset(types & _WORDS.keys()) for name, types in found.items()}


def _list(types: Iterable[type]) -> str:
    return " or ".join(words for one, words in _WORDS.items() if one in types)
