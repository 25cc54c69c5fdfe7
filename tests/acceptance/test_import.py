"""What `import` writes from a real Connect is what the worker stores: the first plan only adopts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from acceptance.workplace import MIRROR, SOURCE, Ran, Workplace

pytestmark = pytest.mark.e2e

VALUES = [
    *("true", "0777", "1.10", "12:30", " x ", "", "a\nb\n", " a\r\n\tb", "a: #b", "~"),
    *("\x00\x1b\x7f\u2028", "\U0001f600"),
]


def create(at: Workplace, stem: str, state: str, plugin: str, **config: str) -> None:
    body = {"name": at.name(stem), "config": {"connector.class": plugin, **config}, "initial_state": state}
    at.rest("POST", "/connectors", body)


def imported(at: Workplace, *options: str) -> Ran:
    return at.run("import", "--out", str(at.repository), "--selector", f"*-{at.suffix}", *options).expect(0)


def planned(at: Workplace) -> Any:
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "imported")
    assert at.run("validate").code == 0
    (cluster,) = json.loads(at.run("plan", "-o", "json").out)["clusters"]
    return cluster


def test_the_first_plan_only_adopts_and_the_second_is_empty(real: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(real.directory / "in.txt")
    hostile = {f"x.{number}": value for number, value in enumerate(VALUES)}
    parts = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.a.static.field": "host",
        "transforms.a.static.value": "me",
    }
    create(real, "orders", "RUNNING", SOURCE, file=file, topic=real.name("orders"), **hostile, **parts)
    create(real, "paused", "PAUSED", SOURCE, file=file, topic=real.name("paused"), **{"my.password": "hunter23"})
    aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
    create(
        real, "mirror", "STOPPED", MIRROR, **aliases, **{"ssl.key.password": "hunter24", "ssl.keystore.key": "hunter25"}
    )
    real.await_states(orders="RUNNING", paused="PAUSED", mirror="STOPPED")
    entry = {"partition": {"cluster": "a", "topic": "t", "partition": 0}, "offset": {"offset": 20}}
    real.set_offsets("mirror", entry)
    ran = imported(real, "--with-offsets")
    manifest = Path(real.repository, "clusters", "local", "offsets", f"{real.name('mirror')}.jsonl")
    assert json.loads(manifest.read_text()) == entry
    assert real.run("offsets", "diff", real.name("mirror"), str(manifest)).code == 0
    suffix = real.suffix.upper()
    values = {
        f"PAUSED_{suffix}_MY_PASSWORD": "hunter23",
        f"MIRROR_{suffix}_SSL_KEY_PASSWORD": "hunter24",
        f"MIRROR_{suffix}_SSL_KEYSTORE_KEY": "hunter25",
    }
    assert set(tomllib.loads(ran.out)["secrets"]["env"]) == values.keys()
    assert not [one for one in real.repository.rglob("*.yaml") if "hunter" in one.read_text()]
    for variable, value in values.items():
        monkeypatch.setenv(variable, value)
    real.settings(more=ran.out)
    plan = planned(real)
    steps = [step for one in plan["resource_changes"] for step in one["steps"]]
    assert {(step["action"], step["endpoint"]) for step in steps} == {("adopt", None)}
    assert plan["adopted"] == [real.name(stem) for stem in ("mirror", "orders", "paused")]
    real.apply()
    assert real.config("orders").items() >= hostile.items()
    assert real.run("plan", "--detailed-exitcode").code == 0
