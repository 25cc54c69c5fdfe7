"""What `import` writes is what the worker stores, and it accepts what `convert` writes: no later plan has a step."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from confluent_kafka import Producer
from exchange.test_import import require_adopted
from exchange.writers import HOSTILE, WRITERS

from acceptance.workplace import MIRROR, SOURCE, Workplace
from gitops_connect.sandbox.cluster import Sandbox

VALUES = {f"x.{number}": value for number, value in enumerate(HOSTILE) if not value.startswith("${file:")}
"""A real worker would read the file."""
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    "metadata: {{name: {0}, labels: {{strimzi.io/cluster: other}}}}\n"
    "spec:\n  class: {1}\n  tasksMax: 1\n  state: paused\n  config: {{topic: lines, file: {2}}}\n"
)


def create(at: Workplace, stem: str, state: str, plugin: str, **config: str) -> None:
    body = {"name": at.name(stem), "config": {"connector.class": plugin, **config}, "initial_state": state}
    at.rest("POST", "/connectors", body)


@pytest.mark.on_kafka
def test_the_first_plan_only_adopts_and_the_second_is_empty(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(at.directory / "in.txt")
    parts = {
        "an odd key": "x",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.a.static.field": "host",
        "transforms.a.static.value": "me",
    }
    create(at, "orders", "RUNNING", SOURCE, file=file, topic=at.name("orders"), **VALUES, **parts)
    create(at, "paused", "PAUSED", SOURCE, file=file, topic=at.name("paused"), **{"my.password": "hunter23"})
    url = "jdbc:sqlserver://db;password=hunter26"
    secrets = {"ssl.key.password": "hunter24", "ssl.keystore.key": "hunter25", "x.url": url}
    create(at, "mirror", "STOPPED", MIRROR, **{"source.cluster.alias": "a", "target.cluster.alias": "b"}, **secrets)
    at.await_states(orders="RUNNING", paused="PAUSED", mirror="STOPPED")
    entry = {"partition": {"cluster": "a", "topic": "t", "partition": 0}, "offset": {"offset": 20}}
    at.set_offsets("mirror", entry)
    selected = ("--selector", f"*-{at.suffix}", "--with-offsets")
    ran = at.run("import", "--out", str(at.repository), *selected).expect(0, err="U+0020 (SPACE) at position 3")
    manifest = Path(at.repository, "clusters", "local", "offsets", f"{at.name('mirror')}.jsonl")
    assert json.loads(manifest.read_text()) == entry
    diff = ("offsets", "diff", at.name("mirror"), str(manifest), "--detailed-exitcode")
    assert at.run(*diff).code == 0
    suffix = at.suffix.upper()
    values = {
        f"PAUSED_{suffix}_MY_PASSWORD": "hunter23",
        f"MIRROR_{suffix}_SSL_KEY_PASSWORD": "hunter24",
        f"MIRROR_{suffix}_SSL_KEYSTORE_KEY": "hunter25",
        f"MIRROR_{suffix}_X_URL": url,
    }
    assert set(tomllib.loads(ran.out)["secrets"]["env"]) == values.keys()
    written = "".join(one.read_text() for one in at.repository.rglob("*.yaml"))
    assert "hunter" not in written + ran.out + ran.err
    for variable, value in values.items():
        monkeypatch.setenv(variable, value)
    at.settings(more=ran.out)
    require_adopted(at, *(at.name(stem) for stem in ("mirror", "orders", "paused")))
    at.apply()
    assert at.config("orders").items() >= {**VALUES, **parts}.items()
    assert at.run("plan", "--detailed-exitcode").code == 0


@pytest.mark.on_kafka
def test_a_second_import_writes_only_the_new_connector_and_as_a_resource(at: Workplace) -> None:
    for name in ("first", "second"):
        create(at, name, "STOPPED", SOURCE, topic="lines")  # without tasks.max
        selected = ("--format", "strimzi", "--selector", f"*-{at.suffix}")
        ran = at.run("import", "--out", str(at.repository), *selected).expect(0, err="Wrote 1 connector of")
        require_adopted(at, at.name(name))
        at.apply()
    assert f"Skipped 1 connector that the repository declares already: {at.name('first')}" in ran.err


@pytest.mark.e2e
def test_what_to_do_about_a_connector_that_no_request_can_address(real: Workplace, sandbox: Sandbox) -> None:
    create(real, "a/b", "STOPPED", SOURCE, topic="lines")
    name, remedy = real.name("a/b"), "no request can change or delete it; create it under another name, and remove it"
    real.run("import", "--out", str(real.repository), "--selector", name).expect(1, err=remedy)
    real.run("plan").expect(out=remedy)
    real.run("status").expect(out=remedy)
    producer = Producer({"bootstrap.servers": sandbox.bootstrap})
    for key in (f"target-state-{name}", f"connector-{name}"):
        producer.produce("connect-configs", key=key.encode(), value=None)
    producer.flush()
    real.await_that(lambda: real.rest("GET", "/connectors"), lambda names: name not in names)


@pytest.mark.timeout(300)
def test_converted_files_of_each_format_are_applied_once(at: Workplace) -> None:
    old, file = at.directory / "old", str(at.directory / "in.txt")
    old.mkdir()
    names = {at.name(f"converted-{number}"): path for number, path in enumerate(WRITERS)}
    for name, path in names.items():
        config = {"connector.class": SOURCE, "topic": "lines", "file": file, **VALUES}
        (old / f"{name}.{path.partition('.')[2] or 'sh'}").write_bytes(WRITERS[path](name, config))
    (old / "strimzi.yaml").write_text(STRIMZI.format(at.name("strimzi"), SOURCE, file))
    at.run("convert", str(old), "--cluster", "local", "--out", str(at.repository)).expect(0)
    at.commit_all()
    assert at.run("validate").code == 0
    at.apply()
    assert at.run("plan", "--detailed-exitcode").code == 0
    for name in names:
        assert at.rest("GET", f"/connectors/{name}/config").items() >= VALUES.items(), name
