"""`gitops-connect history`: what it prints of a ledger, and what people did by commands."""

from __future__ import annotations

import csv
import io
import json
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from acceptance.workplace import Workplace, run_apart
from standin.connect import StandIn
from support.files.tables import rows

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import Actor, ActorKind, ManualAction, by_hand

pytestmark = pytest.mark.slow


def steps(at: Workplace, *options: str) -> list[dict[str, object]]:
    return list(json.loads(at.run("history", "-o", "json", *options).expect(0).out))


def test_the_author_of_a_commit_is_the_actor_with_the_request_and_its_answer(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    (created,) = steps(at)
    name, head = at.name("orders"), at.git("rev-parse", "HEAD")
    author = at.git("log", "-1", "--format=%an")
    assert created["actor"] == {"kind": "person", "who": author, "commit": head}
    assert (created["connector"], created["action"], created["result"]) == (name, "create", "applied")
    assert (created["request"], created["answer"], created["approval"]) == ("POST /connectors", "HTTP 201", None)
    at.run("history", "--connector", name, "--commit", head[:7]).expect(
        0, out=("TIME ", f" {name} ", "create", f"{author} ({head[:7]})")
    )
    at.by_hand("pause", "orders")
    at.apply()
    (corrected,) = steps(at, "--actor", "drift-correction")
    assert (corrected["action"], corrected["request"]) == ("resume", f"PUT /connectors/{name}/resume")
    assert corrected["actor"] == {"kind": "drift-correction", "who": None, "commit": head}


def test_each_format_has_the_same_steps(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.run("suspend", "cluster", "local", "--reason", "=1+1").expect(0)
    found = steps(at)
    assert yaml.safe_load(at.run("history", "-o", "yaml").out) == found
    lines = list(csv.DictReader(io.StringIO(at.run("history", "-o", "csv").out)))
    assert (lines[0]["action"], lines[0]["reason"]) == ("suspend", "'=1+1")
    assert [int(line["id"]) for line in lines] == [one["id"] for one in found]
    assert [one["action"] for one in steps(at, "--limit", "1")] == ["suspend"]


def test_yaml_that_takes_long_says_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "gitops-connect.toml").write_text('[clusters.local]\nurl = "http://127.0.0.1:1"\n')
    local, now = ClusterName("local"), datetime(2026, 11, 27, tzinfo=UTC)
    with closing(Ledger.open("sqlite:///state.db", tmp_path, None)) as ledger:
        one = by_hand(Actor(ActorKind.COMMAND), (local, ConnectorName("orders")), ManualAction.SUSPEND, now, "")
        ledger.status.record_steps(local, [one] * 500)
    program = "from gitops_connect.cli import main, progress; progress.FIRST = 0.01; main.main()"
    ran = run_apart([sys.executable, "-c", program, "history", "-o", "yaml"], cwd=tmp_path)
    assert (ran.code, ran.out.count("action: suspend")) == (0, 500)
    assert "History: reading the ledger\n" in ran.err


def test_what_people_did_by_a_command_is_in_the_history(at: Workplace, standin: StandIn) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    name = at.name("orders")
    for command in (
        ["restart", "connector", name],
        ["suspend", "connector", name, "--reason", "INC-4711"],
        ["resume", "connector", name],
        ["resume", "connector", name],
        ["suspend", "cluster", "local"],
        ["resume", "cluster", "local"],
        ["resume", "cluster", "local"],
    ):
        at.run(*command).expect(0)
    found = steps(at, "--actor", "command")
    assert [(one["action"], one["connector"], one["reason"]) for one in reversed(found)] == [
        ("restart", name, "requested by a command"),
        ("suspend", name, "INC-4711"),
        ("end-suspension", name, ""),
        ("suspend", None, ""),
        ("end-suspension", None, ""),
    ]
    assert all("@" in str(one["actor"]) for one in found)
    query = "includeTasks=true&onlyFailed=false"
    assert (found[-1]["request"], found[-1]["answer"]) == (f"POST /connectors/{name}/restart?{query}", "HTTP 202")


def test_a_secret_that_a_failed_restart_quotes_is_not_in_the_history(
    at: Workplace, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPIC", "hunter2-topic")
    at.settings(more='[secrets]\nenv = ["TOPIC"]')
    document = at.source("orders", "secrets: {topic: {env: TOPIC}}")
    at.deploy("orders.yaml", document.replace("    topic: lines\n", ""))
    standin.cluster.fail(at.name("orders"), "java.lang.Boom: hunter2-topic")
    at.run("restart", "connector", at.name("orders")).expect(1)
    (failed,) = steps(at, "--actor", "command")
    assert failed["message"] == "the connector is FAILED again: java.lang.Boom: ***"


def test_a_refusal_of_connect_is_the_answer(at: Workplace, standin: StandIn) -> None:
    standin.refuse("POST", "/connectors", 400, "Connector configuration is invalid: password hunter2", times=9)
    at.commit("orders.yaml", at.source("orders"))
    at.run("apply", "--yes").expect(1)
    (failed,) = steps(at, "--result", "failed")
    assert failed["request"] == "POST /connectors"
    assert str(failed["answer"]).startswith("Connector configuration is invalid")
    assert "(HTTP 400 from http://" in str(failed["answer"])


@pytest.mark.parametrize(("arguments", "message"), rows(__file__, "wrong"))
def test_an_unknown_value_is_an_error(at: Workplace, arguments: list[str], message: str) -> None:
    at.run("history", *arguments).expect(64, out="", err=message)


def test_names_cannot_write_to_the_terminal(at: Workplace) -> None:
    at.run("suspend", "cluster", "local", "--reason", "\x1b[31mred").expect(0)
    for output in ("table", "json", "yaml", "csv"):
        assert "\x1b" not in at.run("history", "-o", output).expect(0, out="red").out
