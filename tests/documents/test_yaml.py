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


def test_places_count_through_all_documents_of_a_file() -> None:
    first, second = parsed("a: 1\n---\n# c\nb:\n  - x\n  - y: 2\n").documents
    assert str(first.locate(("a",))) == "a.yaml:1:1"
    assert str(second.location) == "a.yaml:4:1"
    assert str(second.locate(("b", 1))) == "a.yaml:6:5"
    assert str(second.locate(("b", 1, "y"))) == "a.yaml:6:5"
    assert str(second.locate(("b", 7, "nowhere"))) == "a.yaml:4:1"


def test_source_texts_are_kept_where_the_value_is_no_text() -> None:
    document = only("ratio: 1.10\nport: 0777\nflag: True\nword: yes\nquoted: '1.10'\n")
    assert document.value == {"ratio": 1.1, "port": 777, "flag": True, "word": "yes", "quoted": "1.10"}
    assert document.texts == {("ratio",): "1.10", ("port",): "0777", ("flag",): "True"}


@pytest.mark.parametrize(("text", "value"), rows(__file__, "values"))
def test_values(text: str, value: object) -> None:
    assert only(text).value == value


def test_aliases_and_merge_keys() -> None:
    document = only("base: &base {a: 1, b: 2}\nother: &other {b: 3, c: 4}\nme:\n  <<: [*base, *other]\n  a: 9\n")
    assert document.value["me"] == {"a": 9, "b": 2, "c": 4}
    assert str(document.locate(("me", "c"))) == "a.yaml:2:22"


def test_an_anchor_is_gone_in_the_next_document() -> None:
    file = parsed("a: &a 1\n---\nb: *a\n")
    assert len(file.documents) == 1
    assert [problem.rule for problem in file.diagnostics] == ["yaml/alias"]


def test_a_syntax_error_spoils_its_own_document_only() -> None:
    file = parsed("a: 1\n---\nb: [\n---\nc: 3\n---\nd: 'open\n---\ne: 5\n")
    assert [dict(document.value) for document in file.documents] == [{"a": 1}, {"c": 3}, {"e": 5}]
    assert [problem.location.line for problem in file.diagnostics] == [4, 7]
    assert not file.complete


def test_a_document_that_was_read_in_part_still_says_which_connector_it_is() -> None:
    file = parsed("metadata: {name: orders}\na: 1\na: 2\n")
    assert not file.documents
    assert [document.connector for document in file.broken] == ["orders"]
    assert [problem.connector for problem in file.diagnostics] == ["orders"]
    assert file.complete


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "---\n# nothing\n---\n...\n", "%YAML 1.2\n# x\n"])
def test_nothing_is_no_document(text: str) -> None:
    assert parsed(text) == Documents()


def test_line_ends_of_windows_and_a_byte_order_mark() -> None:
    document = only(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n")
    assert document.value == {"a": 1, "b": "x\ny\n"}
    assert str(document.locate(("b",))) == "a.yaml:2:1"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "latin-1"])
def test_other_encodings_are_refused(encoding: str) -> None:
    assert rule_of("name: café\n".encode(encoding)) in ("yaml/encoding", "yaml/character")


@pytest.mark.parametrize(("text", "place"), rows(__file__, "missing_ends"))
def test_what_is_missing_at_the_end_is_missing_in_a_line_that_exists(text: str, place: str) -> None:
    """If the last line has no line end, libyaml reports the end on a line after it."""
    (problem,) = parsed(text).diagnostics
    assert (problem.rule, str(problem.location)) == ("yaml/syntax", place)


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
