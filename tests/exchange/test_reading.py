"""What is read from each format, and what is said of everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, FileReading
from gitops_connect.exchange.readers.reader import read
from gitops_connect.model.desired import TargetState
from gitops_connect.model.documents import Blob

SOURCE = '"connector.class": "FileStreamSource"'
JIKKOU = "apiVersion: kafka.jikkou.io/v1beta2\nkind: KafkaConnector\nmetadata:\n  name: orders\n"
PROPERTIES = "name=orders\nconnector.class=FileStreamSource\n"
RESOURCE = 'resource "kafka-connect_connector" "x" {\n'
CLASS = 'config = {\n "connector.class" = "FileStreamSource"\n'
SQL = "CREATE SOURCE CONNECTOR `orders` WITH ('connector.class'='FileStreamSource'"


def reading(file: str, content: str, forced: FileFormat | None = None) -> FileReading:
    return read(Blob(file, "", content.encode()), forced)


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


@pytest.mark.parametrize(("file", "content"), rows(__file__, "a_file_without_connectors_is_no_error"))
def test_a_file_without_connectors_is_no_error(file: str, content: str) -> None:
    found = reading(file, content)
    assert not found.recognized
    assert not found.diagnostics.errors


@pytest.mark.parametrize(("file", "content", "config"), rows(__file__, "values_become_the_strings_that_the_tool_sends"))
def test_values_become_the_strings_that_the_tool_sends(file: str, content: str, config: dict[str, str]) -> None:
    assert connector(file, content).config == {"connector.class": "FileStreamSource", **config}


def test_values_that_only_the_tool_knows_are_kept_as_expressions() -> None:
    body = 'name = "a"\n' + CLASS + '"b" = var.b\n"c" = "x-${var.c}"\n"d" = "$${file:/d:e}"\n}\n'
    sensitive = 'config_sensitive = {\n"b" = "secret"\n"e" = f("}")\n}\n'
    found = connector("a.tf", RESOURCE + body + sensitive + "}\n")
    assert found.unknown == {"c": '"x-${var.c}"', "e": 'f("}")'}
    assert found.config == {"connector.class": "FileStreamSource", "b": "secret", "d": "${file:/d:e}"}
    assert found.sensitive == {"b", "e"}
    assert connector("a.sql", SQL + ", 'b'='x-${c}', 'd'=${e});").unknown == {"b": "x-${c}", "d": "${e}"}


@pytest.mark.parametrize(
    ("state", "expected"),
    [("PAUSED", TargetState.PAUSED), ("STOPPED", TargetState.STOPPED), ("FAILED", TargetState.RUNNING)],
)
def test_the_answer_of_connect_shows_the_state(state: str, expected: TargetState) -> None:
    info = {"name": "a", "config": {"connector.class": "A", "name": "a"}, "tasks": [], "type": "sink"}
    answer: dict[str, Any] = {"a": {"info": info, "status": {"connector": {"state": state}}}}
    found = reading("all.json", json.dumps(answer))
    assert [one.state for one in found.declarations] == [expected]
    assert bool(found.diagnostics) == (state == "FAILED")


def test_jikkou_names_the_cluster_in_a_label_and_deletes_by_an_annotation() -> None:
    labels = (
        "  labels: {kafka.jikkou.io/connect-cluster: prod, team: a}\n  annotations: {jikkou.io/delete: true, b: c}\n"
    )
    found = connector("a.yaml", JIKKOU + labels + "spec: {connectorClass: A, state: PAUSED}\n")
    assert (found.cluster, found.labels, found.annotations) == ("prod", {"team": "a"}, {"b": "c"})
    assert found.state is TargetState.ABSENT


def test_lists_and_several_documents_are_read() -> None:
    one = f'{{"name": "a", "config": {{{SOURCE}}}}}'
    assert len(reading("a.json", f"[{one}, {one}]").declarations) == 2
    resources = (JIKKOU + "spec: {connectorClass: A}\n---\n") * 2
    assert [found.location.line for found in reading("a.yaml", resources).declarations] == [1, 7]
    item = JIKKOU.replace("\n", "\n    ").rstrip() + "\n    spec: {connectorClass: A}\n"
    listed = reading("a.yaml", f"apiVersion: v1\nkind: List\nitems:\n  - {item}")
    assert [found.location.line for found in listed.declarations] == [4]


@pytest.mark.parametrize(("content", "expected"), rows(__file__, "recognized_by_content"))
def test_a_file_without_a_suffix_is_recognized_by_its_content(content: str, expected: str) -> None:
    assert connector("-", content).format.value == expected
    (forced,) = reading("file.txt", content, FileFormat(expected)).declarations
    assert forced.format.value == expected


def test_the_user_can_name_the_format_of_another_group() -> None:
    resource = JIKKOU.replace("kafka.jikkou.io", "example.org") + "spec: {connectorClass: A}\n"
    assert not reading("a.yaml", resource).declarations
    assert reading("a.yaml", resource, FileFormat.JIKKOU).declarations


PIECES = [
    *"{}[]()\"'`\\,:=;#-é \n\ufeff\x00",
    *("<<EOT", "EOT", "${", "%{", "$${", "/*", "*/", "--", "\\u", "null", "1e999"),
    *("name", "config", "kind", "items", "spec"),
    *("connector.class", "apiVersion", "metadata", "info", "values", "WITH", "KafkaConnector", '{"a":', "- ", RESOURCE),
    *("kafka.strimzi.io/v1", "kafka.jikkou.io/v1", "CREATE SOURCE CONNECTOR"),
]


@pytest.mark.parametrize("file", ["a.json", "a.yaml", "a.properties", "a.tf", "a.tf.json", "a.sql", "-"])
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
        ("a.sql", SQL + ", '" + "(" * 100_000),
        ("a.properties", PROPERTIES + "a\\" * 100_000),
    ],
)
def test_deep_and_long_files_are_refused_fast(file: str, content: str) -> None:
    reading(file, content)
