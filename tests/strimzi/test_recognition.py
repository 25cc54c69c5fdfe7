from __future__ import annotations

import pytest
from support.files.document_files import files, rules
from support.files.strimzi_resources import OPTIONS, SPEC, kafka_connector, read
from support.files.tables import rows

from gitops_connect.documents.load import ParseCache, load
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.strimzi.translation import TranslationCache, translate

LABEL = "  labels: {strimzi.io/cluster: %s}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: offsets}\ndata: {offsets.json: '{}'}\n"
OTHERS = """
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {1: a, 1: b}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: c}
"""


def test_other_kinds_in_the_file_are_ignored_with_their_errors() -> None:
    state, diagnostics = read(kafka_connector() + OTHERS)
    assert [connector.name for connector in state.connectors] == ["orders"]
    assert not diagnostics.items


@pytest.mark.parametrize(
    ("label", "cluster"), [("local", "local"), ("my-connect", "local"), ("other", "other"), ("third", None)]
)
def test_the_label_names_the_cluster(label: str, cluster: str | None) -> None:
    options = StrimziOptions(clusters={**OPTIONS.clusters, "here/third": ClusterName("local")})
    state, diagnostics = read(kafka_connector(metadata=LABEL % label), options)
    assert len(state.connectors) == (cluster == "local")
    assert rules(diagnostics) == (["connector/unknown-cluster"] if cluster is None else [])
    state, _ = read(kafka_connector(metadata=f"  namespace: here\n{LABEL % 'third'}"), options)
    assert len(state.connectors) == 1


def test_a_directory_of_another_cluster_is_a_conflict() -> None:
    state, diagnostics = read({"clusters/other/a.yaml": kafka_connector(metadata=LABEL % "my-connect")})
    (error,) = diagnostics.errors
    assert error.summary == "the resource is for the Connect cluster 'local', but the file is in clusters/other/"
    assert state.held == {"orders"}


def test_a_resource_without_the_label_is_ignored() -> None:
    state, diagnostics = read(kafka_connector(metadata=""))
    assert [(item.severity, item.rule) for item in diagnostics] == [(Severity.NOTE, "strimzi/no-cluster")]
    assert not state.connectors
    assert not state.held
    assert state.complete


@pytest.mark.parametrize(("old", "new", "rule"), rows(__file__, "a_broken_resource_holds_its_connector"))
def test_a_broken_resource_holds_its_connector_also_if_its_kind_or_version_has_a_typo(
    old: str, new: str, rule: str
) -> None:
    name = new.removeprefix("name: ").strip('"') if old.startswith("name:") else "orders"
    state, diagnostics = read(kafka_connector().replace(old, new))
    assert [(item.rule, item.connector) for item in diagnostics.errors] == [(rule, name)]
    assert state.held == {name}
    assert state.complete


@pytest.mark.parametrize("version", ["eventstreams.ibm.com/v1beta2", "kafka.jikkou.io/v1beta1", "aiven.io/v1alpha1"])
def test_the_same_kind_of_another_tool_is_a_hint(version: str) -> None:
    state, diagnostics = read(kafka_connector().replace("kafka.strimzi.io/v1", version))
    assert [(item.severity, item.rule) for item in diagnostics] == [(Severity.WARNING, "document/foreign")]
    assert ("gitops-connect convert" in diagnostics.items[0].hint) is ("jikkou" in version)
    assert not state.connectors
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


def test_braces_in_a_value_do_not_make_a_template() -> None:
    state, diagnostics = read(kafka_connector(SPEC + '  config: {a: "{{x}}"}\n'))
    assert len(state.connectors) == 1
    assert not diagnostics.items


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
