from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.files.document_files import config, connector, declare, read

from gitops_connect.checks import document_schemas
from gitops_connect.checks.document_schemas import read_schema, schema_directory
from gitops_connect.declare import Caches
from gitops_connect.declare import declare as declare_all
from gitops_connect.documents.recognition import API_VERSION
from gitops_connect.model.desired import Mode, OnDelete, SecretSource, TargetState
from gitops_connect.model.documents import KINDS, DocumentCache
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.source.working_tree import WorkingTree

LOCAL = ClusterName("local")
REPOSITORY = Path(__file__).parents[2]
SCHEMAS = sorted(schema_directory().glob("*.schema.json"))
SPEC = read_schema("connector")["properties"]["spec"]["properties"]
CHANGE = read_schema("offset-change")["properties"]["spec"]["properties"]


def subschemas(value: Mapping[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schema and all schemas inside it, with their paths."""
    yield where, value
    for name, inner in value.get("properties", {}).items():
        yield from subschemas(inner, f"{where}.{name}")
    for keyword in ("additionalProperties", "items", "propertyNames"):
        if isinstance(value.get(keyword), Mapping):
            yield from subschemas(value[keyword], f"{where}.{keyword}")


PAGES = {"connector": "connector.md", "offset-change": "offset-change.md"}
FIELDS = {where: value for name in PAGES for where, value in subschemas(read_schema(name), name)}


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_a_schema_is_one(path: Path) -> None:
    value = read_schema(path.name.removesuffix(".schema.json"))
    Draft202012Validator.check_schema(value)
    assert value["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert value["$id"].startswith("urn:gitops-connect:schema:")


def test_an_editor_can_say_what_a_field_is() -> None:
    for where, value in FIELDS.items():
        assert value["title"], where
        assert value["description"].endswith("."), where
        if "properties" in value:
            assert value["additionalProperties"] is False, f"{where} is open: a typo in it would have no effect"
        for example in value.get("examples", ()):
            Draft202012Validator(value).validate(example)


def test_the_schema_and_the_code_know_the_same_words() -> None:
    assert {read_schema(name)["properties"]["apiVersion"]["const"] for name in PAGES} == {API_VERSION}
    assert tuple(read_schema(name)["properties"]["kind"]["const"] for name in PAGES) == KINDS
    assert SPEC["state"]["enum"] == [state.value for state in TargetState]
    assert SPEC["mode"]["enum"] == [mode.value for mode in Mode]
    assert SPEC["onDelete"]["properties"]["offsets"]["enum"] == [OnDelete.KEEP.value, OnDelete.RESET.value]
    assert list(SPEC["secrets"]["additionalProperties"]["properties"]) == [source.value for source in SecretSource]
    assert CHANGE["operation"]["enum"] == [kind.value for kind in list(OffsetChangeKind)[:3]]
    for section in (CHANGE, SPEC["initialOffsets"]["properties"]):
        assert section["acknowledge"]["items"]["enum"] == [one.value for one in Acknowledgement]


def test_a_connector_has_one_form_of_name() -> None:
    name = read_schema("connector")["properties"]["metadata"]["properties"]["name"]
    for keyword in ("minLength", "maxLength", "pattern", "patternErrorMessage"):
        assert CHANGE["connector"][keyword] == name[keyword]


@pytest.mark.parametrize("field", [field for field in FIELDS.values() if "pattern" in field])
def test_no_pattern_lets_a_last_line_break_through(field: dict[str, Any]) -> None:
    for example in field.get("examples", ["abc"]):
        assert re.search(field["pattern"], example)
        assert not re.search(field["pattern"], f"{example}\n"), "Python's $ also matches before it"


@pytest.mark.parametrize(("name", "page"), PAGES.items())
def test_every_field_is_in_its_documentation(name: str, page: str) -> None:
    text = (REPOSITORY / "docs" / "reference" / "documents" / page).read_text()
    fields = {where.rpartition(".")[2] for where in FIELDS if where.startswith(f"{name}.")}
    fields -= {"additionalProperties", "items", "propertyNames"}
    assert not {field for field in fields if f"`{field}`" not in text and f".{field}`" not in text}


def test_a_broken_document_holds_up_its_own_connector() -> None:
    documents = read({"a.yaml": connector("good") + "---\n" + connector("bad", "  state: of\n")})
    (problem,) = document_schemas.check(documents)
    assert problem.connector == "bad"


def test_no_value_is_repeated_unless_the_schema_lists_the_values() -> None:
    """A password in every place in which a password must not be."""
    text = connector("a", "  class: [hunter2]\n  config: hunter2\n  secrets: {a: hunter2, b: {env: hunter2-}}\n")
    text += "---\n" + config("password: [hunter2]\nother: {hunter2: hunter2}\n", "hunter2/")
    _, diagnostics = declare({"a.yaml": text})
    assert len(diagnostics.errors) == 7
    assert not [item for item in diagnostics if "hunter2" in item.summary + item.hint]


def test_what_is_known_is_not_computed_again_until_its_document_is_gone_or_the_options_change() -> None:
    cache, text = DocumentCache[object](), {"a.yaml": connector("a"), "b.yaml": connector("b")}
    documents, others = read(text).documents, read(text).documents
    first = cache.results(documents, lambda _: object())
    assert cache.results(documents, lambda _: object()) == first
    assert not set(cache.results(others, lambda _: object())) & set(first)
    assert not set(cache.results(documents, lambda _: object())) & set(first)
    assert cache.results(documents, lambda _: object(), 1) != cache.results(documents, lambda _: object(), 2)


def test_only_a_changed_document_is_read_again(tmp_path: Path) -> None:
    caches = Caches()
    (tmp_path / "a.yaml").write_text(connector("a"))
    (tmp_path / "b.yaml").write_text(connector("b"))
    first = declare_all(WorkingTree(tmp_path), [LOCAL], caches).states[LOCAL].by_name
    (tmp_path / "b.yaml").write_text(connector("c"))
    second = declare_all(WorkingTree(tmp_path), [LOCAL], caches).states[LOCAL].by_name
    assert second[ConnectorName("a")] is first[ConnectorName("a")]
    assert second.keys() == {"a", "c"}
