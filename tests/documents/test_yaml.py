"""The YAML parser: values, places and errors. Complete documents with their diagnostics are in cases/documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.documents.nodes import MAX_DEPTH, MAX_NODES
from gitops_connect.documents.yaml import MAX_DOCUMENTS, parse
from gitops_connect.model.documents import Blob, Document, Documents

_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"))
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4))
_DOCUMENTS = st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=6)


def parsed(text: str | bytes) -> Documents:
    return parse(Blob("a.yaml", "0", text.encode() if isinstance(text, str) else text))


def only(text: str | bytes) -> Document:
    file = parsed(text)
    assert not file.diagnostics.items, file.diagnostics.items
    (document,) = file.documents
    return document


def rule_of(text: str | bytes) -> str:
    (problem,) = parsed(text).diagnostics
    return problem.rule


@pytest.mark.slow
@given(_DOCUMENTS)
def test_json_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert only(json.dumps(value, ensure_ascii=False)).value == value


class Quoting(yaml.SafeDumper):
    """Writes every string in quotes: PyYAML writes YAML 1.1, in which `1e5` without quotes is a string."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@pytest.mark.slow
@given(_DOCUMENTS)
def test_yaml_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert only(yaml.dump(value, Dumper=Quoting, allow_unicode=True)).value == value


@given(st.lists(st.sampled_from(["", "# a comment", "  # another"]), max_size=3), st.integers(1, 30), st.data())
def test_a_place_is_the_place_of_the_field(above: list[str], count: int, data: st.DataObject) -> None:
    lines = [*above, "apiVersion: x", "spec:", *(f"    key{number}:   value" for number in range(count))]
    number = data.draw(st.integers(0, count - 1))
    document = only("\n".join(lines) + "\n")
    place = document.locate(("spec", f"key{number}"))
    assert lines[place.line - 1][place.column - 1 :].startswith(f"key{number}:")


@pytest.mark.parametrize("row", rows(__file__, "files"), ids=lambda row: row["case"])
def test_what_is_read_from_a_file(row: dict[str, Any]) -> None:
    file = parsed(row["text"])
    assert [document.value for document in file.documents] == row.get("values", [])
    for number, pointer, place in row.get("places", ()):
        assert str(file.documents[number].locate(tuple(pointer))) == place
    for document in file.documents if "texts" in row else ():
        assert {pointer[-1]: text for pointer, text in document.texts.items()} == row["texts"]
    assert [[item.rule, str(item.location)] for item in file.diagnostics] == row.get("problems", [])
    assert [document.connector for document in file.broken] == row.get("broken", [None] * len(file.broken))
    assert file.complete is row.get("complete", True)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "---\n# nothing\n---\n...\n", "%YAML 1.2\n# x\n"])
def test_nothing_is_no_document(text: str) -> None:
    assert parsed(text) == Documents()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "latin-1"])
def test_other_encodings_are_refused(encoding: str) -> None:
    assert rule_of("name: café\n".encode(encoding)) in ("yaml/encoding", "yaml/character")


def test_the_byte_that_is_not_utf_8_is_named_with_its_place() -> None:
    (problem,) = parsed(b"a: 1\nb: caf\xe9\n").diagnostics
    assert str(problem.location) == "a.yaml:2:7"
    assert "0xe9" in problem.summary


_LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)
_MERGED_LAUGHS = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 30)
)
_MERGED_CHAIN = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}}}\n" for n in range(1, 5000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (_LAUGHS, "yaml/nodes"),
        (_MERGED_LAUGHS, "yaml/nodes"),
        (_MERGED_CHAIN, "yaml/depth"),
        ("a: " + "[" * 200_000, "yaml/depth"),
        ("a: " + "{a: " * 200_000, "yaml/depth"),
        ("".join(" " * n + "a:\n" for n in range(2000)), "yaml/depth"),
        ("a: &a [*a]\n", "yaml/alias"),
        ("a: &a {<<: *a}\n", "yaml/alias"),
        ("a: [" + "1," * MAX_NODES + "]\n", "yaml/nodes"),
    ],
    ids=lambda value: value if len(value) < 20 else value[:20],
)
def test_documents_that_are_made_to_kill_the_reader(text: str, rule: str) -> None:
    assert rule_of(text) == rule


@pytest.mark.slow
def test_the_limits_themselves_are_allowed() -> None:
    depth = MAX_DEPTH - 1
    assert only("a: " + "[" * depth + "]" * depth)
    assert len(only("a: [" + "1," * (MAX_NODES - 3) + "]\n").value["a"]) == MAX_NODES - 3


def test_a_tag_makes_no_object() -> None:
    (problem,) = parsed("a: !!python/object/apply:os.system ['exit 3']\n").diagnostics
    assert problem.rule == "yaml/tag"
    assert "os.system" not in problem.summary, "a string that begins with ! may be a secret"


@pytest.mark.parametrize("end", ["---\n", "...\n"])
def test_documents_are_counted_before_they_are_parsed(end: str) -> None:
    one = f"a: 1\n{end}"
    assert rule_of(one * (MAX_DOCUMENTS + 1)) == "document/too-many"
    (problem,) = parsed(one * 1_000_000).diagnostics
    assert problem.location.line == 2 * (MAX_DOCUMENTS + 1)
