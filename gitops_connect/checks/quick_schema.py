"""Accepts valid documents without the JSON Schema engine, which takes about nine times as long.

A quick check may reject a valid value, and never accepts an invalid one: what it rejects is for the engine to explain.
A schema with a keyword that is not known here is left to the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from jsonschema import Draft202012Validator

Schema = Mapping[str, Any]
Check = Callable[[Any], bool]
_SAYS_NOTHING = frozenset({"$schema", "$id", "title", "description", "examples", "default", "patternErrorMessage"})
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def quick_check(schema: Schema) -> Check:
    """A function that is true only for values that the schema accepts. The schema contains no `$ref`."""
    keywords, named = schema.keys() - _SAYS_NOTHING, schema.get("type", "string")
    types = (named,) if isinstance(named, str) else tuple(named)
    for kind, known, make in _MAKERS:
        if types == (kind,) and keywords <= known:
            return make(schema)
    if keywords == {"type"} and set(types) <= _TYPES.keys():
        accepted = frozenset(one for name in types for one in _TYPES[name])
        return lambda value: type(value) in accepted
    return Draft202012Validator(schema).is_valid


def _object(schema: Schema) -> Check:
    fields = {name: quick_check(inner) for name, inner in schema.get("properties", {}).items()}
    required, names = frozenset(schema.get("required", ())), _inner(schema, "propertyNames")
    other = _inner(schema, "additionalProperties")

    def check(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        return all(fields.get(name, other)(one) and names(name) for name, one in value.items())

    return check


def _inner(schema: Schema, keyword: str) -> Check:
    inner = schema.get(keyword, True)
    return (lambda _: inner) if isinstance(inner, bool) else quick_check(inner)


def _string(schema: Schema) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength", inf)
    search = re.compile(schema.get("pattern", "")).search
    words = [set(schema["enum"])] if "enum" in schema else []
    words += [{schema["const"]}] if "const" in schema else []

    def check(value: Any) -> bool:
        is_good = type(value) is str and least <= len(value) <= most and search(value) is not None
        return is_good and all(value in one for one in words)

    return check


def _integer(schema: Schema) -> Check:
    least, most = schema.get("minimum", -inf), schema.get("maximum", inf)
    return lambda value: type(value) is int and least <= value <= most


_MAKERS: tuple[tuple[str, frozenset[str], Callable[[Schema], Check]], ...] = (
    ("object", frozenset({"type", "required", "properties", "additionalProperties", "propertyNames"}), _object),
    ("string", frozenset({"type", "minLength", "maxLength", "pattern", "enum", "const"}), _string),
    ("integer", frozenset({"type", "minimum", "maximum"}), _integer),
)
