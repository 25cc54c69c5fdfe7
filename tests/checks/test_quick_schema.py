"""A quick check accepts nothing that the JSON Schema engine rejects, and it accepts usual documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from checks.test_document_schemas import FIELDS, PAGES
from jsonschema import Draft202012Validator

from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.checks.quick_schema import quick_check

ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    1.0,
    1.5,
    float("nan"),
    "",
    "a",
    " a",
    "a\n",
    "a" * 300,
    "hunter/2",
    [],
    ["a"],
]
ODD += [[1], [None], {}, {"": "a"}, {"a b": "a"}, {"a": None}, {"a": ["b"]}, {1: "a"}, {"name": "a"}]


def variants(value: Any) -> Iterator[Any]:
    """The value with each part replaced by each odd value, or left out, or with an unknown field."""
    yield from ODD
    if isinstance(value, dict):
        yield {**value, "unknown": "a"}
        for key, inner in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from ({**value, key: one} for one in variants(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], one, *value[index + 1 :]] for one in variants(inner))


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_nothing_is_accepted_that_the_engine_rejects(field: Mapping[str, Any]) -> None:
    quick, engine = quick_check(field), Draft202012Validator(field)
    for value in (one for example in field.get("examples", [{}]) for one in (example, *variants(example))):
        assert not quick(value) or engine.is_valid(value), value


@pytest.mark.parametrize("name", PAGES)
def test_a_usual_document_needs_no_engine(name: str) -> None:
    schema = read_schema(name)
    assert all(map(quick_check(schema), schema["examples"]))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, 1),
        ({"type": "object", "minProperties": 1}, {}),
        ({"type": "integer", "multipleOf": 2}, "a"),
        ({"type": "string", "enum": ["a", "b"], "const": "a"}, "b"),
        ({"enum": [1]}, True),
        ({"const": 1}, True),
        ({"type": ["string", "null"], "minLength": 1}, ""),
        ({"type": "array", "items": {"type": "string"}}, [1]),
        ({"not": {"required": ["a"]}}, {"a": 1}),
        ({"type": "object", "additionalProperties": {"oneOf": [{"minimum": 1}, {"maximum": 1}]}}, {"a": 1}),
    ],
)
def test_other_keywords_are_left_to_the_engine(schema: dict[str, Any], value: Any) -> None:
    assert not Draft202012Validator(schema).is_valid(value)
    assert not quick_check(schema)(value)
