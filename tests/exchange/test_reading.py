"""What is read from each format, also of what Java or another writer wrote, and what is said of everything else."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from exchange.writers import HOSTILE, WRITERS, texts
from hypothesis import example, given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, FileReading
from gitops_connect.exchange.readers.properties import MalformedEscape, parse
from gitops_connect.exchange.readers.reader import read
from gitops_connect.exchange.readers.unknown_values import without_marks
from gitops_connect.model.documents import Blob

PROPERTIES = "name=orders\nconnector.class=FileStreamSource\n"
RESOURCE = 'resource "kafka-connect_connector" "x" {\n'
LOCAL = 'resource "aiven_kafka_connector" "x" {\nconnector_name = "a"\nconfig = local.a0\n}\nlocals {\n'
SQL = "CREATE SOURCE CONNECTOR `orders` WITH ('connector.class'='FileStreamSource'"


def reading(file: str, content: str, forced: FileFormat | None = None) -> FileReading:
    return without_marks(read(Blob(file, "", content.encode()), forced), has_cluster=False)


def connector(file: str, content: str) -> ConnectorDeclaration:
    found = reading(file, content)
    (declared,) = found.declarations
    assert not found.diagnostics.errors
    return declared


def problems(found: FileReading) -> list[str]:
    return [f"{one.location.line}: {one.severity.value}: {one.summary} [{one.rule}]" for one in found.diagnostics]


@pytest.mark.parametrize(("file", "content", "expected"), rows(__file__, "rejected"))
def test_what_is_not_understood_is_an_error_with_its_place(file: str, content: str, expected: str) -> None:
    found = reading(file, content)
    assert not found.declarations
    assert found.recognized
    assert any(expected in one and ": error: " in one for one in problems(found)), problems(found)


@pytest.mark.parametrize(("file", "content", "expected"), rows(__file__, "warned"))
def test_what_is_left_out_or_changed_is_a_warning(file: str, content: str, expected: str) -> None:
    found = reading(file, content)
    assert len(found.declarations) == 1
    assert any(expected in one and ": warning: " in one for one in problems(found)), problems(found)


@pytest.mark.parametrize("support", ["enabled", "preparing", "disabled"])
@pytest.mark.parametrize("storage", ["offset.storage.file.filename", "offset.storage.topic"])
def test_a_standalone_worker_that_asks_for_exactly_once_sources_is_noted(storage: str, support: str) -> None:
    found = reading("w.properties", f"bootstrap.servers=a:1\n{storage}=x\nexactly.once.source.support={support}\n")
    noted = [one for one in problems(found) if one.startswith("3: note: a standalone worker ignores exactly.once.")]
    assert len(noted) == (storage == "offset.storage.file.filename" and support != "disabled")


@pytest.mark.parametrize(("file", "content"), rows(__file__, "a_file_without_connectors_is_no_error"))
def test_a_file_without_connectors_is_no_error(file: str, content: str) -> None:
    found = reading(file, content)
    assert not found.recognized
    assert not found.diagnostics.errors


@pytest.mark.parametrize(("file", "content", "expected"), rows(__file__, "reasons"))
def test_what_has_no_connector_gets_the_true_reason(file: str, content: str, expected: str) -> None:
    found = reading(file, content)
    assert not found.recognized
    assert [expected in one for one in problems(found)] == [True], problems(found)


def test_a_body_that_is_sent_again_and_again_is_read_within_the_budget() -> None:
    requests = "".join(f'curl -d "$B" x/connectors/a{number}/config\n' for number in range(100))
    body = json.dumps({"connector.class": "A", "a": "x" * 200_000})
    found = reading("a.sh", f"B='{body}'\n{requests}")
    assert 0 < len(found.declarations) <= 20
    assert "1: error: the texts inside the file have more than 4 levels, 10,000 texts or 4 MiB" in problems(found)[0]


def test_texts_in_texts_are_read_to_a_limit() -> None:
    text = 'curl -d \'{"name": "a", "config": {"connector.class": "A"}}\' x'
    for _ in range(5):
        text = f"bash -c {shlex.quote(text)} # curl @"
    found = reading("a.sh", text)
    assert "the texts inside the file have more than 4 levels" in "".join(problems(found))


@pytest.mark.parametrize(("file", "content", "config"), rows(__file__, "values_become_the_strings_that_the_tool_sends"))
def test_values_become_the_strings_that_the_tool_sends(file: str, content: str, config: dict[str, str]) -> None:
    assert connector(file, content).config == {"connector.class": "FileStreamSource", **config}


@pytest.mark.parametrize("row", rows(__file__, "declared"), ids=lambda row: row["case"])
def test_what_each_connector_of_a_file_declares(row: dict[str, Any]) -> None:
    found = reading(row["file"], row["content"], FileFormat(row["format"]) if "format" in row else None)
    assert len(found.declarations) == len(row["connectors"])
    for declared, expected in zip(found.declarations, row["connectors"], strict=True):
        values = {**asdict(declared), "line": declared.location.line, "sensitive": sorted(declared.sensitive)}
        values |= {"state": declared.state.value, "format": declared.format.value}
        places = {key: f"{place.line}:{place.column}" for key, place in declared.places.items()}
        values["places"] = {key: places[key] for key in expected.get("places", ())}
        assert {name: values[name] for name in expected} == expected
    assert len(found.diagnostics) == row.get("problems", 0)


@pytest.mark.parametrize(("content", "expected"), rows(__file__, "recognized_by_content"))
def test_a_file_without_a_suffix_is_recognized_by_its_content(content: str, expected: str) -> None:
    assert connector("-", content).format.value == expected
    (forced,) = reading("file.txt", content, FileFormat(expected)).declarations
    assert forced.format.value == expected


PIECES = [
    *"{}[]()\"'`\\,:=;#-é \n\ufeff\x00",
    *("<<EOT", "EOT", "${", "%{", "$${", "/*", "*/", "--", "\\u", "null", "1e999"),
    *("name", "config", "kind", "items", "spec"),
    *("connector.class", "apiVersion", "metadata", "info", "values", "WITH", "KafkaConnector", '{"a":', "- ", RESOURCE),
    *("curl -d ", "@a.json ", "x/connectors/a/config ", "\n### \nPUT x\n\n", "```\n", "services", "data", ": |\n  "),
    *("kafka.strimzi.io/v1", "kafka.jikkou.io/v1", "CREATE SOURCE CONNECTOR"),
    *(
        "platform.confluent.io/v1",
        "eventstreams.ibm.com/v1beta2",
        "Template",
        "objects",
        "parameters",
        "${A}",
        "{{ a }}",
    ),
    *(
        'resource "confluent_connector" "x" {',
        "locals {",
        "for_each = ",
        'toset(["a"])',
        "merge(",
        "local.a",
        "each.key",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("file", [*WRITERS, "README.md", "-"])
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30), forced=st.sampled_from([None, *FileFormat]))
def test_no_file_stops_the_command(file: str, pieces: list[str], forced: FileFormat | None) -> None:
    reading(file, "".join(pieces), forced)
    reading(file, " ".join(pieces), forced)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.json", '{"connector.class":' * 200),
        ("a.tf", RESOURCE + "a = " + "{b = " * 200),
        ("a.tf", RESOURCE + 'a = "' + '${"' * 200),
        ("a.tf", RESOURCE + "a = 1 " + "/*" * 100_000),
        ("a.tf", RESOURCE + "a = " + "(" * 100_000),
        pytest.param(
            "a.tf",
            LOCAL + "".join(f"a{n} = merge({f'local.a{n + 1},' * 300})\n" for n in range(12)) + "}",
            marks=pytest.mark.slow,
        ),
        ("a.yaml", f"kind: Template\nparameters: [{{name: A, value: {'a' * 100_000}}}]\nobjects: [{'${A}' * 100_000}]"),
        ("a.sql", SQL + ", '" + "(" * 100_000),
        ("a.properties", PROPERTIES + "a\\" * 100_000),
    ],
)
def test_deep_and_long_files_are_refused_fast(file: str, content: str) -> None:
    reading(file, content)


VECTORS = json.loads(Path(__file__).with_name("java_properties.json").read_text())


def test_every_text_is_read_as_java_reads_it() -> None:
    for text, expected in VECTORS:
        content = text.encode("latin-1")
        if expected is None:
            with pytest.raises(MalformedEscape):
                list(parse(content))
        else:
            assert {one.key: one.value for one in parse(content)} == expected, text


def test_each_property_has_the_number_of_its_first_line() -> None:
    found = list(parse(b"# a comment\n\na=1\\\n  2\r\nb=3\rc=4\n"))
    assert [one[:3] for one in found] == [("a", "12", 3), ("b", "3", 5), ("c", "4", 6)]


keys = st.one_of(
    st.from_regex(r"[a-z][a-z0-9._-]{0,12}", fullmatch=True),
    st.sampled_from(["a b", "a=b", "a:b", "ä", "#a", "!a", "'", '"', "\\", "${x:y}", "a.b", "A"]),
).filter(lambda key: key not in ("name", "connector.class", "config", "tasks.max", "apiVersion", "kind"))


@pytest.mark.slow
@pytest.mark.parametrize("file", WRITERS)
@given(config=st.dictionaries(keys, texts, max_size=4), name=texts.filter(lambda text: text.strip()))
@example(config={f"key{number}": text for number, text in enumerate(HOSTILE)}, name="orders")
def test_a_config_is_read_back_as_it_was(file: str, config: dict[str, str], name: str) -> None:
    whole = {"connector.class": "org.example.Sink", **config}
    content = WRITERS[file](name, whole)
    reading = read(Blob(file, "", content))
    (found,) = reading.declarations
    assert not reading.diagnostics.errors
    assert (found.name, found.config, found.unknown) == (name, whole, {}), content
