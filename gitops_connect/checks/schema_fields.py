"""The fields of documents, as their JSON Schemas describe them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WORDS = {"object": "mapping", "array": "list", "integer": "whole number"}


@dataclass(frozen=True, slots=True)
class FieldExplanation:
    """One field. `path` begins with the kind of its document, as in `Connector.spec.state`.

    `default` and the items of `allowed` and `examples` are JSON. `fields` are the fields of a mapping.
    """

    path: str
    type: str
    description: str
    default: str
    allowed: tuple[str, ...]
    examples: tuple[str, ...]
    required: bool
    fields: tuple[FieldExplanation, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def facts(self) -> str:
        """The type, whether it is required, and the default, in one line."""
        default = f"default {self.default}" if self.default else ""
        return ", ".join(filter(None, (self.type, "required" if self.required else "", default)))


def document_fields(schema: Mapping[str, Any]) -> Iterator[FieldExplanation]:
    """The document itself, whose path is its kind, and every field of it."""
    kind = str(schema["properties"]["kind"]["const"])
    return _with_fields(_explained(schema, kind, required=False))


def _with_fields(field: FieldExplanation) -> Iterator[FieldExplanation]:
    yield field
    for one in field.fields:
        yield from _with_fields(one)


def _mapping_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a mapping itself, of the items of a list of mappings, or of the values of a mapping of mappings."""
    parts = list(_parts(schema))
    below = (
        one[word] for one in parts for word in ("items", "additionalProperties") if isinstance(one.get(word), Mapping)
    )
    return next((one for one in parts if "properties" in one), None) or next(map(_mapping_of, below), schema)


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema, and what it says of values of a certain shape."""
    yield schema
    for one in schema.get("allOf", ()):
        yield from (one, one.get("then", {}))


def _explained(schema: Mapping[str, Any], path: str, *, required: bool) -> FieldExplanation:
    mapping = _mapping_of(schema)
    needed, below = mapping.get("required", ()), mapping.get("properties", {})
    return FieldExplanation(
        path,
        _type(schema),
        str(schema.get("description", "")),
        json.dumps(schema["default"]) if "default" in schema else "",
        tuple(map(json.dumps, _allowed(schema))),
        tuple(map(json.dumps, schema.get("examples", ()))),
        required,
        tuple(_explained(one, f"{path}.{name}", required=name in needed) for name, one in below.items()),
    )


def _allowed(schema: Mapping[str, Any]) -> Sequence[Any]:
    """The allowed values, or those of the items of a list."""
    values: Sequence[Any] = [schema["const"]] if "const" in schema else schema.get("enum", ())
    return values or (_allowed(schema["items"]) if "items" in schema else ())


def _type(schema: Mapping[str, Any]) -> str:
    """In words, as in `list of strings`; `value` if it can be of any type."""
    usual = "string" if "enum" in schema or "const" in schema else "value"
    declared = next((one["type"] for one in _parts(schema) if "type" in one), usual)
    return " or ".join(_type_words(one, schema) for one in ([declared] if isinstance(declared, str) else declared))


def _type_words(name: str, schema: Mapping[str, Any]) -> str:
    below = schema.get({"array": "items", "object": "additionalProperties"}.get(name, ""))
    word = _WORDS.get(name, name)
    return f"{word} of {_plural(_type(below))}" if isinstance(below, Mapping) and below else word


def _plural(words: str) -> str:
    return ", ".join(f"{one}s" for one in words.split(" or "))
