from __future__ import annotations

from typing import Any

import pytest
from support.files.document_files import LOCAL, files, rules
from support.files.strimzi_resources import OPTIONS, SPEC, kafka_connector, read
from support.files.tables import rows

from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.strimzi.translation import TranslationCache, translate

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: offsets}\ndata: {offsets.json: '{}'}\n"


@pytest.mark.parametrize("row", rows(__file__, "resources"), ids=lambda row: row["case"])
def test_what_a_resource_declares_and_what_is_said(row: dict[str, Any]) -> None:
    files = row.get("files", {"a.yaml": {}})
    contents = {path: one if isinstance(one, str) else kafka_connector(**one) for path, one in files.items()}
    options = StrimziOptions(
        clusters={**OPTIONS.clusters, "here/third": LOCAL}, api_groups=tuple(row.get("groups", ()))
    )
    state, diagnostics = read(contents, options)
    assert [one.name for one in state.connectors] == row.get("connectors", [])
    assert [one.suspend for one in state.connectors] == [row.get("suspend", False)] * len(state.connectors)
    assert (sorted(state.held), state.complete) == (row.get("held", []), row.get("complete", True))
    found = [f"{item.severity.value}: {item.summary} [{item.rule}] {item.hint}" for item in diagnostics]
    assert len(found) == len(row.get("problems", [])), found
    for problem, expected in zip(found, row.get("problems", []), strict=True):
        assert all(text in problem for text in expected), problem


@pytest.mark.parametrize(("old", "new", "rule"), rows(__file__, "a_broken_resource_holds_its_connector"))
def test_a_broken_resource_holds_its_connector_also_if_its_kind_or_version_has_a_typo(
    old: str, new: str, rule: str
) -> None:
    name = new.removeprefix("name: ").strip('"') if old.startswith("name:") else "orders"
    state, diagnostics = read(kafka_connector().replace(old, new))
    assert [(item.rule, item.connector) for item in diagnostics.errors] == [(rule, name)]
    assert state.held == {name}
    assert state.complete


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("text", rows(__file__, "templates"))
def test_a_template_is_named_and_not_reported_as_broken(text: str) -> None:
    state, diagnostics = read(text)
    assert [(item.severity, item.rule) for item in diagnostics] == [(Severity.WARNING, "strimzi/template")]
    assert "KafkaConnector" in diagnostics.items[0].summary
    assert not state.complete


@pytest.mark.parametrize("kind", ["List", "KafkaConnectorList"])
def test_the_items_of_a_list_are_resources(kind: str) -> None:
    def items(*specs: str) -> str:
        texts = (_indented(kafka_connector(spec, name=f"c{number}")) for number, spec in enumerate(specs))
        return f"apiVersion: v1\nkind: {kind}\nitems:\n" + "".join(f"-{text[1:]}" for text in texts)

    state, diagnostics = read(items(SPEC, "  tasksMax: yes\n"))
    assert [connector.name for connector in state.connectors] == ["c0"]
    assert [(item.connector, item.location.line) for item in diagnostics.errors] == [("c1", 17)]
    state, diagnostics = read(items(SPEC, SPEC + SPEC))
    assert (state.held, rules(diagnostics)) == ({"c0", "c1"}, ["yaml/duplicate-key"])


def test_config_maps_are_parsed_only_if_a_resource_names_one() -> None:
    cache, other = ParseCache(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken\n"
    plain = files({"a.yaml": kafka_connector(), "b.yaml": CONFIG_MAP, "c.yaml": other})
    documents = load(plain, cache)
    assert plain.reads == ["a.yaml", "b.yaml", "c.yaml"]
    assert [one.value["kind"] for one in documents.strimzi] == ["KafkaConnector"]
    assert documents.ignored == 2

    named = kafka_connector(SPEC + "  listOffsets: {toConfigMap: {name: offsets}}\n")
    for again in range(2):
        later = files({"a.yaml": named, "b.yaml": CONFIG_MAP, "c.yaml": other})
        documents = load(later, cache)
        assert later.reads == ([] if again else ["a.yaml", "b.yaml", "c.yaml"])
        assert [one.value["kind"] for one in documents.strimzi] == ["KafkaConnector", "ConfigMap"]
        assert not documents.diagnostics.items
        assert documents.complete


def test_unchanged_resources_are_not_translated_again() -> None:
    parsed, translated = ParseCache(), TranslationCache()
    contents = {"a.yaml": kafka_connector(), "b.yaml": kafka_connector(name="b")}
    before = translate(load(files(contents), parsed), OPTIONS, translated)
    after = translate(load(files(contents | {"b.yaml": kafka_connector(name="c")}), parsed), OPTIONS, translated)
    assert before.documents[0] is after.documents[0]
    assert before.documents[1] is not after.documents[1]
