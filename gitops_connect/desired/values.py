"""Converts nodes to plain values, with the place of every field and all refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.desired.nodes import MAX_DEPTH, MAX_NODES, Mapping, Node, Scalar, Sequence, too_deep, too_many
from gitops_connect.desired.refused import Refused
from gitops_connect.desired.scalars import Value, resolve
from gitops_connect.model.documents import Pointer

_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
_SEQUENCE_TAGS = (None, "!", "tag:yaml.org,2002:seq")
_MAPPING_TAGS = (None, "!", "tag:yaml.org,2002:map")
_MERGE = "<<"
INSIDE_DOCUMENTS = frozenset(("yaml/number", "yaml/duplicate-key", "yaml/merge", "yaml/key", "yaml/tag"))
"""The rules of refusals that leave the rest of a document readable."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ScalarRules:
    """How scalars without quotes are read.

    `resolve` returns their value, or raises ValueError for a number that JSON cannot hold. `key` returns the string
    that a key is, or None if a key must not be such a value. `last_merge_wins`: a merge key (`<<`) replaces what is
    above it in the same mapping.
    """

    resolve: Callable[[str], Value]
    key: Callable[[Value], str | None]
    last_merge_wins: bool = False


CORE_SCHEMA = ScalarRules(resolve, lambda value: value if isinstance(value, str) else None)
"""The core schema of YAML 1.2: every key is a string."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document's value, the place of each field, the source text of each non-string scalar, and the refusals."""

    value: Any
    positions: dict[Pointer, Place] = field(default_factory=dict)
    texts: dict[Pointer, str] = field(default_factory=dict)
    refusals: list[Refused] = field(default_factory=list)


def read(root: Node, rules: ScalarRules = CORE_SCHEMA, max_nodes: int = MAX_NODES) -> Reading:
    """Read a whole document. Raises Refused if it is too deep or has more than `max_nodes` keys and values."""
    reader = _Reader(rules, max_nodes)
    value = reader.value(root, ())
    return Reading(value, reader.positions, reader.texts, reader.refusals)


class _Reader:
    def __init__(self, rules: ScalarRules, max_nodes: int) -> None:
        self._rules = rules
        self._max_nodes = max_nodes
        self.positions: dict[Pointer, Place] = {}
        self.texts: dict[Pointer, str] = {}
        self.refusals: list[Refused] = []
        self._count = 0

    def value(self, node: Node, pointer: Pointer) -> Any:
        """The value of a node at that pointer. Aliases are followed, and counted each time they are used."""
        self._visit(node, len(pointer))
        if isinstance(node, Scalar):
            return self._scalar(node, pointer)
        if isinstance(node, Mapping):
            return self._mapping(node, pointer)
        return self._sequence(node, pointer)

    def _visit(self, node: Node, depth: int) -> None:
        self._count += 1
        if self._count > self._max_nodes:
            raise too_many(node.place)
        if depth > MAX_DEPTH:
            raise too_deep(node.place)

    def _scalar(self, node: Scalar, pointer: Pointer) -> Any:
        if node.tag is not None:
            self._check_tag(node, _TEXT_TAGS)
            return node.text
        if not node.plain:
            return node.text
        try:
            value = self._rules.resolve(node.text)
        except ValueError:
            summary = "this number cannot be written as JSON: it is infinite, not a number, or too long"
            self._refuse("yaml/number", summary, node.place, "put it in quotes")
            return node.text
        if not isinstance(value, str):
            self.texts[pointer] = node.text
        return value

    def _sequence(self, node: Sequence, pointer: Pointer) -> list[Any]:
        self._check_tag(node, _SEQUENCE_TAGS)
        values = []
        for index, item in enumerate(node.items):
            at = (*pointer, index)
            self.positions[at] = item.place
            values.append(self.value(item, at))
        return values

    def _mapping(self, node: Mapping, pointer: Pointer) -> dict[str, Any]:
        values = {}
        for key, (place, value) in self._fields(node, len(pointer)).items():
            at = (*pointer, key)
            self.positions[at] = place
            values[key] = self.value(value, at)
        return values

    def _fields(self, node: Mapping, depth: int) -> dict[str, tuple[Place, Node]]:
        """Each key once: those of the mapping itself, then those that it merges (`<<`) and does not have."""
        self._check_tag(node, _MAPPING_TAGS)
        fields: dict[str, tuple[Place, Node]] = {}
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for key_node, value in node.pairs:
            if _is_merge(key_node):
                if self._rules.last_merge_wins:
                    fields |= self._all_merged([value], depth + 1)
                else:
                    merged.append(value)
                continue
            key = self._key(key_node)
            if key in lines:
                summary = f"the key {key!r} appears twice in one mapping, first in line {lines[key]}"
                self._refuse("yaml/duplicate-key", summary, key_node.place, "keep only the correct value")
            elif key is not None:
                lines[key] = key_node.place[0]
                fields[key] = (key_node.place, value)
        return {**self._all_merged(merged, depth + 1), **fields}

    def _all_merged(self, values: list[Node], depth: int) -> dict[str, tuple[Place, Node]]:
        fields: dict[str, tuple[Place, Node]] = {}
        for mapping in self._merged(values, depth):
            fields = {**self._fields(mapping, depth), **fields}
        return fields

    def _merged(self, values: list[Node], depth: int) -> Iterator[Mapping]:
        for value in values:
            for item in value.items if isinstance(value, Sequence) else (value,):
                self._visit(item, depth)
                if isinstance(item, Mapping):
                    yield item
                else:
                    self._refuse(
                        "yaml/merge",
                        "the value of a merge key (<<) must be a mapping, or a list of mappings",
                        item.place,
                    )

    def _key(self, node: Node) -> str | None:
        self._visit(node, 0)
        if not isinstance(node, Scalar):
            self._refuse("yaml/key", "a key must be a string, found a list or a mapping", node.place)
            return None
        if not node.plain or node.tag is not None:
            return node.text
        key = self._plain_key(node.text)
        if key is not None:
            return key
        self._refuse(
            "yaml/key",
            "a key must be a string, found nothing, a number or a boolean without quotes",
            node.place,
            "quote it",
        )
        return node.text

    def _plain_key(self, text: str) -> str | None:
        try:
            return self._rules.key(self._rules.resolve(text))
        except ValueError:
            return None

    def _check_tag(self, node: Node, allowed: tuple[str | None, ...]) -> None:
        if node.tag not in allowed:
            self._refuse(
                "yaml/tag",
                "a tag is not allowed here: documents contain plain values only",
                node.place,
                "remove it",
            )

    def _refuse(self, rule: str, summary: str, place: Place, hint: str = "") -> None:
        self.refusals.append(Refused(rule, summary, place, hint))


def _is_merge(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.text == _MERGE
