"""Generated inputs for every parser of foreign data: each returns a value, or raises an error that it documents.

`make check` tries a few, `make test-thorough` many. An input that once failed is kept as an `@example`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.files.document_files import MemoryFiles
from support.files.every_field import DOCUMENTS, NEW, OWN, declare, fields, kafka_connector, put, text
from support.files.tables import table
from support.planner.situations import NOW, seen, situation

from gitops_connect.bounded_http import decode
from gitops_connect.connect import wire
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.documents.yaml import parse
from gitops_connect.errors import UsageError
from gitops_connect.model.documents import Blob
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.rules import own_schemas
from gitops_connect.plan.planner import plan
from gitops_connect.report import markdown, plan_json
from gitops_connect.report.printable import one_line
from gitops_connect.report.problems import problems_text
from gitops_connect.report.text import TextReport
from gitops_connect.settings.settings_file import load_settings
from hostile.place import document

pytestmark = pytest.mark.slow

_DOCUMENT = document() + table(__file__, "document_after_orders")
_ENTRIES = [
    {"partition": {"filename": "/a"}, "offset": {"position": 1}},
    {"partition": {"kafka_topic": "ü", "kafka_partition": 0}, "offset": None},
]
_MANIFESTS: Mapping[str, str] = {
    "a.json": json.dumps({"offsets": _ENTRIES}, indent=1),
    "b.json": json.dumps(_ENTRIES),
    "a.jsonl": "\n".join(map(json.dumps, _ENTRIES)),
    **table(__file__, "manifests"),
}
_PACKED = ("a.json.gz", "a.jsonl.zst", "a.yaml.gz", "a.csv.zst")
_PIECES = (
    *"[]{}:,-&*!|>%@`'\"#?~ \n\t\r\0\\",
    *("\ufeff", "\u2028", "\x85", "\x1b[31m", "\U0001f600", "\\ud800", "\\u0000", "[[", "[" * 200, '{"a":' * 200),
    *("---\n", "...\n", "<<: *a", "&a ", "*a", "!!binary ", "apiVersion: gitops-connect/v1\n"),
    *("9" * 350, "1e999", ".inf", "NaN", "0x1", "2026-11-21", "null", "= "),
    *("{x}", "{:>99}", "{0.__class__}", "%s", "%(x)s"),
)


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """A valid text with some parts replaced by other parts of it, by tokens of the formats, or by any characters."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        copied = draw(st.integers(0, len(text)))
        replacement = draw(
            st.just("") | st.sampled_from(_PIECES) | st.text(max_size=4) | st.just(text[copied : copied + 30])
        )
        text = text[:start] + replacement + text[end:]
    return text


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def read_documents(content: bytes) -> None:
    """Each problem can be printed, and its location is a line of the file or the line after its end."""
    file = parse(Blob("a.yaml", "0", content))
    lines = content.count(b"\n") + content.count(b"\r") + content.count(b"\x85") + content.count(b"\x80") + 2
    for problem in file.diagnostics:
        one_line(problem.summary).encode()
        assert 1 <= problem.location.line <= lines
        assert problem.location.column >= 1
    for found in (*file.documents, *file.broken):
        json.dumps(found.value, ensure_ascii=False).encode()
    load(MemoryFiles({"clusters/local/a.yaml": content}), ParseCache())


@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
@example(b"a: " + b"9" * 5000)
@example(b'a: "\\ud800"')
@example(b"? [a]\n: b\n")
@example(b"{")
def test_bytes_as_documents(content: bytes) -> None:
    read_documents(content)


@given(mutated(_DOCUMENT))
@example(_DOCUMENT.replace("1e3", "9" * 350))
@example(_DOCUMENT.replace("1e3", "-" + "9" * 5000 + ".5"))
@example(_DOCUMENT.replace("1e3", "!!int x"))
@example(_DOCUMENT.replace("1e3", "!!timestamp 2026-13-41"))
def test_mutated_documents(text: str) -> None:
    read_documents(encoded(text))


_WORDS = (
    "name version status info connector config tasks state id type trace class configs value definition errors offsets "
    "partition offset message RUNNING PASSWORD"
)
_TEXTS = st.text(max_size=6) | st.sampled_from([*_WORDS.split(), "\ud800", "\x1b[31m", "9" * 400, "4.3.1"])
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | st.just(10**400)


def nested(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """JSON of up to three levels."""
    value = leaves
    for _ in range(3):
        value = leaves | st.lists(value, max_size=3) | st.dictionaries(keys, value, max_size=4)
    return value


_JSON = nested(_SCALARS, _TEXTS)
_FORMATS = "{ } {} {x} {{x}} {:>99} {0!r:^9} {x.y[z]} % %s %(x)s %9$s \\g<1> $x"


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, str]:
    """A document with some fields or keys replaced by format strings, nulls or any other values, and a version."""
    document, version = DOCUMENTS[draw(st.sampled_from(sorted(DOCUMENTS)))]
    formats = st.sampled_from(_FORMATS.split())
    values = nested(st.none() | formats | _SCALARS, formats | _TEXTS)
    for _ in range(draw(st.integers(1, 4))):
        pointer = draw(st.sampled_from([one for one in fields(document) if one[0] not in ("apiVersion", "kind")]))
        if isinstance(pointer[-1], str) and draw(st.booleans()):
            pointer = (*pointer[:-1], draw(formats))
        document = put(document, pointer, draw(values))
    return document, version


@given(documents())
@example((put(OWN["connector"], ("spec", "initialOffsets"), None), NEW))
@example((put(OWN["connector"], ("spec", "config", "file"), "{x}"), NEW))
@example((put(kafka_connector("v1"), ("spec", "{:>1500000000}"), 1), NEW))
def test_format_strings_and_nulls_in_documents(case: tuple[Any, str]) -> None:
    """They are declared, planned for a connector with another config, and reported in each format."""
    state, problems = declare(text(case[0]), case[1])
    for bug in problems.bugs:
        raise AssertionError(text(case[0])) from bug.bug
    observed = [seen(one.name, config={"file": "/b", "topic": "{y}"}) for one in state.connectors]
    before = situation(state.connectors, observed, changes=state.offset_changes)
    planned = plan(replace(before, desired=state))
    TextReport(coloured=True, moves=None, applied=True).plans([planned])
    markdown.render([planned], None)
    plan_json.render([planned], problems, plan_json.PlanOrigin(NOW, planned.revision, None))
    problems_text(problems)


def read_manifest(name: str, content: bytes) -> None:
    found = manifest_parser.parse(Blob(name, "0", content))
    assert found.entries or found.faults
    for fault in found.faults:
        one_line(fault.found).encode()
        assert fault.location.line >= 1
        assert fault.location.column >= 1
    for entry in found.entries:
        assert entry.location.line >= 1


@given(st.binary(max_size=300), st.sampled_from([*_MANIFESTS, *_PACKED]))
@example(b"9" * 5000, "a.json")
@example(b"9" * 5000, "a.yaml")
@example(b'[{"a": ' + b"9" * 350 + b".5}]", "a.json")
@example(b"partition.a\n" + b"9" * 5000, "a.csv")
@example(b'"' * 200_000, "a.csv")
def test_bytes_as_manifests(content: bytes, name: str) -> None:
    read_manifest(name, content)


@pytest.mark.parametrize("name", _MANIFESTS)
@given(st.data())
def test_mutated_manifests(name: str, data: st.DataObject) -> None:
    read_manifest(name, encoded(data.draw(mutated(_MANIFESTS[name]))))


def packed_manifest(name: str) -> bytes:
    pack: Callable[[bytes], bytes] = gzip.compress if name.endswith(".gz") else zstandard.compress
    return pack(_MANIFESTS[name.rpartition(".")[0]].encode())


@given(st.sampled_from(_PACKED), st.data())
def test_damaged_packed_manifests(name: str, data: st.DataObject) -> None:
    content = packed_manifest(name)
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    read_manifest(name, content[:start] + data.draw(st.binary(max_size=8)) + content[end:])


_ENTITIES: Mapping[str, Any] = table(__file__, "answers")
_PARSERS: Mapping[str, Callable[[Any], Any]] = {name: getattr(wire, f"parse_{name}") for name in _ENTITIES}


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The entity with one value, at any depth, replaced by any JSON."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(spoiled(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        return [*value[:-1], draw(spoiled(value[-1]))]
    return draw(_JSON)


def read_wire(name: str, body: bytes) -> None:
    """Assert that the parsed value and any error can be encoded as UTF-8, because they are printed."""
    try:
        value = decode(body)
    except ValueError:
        return
    try:
        repr(_PARSERS[name](value)).encode()
    except wire.UnreadableAnswer as error:
        str(error).encode()


@pytest.mark.parametrize("name", _ENTITIES)
@given(st.data())
def test_answers_of_connect(name: str, data: st.DataObject) -> None:
    read_wire(name, json.dumps(data.draw(spoiled(_ENTITIES[name]))).encode())


@pytest.mark.parametrize("name", _ENTITIES)
@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"1e999", b"NaN", b"\xff", b'"\\ud800"']
)
def test_answers_that_once_failed(name: str, body: bytes) -> None:
    read_wire(name, body)
    read_wire(name, json.dumps(_ENTITIES[name]).encode().replace(b'"a"', body[:40]))


@given(st.lists(st.binary(max_size=40), max_size=5) | st.data())
def test_offsets_as_they_come(content: Any) -> None:
    """The body is cut at any positions into the chunks in which it arrives."""
    if not isinstance(content, list):
        body = encoded(content.draw(mutated(json.dumps(_ENTITIES["offsets"]))))
        cuts = sorted(content.draw(st.lists(st.integers(0, len(body)), max_size=4)))
        content = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    try:
        for line in wire.offset_lines(content):
            assert "\n" not in line
    except wire.UnreadableAnswer as error:
        str(error).encode("utf-8", "backslashreplace")


@given(mutated(table(__file__, "settings")) | st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(f"a = {'[' * 100_000}")
@example(f"a = {'9' * 5000}")
@example(f"[clusters.local]\nurl = 'http://h'\nparallelism = {'9' * 400}")
@example("[clusters.local]\nurl = 'http://h'\ntimeout = nan")
@example("[clusters.local]\nurl = [2026-11-21]")
def test_settings(tmp_path: Path, text: str) -> None:
    read_settings(tmp_path, text, {})


def read_settings(directory: Path, text: str, environment: dict[str, str]) -> None:
    file = directory / "gitops-connect.toml"
    file.write_bytes(encoded(text))
    try:
        load_settings(file, environment)
    except UsageError as error:
        str(error).encode("utf-8", "backslashreplace")


_NAMES = "REPOSITORY__URL STATE__KEY__FILE CLUSTERS__A__URL CLUSTERS__A__TIMEOUT CLUSTERS____URL __A A__"


@given(st.dictionaries(st.sampled_from(_NAMES.split()), st.text(max_size=20) | st.just("9" * 400), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_settings_by_environment(tmp_path: Path, values: dict[str, str]) -> None:
    read_settings(tmp_path, "", {f"GITOPS_CONNECT_{name}": value for name, value in values.items()})


_KEYS = "type properties patternProperties pattern $ref $defs allOf enum required x-unit $id"
_KEYWORDS = st.sampled_from(_KEYS.split())
_SCHEMAS = nested(
    _SCALARS | st.sampled_from(["#", "#/$defs/a", "(a+)+$", "(?=a)", "object", "integer"]), _KEYWORDS | _TEXTS
)


@given(st.dictionaries(_KEYWORDS, _SCHEMAS, max_size=4))
def test_offset_schemas(schema: dict[str, Any]) -> None:
    found = own_schemas.load([("offset-schemas/a.B.schema.json", json.dumps(schema).encode())])
    assert len(found.schemas) + len(found.diagnostics.items) >= 1
    for problem in found.diagnostics:
        one_line(problem.summary).encode()
