"""`gitops-connect convert`: nothing is lost without a message."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from acceptance.workplace import SOURCE, Ran, run_here
from exchange.writers import HOSTILE, texts
from hypothesis import example, given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.exchange.connector_documents import ConvertOptions, convert_all
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, TargetFormat
from gitops_connect.exchange.document_text import text_of
from gitops_connect.exchange.readers import own_documents
from gitops_connect.exchange.readers.reader import read
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziOptions

pytestmark = pytest.mark.usefixtures("empty_directory")
PAGE = Path(__file__).parents[2] / "docs/reference/convert.md"


def convert(*arguments: str) -> Ran:
    return run_here("convert", *arguments)


def write(name: str, content: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content)


def test_each_example_of_the_page_is_converted() -> None:
    """The page as it is: each block of code, in a file with the suffix of its language."""
    names = {
        "json": "a.json",
        "yaml": "a.yaml",
        "hcl": "a.tf",
        "sh": "a.sh",
        "sql": "a.sql",
        "properties": "a.properties",
    }
    blocks = re.findall(r"(?m)^```(\w+)\n([\s\S]*?)^```", PAGE.read_text())
    examples = [(names[language], text) for language, text in blocks if language in names and "kustomize" not in text]
    converted = []
    for name, text in examples:
        write(name, text)
        converted.append(len(list(yaml.safe_load_all(convert(name).expect(0).out))))
    assert converted == [1, 1, 2, 1, 4, 1, 1, 2, 1, 1, 1]


@pytest.mark.parametrize("row", rows(__file__, "runs"), ids=lambda row: row["case"])
def test_what_is_converted_and_what_is_said(row: dict[str, Any]) -> None:
    for name, content in row["files"].items():
        write(name, content)
    for name, target in row.get("links", {}).items():
        Path(name).symlink_to(target)
    for step in row["steps"]:
        ran = convert(*step["run"]).expect(step.get("code", 0), err=step.get("err", []))
        assert ran.out == step.get("out", ran.out)
        assert [text for text in step.get("no_err", []) if text in ran.err] == []
        if "document" in step:
            assert yaml.safe_load(ran.out) == step["document"]
        if "files" in step:
            assert sorted(str(file) for file in Path("out").rglob("*.*")) == step["files"]
        for name, content in step.get("written", {}).items():
            parse = json.loads if name.endswith(".json") else yaml.safe_load
            assert parse(Path(name).read_text()) == content


def test_stdin_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"name=orders\nconnector.class=A\n")))
    ran = convert("-", "--to", "json").expect(0)
    assert json.loads(ran.out) == {"name": "orders", "config": {"connector.class": "A"}}


def test_the_output_of_kustomize(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `kustomize build` prints it, with buildMetadata: keys are sorted, and resources of all kinds are there."""
    output = Path(__file__).with_name("kustomized.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(output)))
    ran = convert("-", "--out", "out").expect(0)
    assert sorted(str(one) for one in Path("out").rglob("*.yaml")) == [
        f"out/clusters/connect/prod-{name}.yaml" for name in ("orders", "parcels")
    ]
    written = yaml.safe_load(Path("out/clusters/connect/prod-orders.yaml").read_text())
    assert written["metadata"] == {"name": "prod-orders", "cluster": "connect", "labels": {"team": "shop"}}
    assert written["spec"]["config"] == {"file": "/data/orders.txt", "topic": "prod.orders"}
    assert "Converted 2 connectors of 1 file" in ran.err


def test_secrets_are_replaced_by_references_which_are_listed() -> None:
    config = {"connector.class": SOURCE, "db.password": "hunter22", "url": "jdbc:x://u:hunter23@db", "mask": "****"}
    config |= {"other.password": "${file:/run/secrets:a}", "empty.password": ""}
    write("orders.json", json.dumps({"name": "orders", "config": config}))
    ran = convert("orders.json", "--out", "out").expect(0)
    assert ran.out.count("# orders: ") == 3
    text = Path("out/orders.yaml").read_text()
    assert "hunter" not in text + ran.out + ran.err
    assert "db.password: {env: ORDERS_DB_PASSWORD}" in text
    assert 'other.password: "${file:/run/secrets:a}"' in text
    ran = convert("orders.json", "--out", "out", "--to", "json")
    assert json.loads(Path("out/orders.json").read_text())["config"]["url"] == "${env:ORDERS_URL}"


@pytest.mark.slow
@pytest.mark.parametrize(("file", "content"), rows(__file__, "no_message_shows_a_secret"))
def test_no_message_shows_a_secret(file: str, content: str) -> None:
    if file == "a.tf":
        head = 'resource "kafka-connect_connector" "a" {\nname = "a"\nconfig = {\n"connector.class" = "A"\n'
        content = f"{head}{content}}}\n}}\n"
    write(file, content)
    for target in TargetFormat:
        ran = convert(file, "--to", target.value, "--cluster", "prod")
        assert "hunter2" not in ran.out + ran.err
        assert "123.4" not in ran.out + ran.err
        assert not ran.err.startswith("This is a bug")


def test_a_cluster_that_is_a_path_is_no_directory() -> None:
    head = "kind: KafkaConnector\napiVersion: kafka.jikkou.io/v1\n"
    metadata = "metadata: {name: a, labels: {kafka.jikkou.io/connect-cluster: ../x}}\n"
    write("in/a.yaml", f"{head}{metadata}spec: {{connectorClass: A}}\n")
    convert("in", "--out", "out").expect(4, err="'../x' is no name of a cluster")
    assert not Path("x").exists()
    assert convert("in", "--out", "out", "--cluster", "prod").code == 0


KINDS: dict[str, Callable[[int], str]] = {
    "{}.json": lambda at: json.dumps({"name": f"json{at}", "config": {"connector.class": "A"}}),
    "{}.properties": lambda at: f"name=properties{at}\nconnector.class=A\n",
    "{}.sh": lambda at: f"""curl -d '{{"connector.class": "A", "b": "'$B'"}}' x/connectors/sh{at}/config\n""",
    "{}.yaml": lambda at: "kind: Deployment\n",
    "{}.sql": lambda at: "SELECT connector.class",
    "{}.png": lambda at: "\0png",
    "{}.md": lambda at: "connector.class" * (at % 2),
    "directory{0}/notes{0}": lambda at: "text",
}


@pytest.mark.slow
def test_a_directory_of_a_thousand_mixed_files_ends_in_a_summary() -> None:
    for at in range(125):
        for name, content in KINDS.items():
            write(f"in/{name.format(at)}", content(at))
    ran = convert("in", "--out", "out").expect(0)
    assert len(list(Path("out").iterdir())) == 3 * 125
    summary = ran.err[ran.err.index("Converted ") :].splitlines()
    assert summary[:3] == [
        "Converted 375 connectors of 625 files: 312 warnings, 125 notes.",
        "converted: 250 json, 125 properties; 125 with warnings",
        "without connectors: 125 .sql, 125 .yaml",
    ]
    assert summary[3].startswith("skipped: 125 .md, 125 .png, 1 notes")
    assert summary[3].endswith(" and 107 other kinds")


def test_only_the_first_skipped_files_with_connectors_are_listed() -> None:
    for at in range(103):
        write(f"in/{at}.py", "connector.class")
    assert convert("in").expect(0, err="more than 100 skipped files").err.count(": warning: ") == 101


@pytest.mark.slow
def test_the_files_that_scripts_send_have_a_limit() -> None:
    write("a.json", json.dumps({"connector.class": "A", "b": "x" * 6 * 1024**2}))
    write("a.sh", "curl -d @a.json x/connectors/a/config\ncurl -d @a.json x/connectors/b/config\n")
    convert("a.sh").expect(64, err="the files that the scripts send are larger than 10 MiB")


def read_back(text: str, target: TargetFormat) -> ConnectorDeclaration:
    """The connector of a written file, by the command's own readers."""
    reading = read(Blob(f"orders{target.suffix}", "", text.encode()))
    documents = [*reading.documents]
    documents += own_documents.documents_of(reading.resources, StrimziOptions(workers=True), None).documents
    found = [*reading.declarations, *(own_documents.read(one)[0] for one in documents)]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


keys = st.from_regex(r"[a-z][a-z0-9.:=#_-]{0,10}", fullmatch=True).map(lambda key: f"x{key}")


@pytest.mark.slow
@pytest.mark.parametrize("target", TargetFormat)
@given(config=st.dictionaries(keys, texts, max_size=4), label=texts)
@example(config={f"x{number}": text for number, text in enumerate(HOSTILE)}, label="yes")
def test_every_config_that_is_written_is_read_back(target: TargetFormat, config: dict[str, str], label: str) -> None:
    name, cluster = ConnectorName("orders"), ClusterName("prod")
    whole = {"connector.class": SOURCE, "tasks.max": "2", **config}
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
