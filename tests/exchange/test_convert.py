"""`gitops-connect convert`: nothing is lost without a message."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from exchange.test_import import HOSTILE
from hypothesis import example, given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.cli.main import run_command
from gitops_connect.exchange.connector_documents import ConvertOptions, convert_all
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, TargetFormat
from gitops_connect.exchange.document_text import text_of
from gitops_connect.exchange.readers import own_documents
from gitops_connect.exchange.readers.reader import read
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziOptions

CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
BODY = f'{{"name": "orders", "config": {{"connector.class": "{CLASS}", "topic": "x"}}}}'
JIKKOU = "kind: KafkaConnector\napiVersion: kafka.jikkou.io/v1\nmetadata: {name: a}\n"
OWN = f"""apiVersion: gitops-connect/v1
kind: Connector
metadata: {{name: orders, cluster: prod, labels: {{team: a}}}}
spec:
  class: {CLASS}
  version: 1.2.3
  tasksMax: 2
  state: stopped
  config: {{topic: x, batch: 1.10}}
  secrets: {{a.b: {{env: A_B}}, c: {{file: /run/secrets/c}}}}
  autoRestart: {{enabled: true, maxRestarts: 3, neverOn: ["*Auth*"]}}
  initialOffsets: {{offsets: [{{partition: {{filename: /a}}, offset: {{position: 3}}}}]}}
  suspend: true
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Convert = Callable[..., Ran]


@pytest.fixture
def convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Convert:
    """Runs the command in a directory of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        code = run_command(["convert", *arguments])
        return Ran(code, *capsys.readouterr())

    return run


def write(name: str, content: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content)


def test_one_file_is_converted_to_stdout(convert: Convert) -> None:
    write("orders.json", BODY)
    ran = convert("orders.json")
    assert ran.code == 0
    assert ran.out == (
        f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata:\n  name: orders\nspec:\n  class: {CLASS}\n"
        "  state: running\n  config:\n    topic: x\n"
    )
    assert "Converted 1 connector of 1 file: no problems." in ran.err


def test_stdin_is_a_file(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"name=orders\nconnector.class=A\n")))
    ran = convert("-", "--to", "json")
    assert (ran.code, json.loads(ran.out)) == (0, {"name": "orders", "config": {"connector.class": "A"}})


def test_a_directory_is_read_with_everything_below_it_except_hidden_files_and_the_output(convert: Convert) -> None:
    write("in/a/orders.json", BODY)
    write("in/b.properties", "name=other\nconnector.class=A\n")
    write("in/.hidden/orders.json", BODY)
    write("in/notes.txt", BODY)
    write("in/kustomization.yaml", "resources: []\n")
    for _ in range(2):
        ran = convert("in", "--out", "in/out", "--force")
        assert ran.code == 0, ran
        assert sorted(str(file) for file in Path("in/out").rglob("*.yaml")) == [
            "in/out/orders.yaml",
            "in/out/other.yaml",
        ]
    rows = [line.split() for line in ran.err.splitlines()[:3]]
    assert rows[1:] == [
        ["orders", "json", "in/a/orders.json:1", "in/out/orders.yaml"],
        ["other", "properties", "in/b.properties:1", "in/out/other.yaml"],
    ]
    assert "in/kustomization.yaml:1:1: note: the document is no connector" in ran.err


def test_no_file_is_overwritten_without_force(convert: Convert) -> None:
    write("in/orders.json", BODY)
    write("in/aaa.json", BODY.replace("orders", "aaa"))
    write("out/orders.yaml", "mine")
    ran = convert("in", "--out", "out")
    assert ran.code == 64
    assert "out/orders.yaml exists already" in ran.err
    assert [file.name for file in Path("out").iterdir()] == ["orders.yaml"]
    assert convert("in", "--out", "out", "--force").code == 0
    assert Path("out/orders.yaml").read_text() != "mine"


def test_the_same_connector_twice_is_an_error_with_both_places(convert: Convert) -> None:
    write("in/a.json", BODY)
    write("in/b.json", f"[{BODY.replace('orders', 'other')},\n{BODY}]")
    ran = convert("in", "--out", "out")
    assert ran.code == 4
    assert "in/a.json:1:1: error: connector orders is declared more than once: also at in/b.json:2:1" in ran.err
    assert "in/b.json:2:1: error: connector orders is declared more than once: also at in/a.json:1:1" in ran.err
    assert [file.name for file in Path("out").iterdir()] == ["other.yaml"]


def test_the_same_name_on_two_clusters_is_two_connectors(convert: Convert) -> None:
    document = f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: orders}}\nspec: {{class: {CLASS}}}\n"
    write("in/clusters/a/orders.yaml", document)
    write("in/clusters/b/orders.yaml", document)
    assert convert("in", "--out", "out", "--to", "json").code == 0
    assert Path("out/clusters/a/orders.json").exists()
    assert Path("out/clusters/b/orders.json").exists()
    assert convert("in", "--cluster", "c").code == 4


def test_a_named_file_without_connectors_is_an_error(convert: Convert) -> None:
    write("package.json", "{}")
    ran = convert("package.json")
    assert ran.code == 4
    assert "the file declares no connector, in any of the formats" in ran.err
    assert convert("missing.json").code == 64


def test_secrets_are_replaced_by_references_which_are_listed(convert: Convert) -> None:
    config = {"connector.class": CLASS, "db.password": "hunter22", "url": "jdbc:x://u:hunter23@db", "mask": "****"}
    config |= {"other.password": "${file:/run/secrets:a}", "empty.password": ""}
    write("orders.json", json.dumps({"name": "orders", "config": config}))
    ran = convert("orders.json", "--out", "out")
    assert ran.code == 0
    assert ran.out.count("# orders: ") == 3
    text = Path("out/orders.yaml").read_text()
    assert "hunter" not in text + ran.out + ran.err
    assert "db.password: {env: ORDERS_DB_PASSWORD}" in text
    assert 'other.password: "${file:/run/secrets:a}"' in text
    ran = convert("orders.json", "--out", "out", "--to", "json")
    assert json.loads(Path("out/orders.json").read_text())["config"]["url"] == "${env:ORDERS_URL}"


@pytest.mark.parametrize(("file", "content"), rows(__file__, "no_message_shows_a_secret"))
def test_no_message_shows_a_secret(convert: Convert, file: str, content: str) -> None:
    if file == "a.tf":
        head = 'resource "kafka-connect_connector" "a" {\nname = "a"\nconfig = {\n"connector.class" = "A"\n'
        content = f"{head}{content}}}\n}}\n"
    write(file, content)
    for target in TargetFormat:
        ran = convert(file, "--to", target.value, "--cluster", "prod")
        assert "hunter2" not in ran.out + ran.err
        assert "123.4" not in ran.out + ran.err
        assert not ran.err.startswith("This is a bug")


def test_an_expression_of_terraform_becomes_a_variable(convert: Convert) -> None:
    config = f'"connector.class" = "{CLASS}"\n"topic" = var.topic\n"tasks.max" = var.tasks\n'
    resource = 'resource "kafka-connect_connector" "x" {\nname = "orders"\nconfig = {\n%s}\n}\n'
    write("a.tf", resource % config)
    ran = convert("a.tf")
    assert ran.code == 4
    assert "a.tf:6:1: error: connector orders: the value of 'tasks.max' is var.tasks" in ran.err
    write("a.tf", resource % config.replace("var.tasks", "2"))
    ran = convert("a.tf")
    assert ran.code == 0
    assert "topic: {env: ORDERS_TOPIC}" in ran.out
    assert "a.tf:5:1: warning: connector orders: the value of 'topic' is var.topic, which is unknown" in ran.err


def test_our_documents_keep_every_field(convert: Convert) -> None:
    write("own.yaml", OWN)
    assert convert("own.yaml", "--out", "out").code == 0
    written = Path("out/clusters/prod/orders.yaml")
    assert yaml.safe_load(written.read_text()) == {
        **yaml.safe_load(OWN),
        "spec": {**yaml.safe_load(OWN)["spec"], "config": {"topic": "x", "batch": "1.10"}},
    }
    text = written.read_text()
    assert convert(str(written), "--out", "out", "--force").code == 0
    assert written.read_text() == text


def test_what_a_format_cannot_express_is_said_for_each_field(convert: Convert) -> None:
    write("own.yaml", OWN)
    ran = convert("own.yaml", "--to", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["initial_state"] == "STOPPED"
    assert json.loads(ran.out)["config"]["connector.plugin.version"] == "1.2.3"
    for line, name in ((3, "labels"), (11, "autoRestart"), (12, "initialOffsets"), (13, "suspend")):
        assert f"own.yaml:{line}:" in ran.err
        assert f"JSON has no counterpart of {name}: it is left out" in ran.err
    assert "the secret of 'c' is read on the worker, from the file /run/secrets/c" in ran.err
    ran = convert("own.yaml", "--to", "strimzi")
    assert ran.code == 0
    lost = [
        line.partition("counterpart of ")[2].partition(":")[0] for line in ran.err.splitlines() if "counter" in line
    ]
    assert lost == ["autoRestart.neverOn", "initialOffsets"]


def test_a_strimzi_resource(convert: Convert) -> None:
    write("own.yaml", OWN)
    assert yaml.safe_load(convert("own.yaml", "--to", "strimzi").out) == {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnector",
        "metadata": {
            "name": "orders",
            "labels": {"strimzi.io/cluster": "prod", "team": "a"},
            "annotations": {"strimzi.io/pause-reconciliation": "true"},
        },
        "spec": {
            "class": CLASS,
            "version": "1.2.3",
            "tasksMax": 2,
            "state": "stopped",
            "autoRestart": {"enabled": True, "maxRestarts": 3},
            "config": {
                "topic": "x",
                "batch": "1.10",
                "a.b": "${strimzienv:A_B}",
                "c": "${strimzidir:/run/secrets:c}",
            },
        },
    }


@pytest.mark.parametrize(("file", "change", "options", "message"), rows(__file__, "refused"))
def test_what_a_format_cannot_have_at_all_is_an_error(
    convert: Convert, file: str, change: list[str], options: list[str], message: str
) -> None:
    write(file, {"own.yaml": OWN, "orders.json": BODY}[file].replace(*change))
    ran = convert(file, *options)
    assert (ran.code, ran.out) == (4, "")
    assert message in ran.err


def test_invalid_documents_and_offset_changes_are_not_converted(convert: Convert) -> None:
    change = "apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {name: a}\n"
    change += "spec: {connector: b, operation: reset}\n"
    write("in/a.yaml", OWN.replace("stopped", "stoped"))
    write("in/b.yaml", change)
    ran = convert("in")
    assert (ran.code, ran.out) == (4, "")
    assert "in/a.yaml:8:3: error: spec.state" in ran.err
    assert "in/b.yaml:2:1: warning: the offset change 'a' is not converted" in ran.err


def test_a_cluster_that_is_a_path_is_no_directory(convert: Convert) -> None:
    metadata = "metadata: {name: a, labels: {kafka.jikkou.io/connect-cluster: ../x}}\n"
    write("in/a.yaml", JIKKOU.replace("metadata: {name: a}\n", metadata) + "spec: {connectorClass: A}\n")
    ran = convert("in", "--out", "out")
    assert ran.code == 4
    assert "'../x' is no name of a cluster" in ran.err
    assert not Path("x").exists()
    assert convert("in", "--out", "out", "--cluster", "prod").code == 0


def test_a_resource_of_strimzi_without_its_cluster_is_an_error(convert: Convert) -> None:
    write(
        "a.yaml",
        f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {{name: a}}\nspec: {{class: {CLASS}}}\n",
    )
    ran = convert("a.yaml")
    assert (ran.code, ran.out) == (4, "")
    assert "or name the cluster with --cluster" in ran.err
    ran = convert("a.yaml", "--cluster", "prod")
    assert ran.code == 0
    assert "  cluster: prod\n" in ran.out


@pytest.mark.parametrize("metadata", ["[a]", "text", "{name: a, labels: [b]}", "{name: a, labels: text}"])
def test_metadata_that_is_no_mapping_is_an_error_and_no_bug(convert: Convert, metadata: str) -> None:
    resource = f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {metadata}\nspec: {{class: C}}\n"
    write("a.yaml", resource)
    ran = convert("a.yaml", "--cluster", "prod")
    assert (ran.code, "[strimzi/no-cluster]" in ran.err) == (4, True)


def test_fields_of_strimzi_resources_without_a_counterpart_are_named(convert: Convert) -> None:
    metadata = "name: a, namespace: kafka, labels: {strimzi.io/cluster: prod, team: b}"
    annotations = 'annotations: {strimzi.io/pause-reconciliation: "true", strimzi.io/restart: "true", note: x}'
    spec = f"{{class: {CLASS}, listOffsets: {{toConfigMap: {{name: x}}}}, config: {{file: '${{strimzienv:FILE}}'}}}}"
    head = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    write("a.yaml", f"{head}metadata: {{{metadata}, {annotations}}}\nspec: {spec}\n")
    ran = convert("a.yaml")
    assert ran.code == 0
    for name in ("the namespace", "the annotation strimzi.io/restart", "listOffsets"):
        assert f"{name} of the resource has no counterpart" in ran.err
    assert "the value of 'file' has a placeholder that only workers of Strimzi resolve" in ran.err
    document = yaml.safe_load(ran.out)
    assert document["metadata"] == {
        "name": "a",
        "cluster": "prod",
        "labels": {"team": "b"},
        "annotations": {"note": "x"},
    }
    assert document["spec"]["suspend"] is True
    assert document["spec"]["autoRestart"] == {"enabled": False}
    assert convert("a.yaml", "--to", "strimzi").err.count("placeholder") == 0


def test_the_settings_name_the_clusters_of_strimzi(convert: Convert) -> None:
    write("gitops-connect.toml", '[clusters.prod]\nurl = ["http://127.0.0.1:1"]\nstrimzi = "my-connect"\n')
    metadata = "metadata: {name: a, labels: {strimzi.io/cluster: my-connect}}\n"
    write("a.yaml", f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n{metadata}spec: {{class: {CLASS}}}\n")
    ran = convert("a.yaml", "--out", "out")
    assert ran.code == 0
    ran = convert("out/clusters/prod/a.yaml", "--to", "strimzi")
    assert ran.code == 0, ran
    assert yaml.safe_load(ran.out)["metadata"]["labels"] == {"strimzi.io/cluster": "my-connect"}


def test_a_mirror_becomes_its_connectors(convert: Convert) -> None:
    cluster = "{{alias: {0}, bootstrapServers: '{0}:9092', groupId: g, configStorageTopic: c,"
    cluster += " offsetStorageTopic: o, statusStorageTopic: s}}"
    spec = f"replicas: 1\n  target: {cluster.format('b')}\n  mirrors:\n"
    spec += "    - source: {alias: a, bootstrapServers: 'a:9092'}\n"
    spec += "      sourceConnector: {tasksMax: 2}\n      checkpointConnector: {}\n"
    write(
        "mm.yaml", f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaMirrorMaker2\nmetadata: {{name: mm}}\nspec:\n  {spec}"
    )
    ran = convert("mm.yaml", "--to", "json", "--out", "out")
    assert ran.code == 0, ran
    body = json.loads(Path("out/clusters/mm/a--b.MirrorSourceConnector.json").read_text())
    assert body["name"] == "a->b.MirrorSourceConnector"
    assert body["config"]["source.cluster.bootstrap.servers"] == "a:9092"
    assert convert("mm.yaml", "--to", "strimzi").code == 4


def read_back(text: str, target: TargetFormat) -> ConnectorDeclaration:
    """The connector of a written file, by the command's own readers."""
    reading = read(Blob(f"orders{target.suffix}", "", text.encode()))
    documents = [*reading.documents]
    documents += own_documents.documents_of(reading.resources, StrimziOptions(workers=True), None).documents
    found = [*reading.declarations, *(own_documents.read(one)[0] for one in documents)]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
keys = st.from_regex(r"[a-z][a-z0-9.:=#_-]{0,10}", fullmatch=True).map(lambda key: f"x{key}")


@pytest.mark.parametrize("target", TargetFormat)
@given(config=st.dictionaries(keys, texts, max_size=4), label=texts)
@example(config={f"x{number}": text for number, text in enumerate(HOSTILE)}, label="yes")
def test_every_config_that_is_written_is_read_back(target: TargetFormat, config: dict[str, str], label: str) -> None:
    name, cluster = ConnectorName("orders"), ClusterName("prod")
    whole = {"connector.class": CLASS, "tasks.max": "2", **config}
    labels = {} if target is TargetFormat.JSON else {"a": label}
    source = ConnectorDeclaration(name, FileFormat.JSON, Location("a"), whole, cluster=cluster, labels=labels)
    (converted,) = convert_all([source], ConvertOptions(target))
    hidden = dict.fromkeys(converted.document.secrets, "")
    text = text_of(converted.document, target)
    found = read_back(text, target)
    assert {**found.config, **hidden} == {**whole, **hidden}
    assert found.labels == labels
    if target is not TargetFormat.JSON:
        values = yaml.safe_load(text)["spec"].get("config", {})
        assert {**values, **hidden} == {**config, **hidden}, "readers of YAML 1.1 read the same strings"
