"""A secret is masked wherever Connect quotes it: also in messages about another connector or an invalid document."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.cluster import Cluster
from standin.connect import StandIn
from support.files.quoted_secrets import quoting

VALUE = "correct-horse-battery"
PIN = "org.example.fixtures.PinSource"
VALIDATE = "/connector-plugins/.*/config/validate"
ALWAYS = 1000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workplace, StandIn]]:
    """Two connectors, of which `payments` has a secret under a key that does not reveal it; the ledger is deleted."""
    monkeypatch.setenv("PAYMENTS_PIN", VALUE)
    with StandIn(Cluster()) as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.settings(more='[secrets]\nenv = ["PAYMENTS_*"]')
        at.commit("payments.yaml", at.source("payments", "secrets: {pin: {env: PAYMENTS_PIN}}"))
        at.commit("orders.yaml", at.source("orders"))
        at.apply()
        at.session.close()
        (tmp_path / "state.db").unlink()
        yield at, standin


def everything(at: Workplace, name: str) -> str:
    """The output of all commands that read the cluster, with the plan that one of them saves."""
    saved = at.directory / "plan.json"
    ran = [
        *(at.run("describe", "connector", at.name(name), "-o", form) for form in ("table", "json", "yaml")),
        at.run("plan", "--out", str(saved)),
        *(at.run("plan", "-o", form) for form in ("text", "json", "markdown")),
        *(at.run("status", "-o", form) for form in ("table", "json", "yaml")),
        *(at.run("validate", "-o", form) for form in ("text", "json", "sarif")),
        at.run("run", "--once"),
    ]
    return json.dumps([[one.out, one.err] for one in ran]) + saved.read_text()


def require_masked(shown: str) -> None:
    assert "login with *** refused" in shown
    assert VALUE not in shown
    assert base64.b64encode(f"user:{VALUE}".encode()).decode() not in shown


@pytest.mark.slow
def test_a_trace_that_quotes_a_secret_of_another_connector(place: tuple[Workplace, StandIn]) -> None:
    at, standin = place
    standin.cluster.fail_task(at.name("orders"), 0, quoting(VALUE))
    require_masked(everything(at, "orders"))


@pytest.mark.slow
def test_a_trace_that_quotes_a_password_of_an_unmanaged_connector(place: tuple[Workplace, StandIn]) -> None:
    """Only its plugin says that its key is a password, and it has not failed."""
    at, standin = place
    value = "zebra-staple-9"
    config = {"connector.class": PIN, "pin": value}
    at.rest("POST", "/connectors", {"name": at.name("theirs"), "config": config})
    standin.cluster.fail_task(at.name("orders"), 0, quoting(value))
    shown = everything(at, "orders")
    at.session.close()
    assert "login with *** refused" in shown
    assert value not in shown


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["state: runing", "secrets: {pin: {env: PAYMENTS_PIN}, other: {enw: X}}"])
def test_a_trace_of_a_connector_whose_document_is_invalid(place: tuple[Workplace, StandIn], fault: str) -> None:
    at, standin = place
    secrets = "" if "secrets" in fault else "secrets: {pin: {env: PAYMENTS_PIN}}\n"
    at.commit("payments.yaml", at.source("payments", f"{secrets}{fault}"))
    standin.cluster.fail_task(at.name("payments"), 0, quoting(VALUE))
    require_masked(everything(at, "payments"))


@pytest.mark.slow
def test_nor_does_one_whose_secret_was_changed_since(
    place: tuple[Workplace, StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document still names the key, and the cluster has the value that the trace quotes."""
    at, standin = place
    monkeypatch.delenv("PAYMENTS_PIN")
    at.commit("payments.yaml", at.source("payments", "secrets: {pin: {env: PAYMENTS_PIN}}\nstate: runing"))
    standin.cluster.fail_task(at.name("orders"), 0, quoting(VALUE))
    require_masked(everything(at, "orders"))


def verdict(message: str, key: str = "topic", kind: str = "STRING") -> dict[str, object]:
    definition = {"name": key, "type": kind, "required": True}
    value = {"name": key, "value": None, "errors": [message]}
    return {"name": "x", "error_count": 1, "configs": [{"definition": definition, "value": value}]}


@pytest.mark.slow
def test_a_validation_that_quotes_a_secret_of_another_connector(place: tuple[Workplace, StandIn]) -> None:
    at, standin = place
    standin.answer("PUT", VALIDATE, 200, verdict(f"Invalid value {VALUE} for configuration topic"), times=ALWAYS)
    at.commit("orders.yaml", at.source("orders", topic="other"))
    ran = [
        *(at.run("plan", "-o", form) for form in ("text", "json", "markdown")),
        *(at.run("validate", "-o", form) for form in ("text", "json", "sarif")),
        at.run("status", "-o", "json"),
        at.run("apply", "--yes"),
    ]
    shown = json.dumps([[one.out, one.err] for one in ran])
    assert "Invalid value *** for configuration topic" in shown
    assert VALUE not in shown


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["secret", "type"])
def test_a_validation_that_quotes_the_secret_itself(place: tuple[Workplace, StandIn], kind: str) -> None:
    """A value that does not fit is quoted by Connect's own checks: `Invalid value hunter2 for configuration …`."""
    at, standin = place
    if kind == "secret":  # the stand-in's own answer: it is not a number
        document = at.source("payments", "secrets: {batch.size: {env: PAYMENTS_PIN}}")
    else:
        document = at.source("payments", pin=VALUE, topic="other")
        message = f"Invalid value {VALUE} for configuration pin: too long"
        standin.answer("PUT", VALIDATE, 200, verdict(message, "pin", "PASSWORD"), times=ALWAYS)
    at.commit("payments.yaml", document)
    ran = [
        *(at.run("plan", "-o", form) for form in ("text", "json", "markdown")),
        *(at.run("validate", "-o", form) for form in ("text", "json", "sarif")),
        at.run("plan", "--out", str(at.directory / "plan.json")),
        at.run("status", "-o", "json"),
        at.run("apply", "--yes"),
        at.run("run", "--once"),
    ]
    shown = json.dumps([[one.out, one.err] for one in ran]) + (at.directory / "plan.json").read_text()
    assert "Invalid value *** for configuration" in shown
    assert VALUE not in shown


@pytest.mark.slow
def test_a_rejection_of_a_step_that_quotes_a_secret_of_another_connector(place: tuple[Workplace, StandIn]) -> None:
    at, standin = place
    at.commit("orders.yaml", at.source("orders", topic="other"))
    standin.refuse("PUT", "/connectors/.*/config", 400, f"no login with {VALUE}")
    applied = at.run("apply", "--yes")
    assert "no login with ***" in applied.out + applied.err
    assert VALUE not in applied.out + applied.err


@pytest.mark.slow
def test_describe_of_a_managed_connector_of_which_the_ledger_knows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was applied with the value in clear text, and only the newest commit says that the key is a secret."""
    monkeypatch.setenv("PAYMENTS_PIN", VALUE)
    with StandIn(Cluster()) as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.settings(more='[secrets]\nenv = ["PAYMENTS_*"]')
        at.commit("payments.yaml", at.source("payments", pin=VALUE))
        at.apply()
        at.commit("payments.yaml", at.source("payments", "secrets: {pin: {env: PAYMENTS_PIN}}"))
        ran = [at.run("describe", "connector", at.name("payments"), "-o", form) for form in ("table", "json", "yaml")]
        at.session.close()
    assert [one.code for one in ran] == [0, 0, 0]
    assert all("pin" in one.out and VALUE not in one.out + one.err for one in ran)
