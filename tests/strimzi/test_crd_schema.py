"""The fields of Strimzi's CRDs are JSON Schema, and use only what the check of a resource reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from support.files.tables import read_yaml

import gitops_connect

SCHEMA = Path(gitops_connect.__file__).parent / "strimzi" / "crd.schema.yaml"
READ = {"type", "properties", "items", "required", "enum", "minimum", "pattern", "$ref"}
READ |= {"x-since", "x-before", "x-api", "x-required", "x-enum"}


def _schemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for one in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else ())):
        yield from _schemas(one)


def test_the_fields_are_a_schema_of_which_every_keyword_is_read() -> None:
    schema = read_yaml(SCHEMA)
    Draft202012Validator.check_schema(schema)
    found = [one for definition in schema["$defs"].values() for one in _schemas(definition)]
    assert {key for one in found for key in one} <= READ
    for one in found:
        assert one.get("$ref", "#/$defs/cluster").removeprefix("#/$defs/") in schema["$defs"]
        assert one.get("required", []) == [key for key in one.get("required", []) if key in one["properties"]]
        assert one.get("x-required", {}).keys() <= one.get("properties", {}).keys()
        assert one.get("x-enum", {}).keys() <= set(one.get("enum", ()))
