"""Limits the cost of a schema from a repository: its size, its references, its regular expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

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


# JSON Schema 2020-12 with regular expressions that take linear time: RE2 instead of Python's backtracking engine.
#
# `(a+)+b` takes Python minutes for 30 characters. RE2 has neither look-around nor back-references, so a schema that
# uses them is rejected when it is read.

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


class NotLinear(ValueError):
    """RE2 does not accept the pattern."""


def check_pattern(pattern: str) -> None:
    """Raise NotLinear, with RE2's message, if RE2 does not accept the pattern."""
    try:
        _compiled(pattern)
    except UnicodeEncodeError as error:
        raise NotLinear("it contains half of a surrogate pair") from error
    except re2.error as error:
        words = error.args[0]
        raise NotLinear(words.decode(errors="replace") if isinstance(words, bytes) else str(words)) from error


@cache
def _compiled(pattern: str) -> Any:
    return re2.compile(pattern, _OPTIONS)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, inner: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [key for key in instance if key not in known and not any(_matches(one, key) for one in patterns)]
    for key in extras if inner is not False else ():
        yield from validator.descend(instance[key], inner, path=key)
    if inner is False and extras:
        names = ", ".join(map(repr, extras))
        yield ValidationError(f"additional properties are not allowed: {names}")


LinearValidator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    },
)
"""`unevaluatedProperties` next to `patternProperties` is left to jsonschema, which uses Python's engine for it: such a
schema is rejected (`own_schemas`)."""
