"""Schemas in a repository, for the offsets of its own connector classes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.files.manifests import OTHER, UNREAD, entry, offsets, rules, verdict
from support.files.tables import rows, table

from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.rules import own_schemas

PATH = "offset-schemas/com.example.Counter.schema.json"
COUNTER = table(__file__, "counter")


def load(document: Any, path: str = PATH) -> OffsetSchema:
    found = own_schemas.load([(path, json.dumps(document).encode())])
    assert not found.diagnostics.items, found.diagnostics.items
    (schema,) = found.schemas.values()
    return schema


def problem(content: bytes | Any) -> Any:
    found = own_schemas.load([(PATH, content if isinstance(content, bytes) else json.dumps(content).encode())])
    assert not found.schemas
    (item,) = found.diagnostics
    assert (item.rule, item.location.file) == ("manifest/schema-broken", PATH)
    return item


def test_a_schema_is_recognized_by_its_path() -> None:
    assert own_schemas.is_offset_schema(PATH)
    for path in ("offset-schemas/.schema.json", "offset-schemas/a.json", "a.schema.json", f"deeper/{PATH}"):
        assert not own_schemas.is_offset_schema(path)


def test_a_schema_defines_its_class_and_its_position() -> None:
    schema = load(COUNTER)
    assert (schema.class_name, schema.path) == ("com.example.Counter", PATH)
    assert (schema.position, schema.unit) == (("count",), "records")
    assert (load(True).position, load({}).unit) == ((), "")


@pytest.mark.parametrize(("partition", "offset", "problems"), rows(__file__, "entries"))
def test_an_entry_is_checked_with_its_schema(partition: Any, offset: Any, problems: list[str]) -> None:
    found = verdict([entry({"shard": 0}, {"count": 0}), entry(partition, offset)], OTHER, schema=load(COUNTER))
    assert rules(found) == [(2, "own-schema")] * len(problems)
    assert [item.summary.split()[0] for item in found.diagnostics] == problems
    assert (found.offsets is None) == bool(problems)


def test_the_message_names_the_file_and_the_expectation() -> None:
    (item,) = verdict([entry({"shard": 1}, {"count": "5"})], OTHER, schema=load(COUNTER)).diagnostics
    assert item.summary == f"offset.count violates {PATH}: '5' is not of type 'integer'"


@pytest.mark.parametrize("row", table(__file__, "verdicts").values(), ids=table(__file__, "verdicts"))
def test_a_verdict_with_a_schema(row: dict[str, Any]) -> None:
    current = offsets(*row["current"]) if "current" in row else None
    schema, kind = load(row.get("schema", COUNTER)), OffsetChangeKind(row.get("kind", "alter"))
    found = verdict(row["entries"], row.get("config", OTHER), current, kind=kind, schema=schema)
    assert rules(found) == [tuple(one) for one in row["rules"]]
    assert (found.offsets is None) == bool(found.errors)
    assert "fields" not in row or [item.summary.split()[0] for item in found.diagnostics] == row["fields"]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        *((document, 1, words) for document, words in rows(__file__, "broken")),
        (b'{\n"type": }', 2, "it cannot be read as JSON"),
        (b"", 1, "it cannot be read as JSON"),
        (b"\xff{}", 1, "it is not UTF-8"),
        (b"[" * 100_000, 1, "it is nested too deeply"),
        (b'{"minimum": NaN}', 1, "a number that is too long or not finite"),
        (b"[]", 1, "it is not a mapping"),
    ],
)
def test_a_broken_schema_is_named_with_its_file(content: Any, line: int, words: str) -> None:
    found = problem(content)
    assert words in found.summary
    assert found.location.line == line


def test_one_broken_schema_does_not_block_another() -> None:
    other = "offset-schemas/com.example.Other.schema.json"
    found = own_schemas.load([(PATH, b"{"), (other, b"{}")])
    assert list(found.schemas) == ["com.example.Other"]
    assert len(found.diagnostics) == 1


def doubling(levels: int) -> dict[str, Any]:
    """Each definition refers twice to the next one: a few hundred bytes expand to 2^levels schemas."""
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**steps, f"d{levels}": {"type": "object"}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *rows(__file__, "costly"),
        (doubling(40), "with its references resolved, it has more than 5,000 values"),
        ({"enum": [*range(501)]}, "a list of 501 items, expected at most 500"),
        ({"required": [[], {}] * 20_000}, "a list of 40,000 items"),
        (b'{"pattern": "\\ud800"}', "cannot be used: it contains half of a surrogate pair"),
        (b'{"description": "' + b"x" * 300_000 + b'"}', "it is larger than 256 KiB"),
    ],
)
def test_a_schema_that_costs_too_much_is_refused(content: Any, words: str) -> None:
    assert words in problem(content).summary


def test_references_that_stay_small_are_followed() -> None:
    assert rules(verdict([entry({}, {})], OTHER, schema=load(doubling(5)))) == []


def test_a_pattern_takes_linear_time() -> None:
    """Python's `re` would need practically unlimited time for 60 characters of this."""
    evil = "^(a+)+$"
    schema = load({"properties": {"partition": {"patternProperties": {evil: {"pattern": evil}}}}})
    near = "a" * 60 + "b"
    found = verdict([entry({near: "x"}, {}), entry({"aa": near}, {})], OTHER, schema=schema)
    assert rules(found) == [(2, "own-schema")]


@pytest.mark.parametrize(
    ("inner", "broken"), [(False, ["partition"]), ({"type": "integer"}, ["partition.z"]), (True, []), ({}, [])]
)
def test_additional_properties_are_those_that_no_pattern_names(inner: Any, broken: list[str]) -> None:
    schema = {"properties": {"a": True}, "patternProperties": {"^p": {"type": "string"}}, "additionalProperties": inner}
    value = entry({"a": 1, "p1": "x", "z": "y"}, {})
    found = verdict([value], OTHER, schema=load({"properties": {"partition": schema}}))
    assert [item.summary.split()[0] for item in found.diagnostics] == broken


def test_a_partition_that_the_schema_does_not_know_can_be_acknowledged_and_an_offset_cannot() -> None:
    schema = load(COUNTER)
    foreign, wrong = entry({"filename": "/a"}, {"count": 1}), entry({"shard": 1}, {"count": -1})
    assert verdict([foreign], OTHER, schema=schema).offsets is None
    taken = verdict([foreign], OTHER, schema=schema, acknowledged=UNREAD)
    assert (rules(taken), taken.offsets) == ([(1, "own-schema")], offsets(foreign))
    assert verdict([wrong], OTHER, schema=schema, acknowledged=UNREAD).offsets is None
