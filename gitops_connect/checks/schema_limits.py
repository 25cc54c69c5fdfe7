"""Limits the cost of a schema from a repository: its size, its references, its regular expressions.

Anyone who can write to a repository writes these schemas, and one process checks the offsets of all connectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_BYTES = 256 * 1024
"""Bytes of one schema. The schema of an entry has a few KiB."""
MAX_DEPTH = 64
MAX_ITEMS = 500
"""Items of one list. Unique items are checked by comparing each item with each other."""
MAX_UNFOLDED = 5_000
"""Values, with each reference replaced by its target: a check of an entry may visit all of them."""
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

Document = dict[str, Any] | bool


class Exceeded(Exception):
    """The schema is too expensive, or refers to something unavailable: `found`, and how to fix it (`hint`)."""

    def __init__(self, found: str, hint: str = "") -> None:
        super().__init__(found)
        self.hint = hint


def check_limits(document: Document) -> None:
    """Raise Exceeded for a schema that is too expensive. Others check any entry in a time linear in the entry."""
    for value, depth in _walk(document, 0):
        if depth > MAX_DEPTH:
            raise Exceeded(f"it is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list) and len(value) > MAX_ITEMS:
            raise Exceeded(f"it has a list of {len(value):,} items, expected at most {MAX_ITEMS}")
        if isinstance(value, dict) and depth and isinstance(value.get("$id"), str):
            raise Exceeded("a schema inside it has an $id", "remove it: a file contains one schema")
    _Unfolding(document).size(document, ())


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    waiting = [(value, depth)]
    while waiting:
        value, depth = waiting.pop()
        yield value, depth
        if depth <= MAX_DEPTH:
            waiting.extend((inner, depth + 1) for inner in inner_values(value))


def inner_values(value: Any) -> Iterator[Any]:
    """The values of a mapping, or the items of a list."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


class _Unfolding:
    """Counts values with references followed, each target once: twenty nested references can mean 2^20 values."""

    def __init__(self, root: Document) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def size(self, value: Any, inside: tuple[str, ...]) -> int:
        size = 1 + sum(self.size(inner, inside) for inner in inner_values(value))
        for key in REFERENCES:
            if isinstance(value, Mapping) and isinstance(value.get(key), str):
                size += self._referred(value[key], inside)
        if size > MAX_UNFOLDED:
            raise Exceeded(
                f"with its references resolved, it has more than {MAX_UNFOLDED:,} values",
                "simplify it: an entry has only a few fields",
            )
        return size

    def _referred(self, reference: str, inside: tuple[str, ...]) -> int:
        if reference in inside:
            hint = "remove the reference: entries are flat, so their schema needs no recursion"
            raise Exceeded(f"the reference {_shown(reference)} is circular", hint)
        if reference not in self._known:
            target = _target(self._root, reference)
            self._known[reference] = self.size(target, (*inside, reference))
        return self._known[reference]


def _target(root: Any, reference: str) -> Any:
    hint = "refer only to parts of the same schema, for example #/$defs/partition"
    if not reference.startswith("#/"):
        raise Exceeded(f"it refers to {_shown(reference)}, outside of the schema", hint)
    place = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(place, dict) or name not in place:
            raise Exceeded(f"it refers to {_shown(reference)}, which does not exist", hint)
        place = place[name]
    return place


def _shown(reference: str) -> str:
    return reference if len(reference) <= 100 else f"{reference[:97]}..."
