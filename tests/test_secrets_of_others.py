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

VALUE = "correct-horse-battery"
TRACE = "org.apache.kafka.connect.errors.ConnectException: login with {0} refused\n\tat x\nCaused by: y: {1}"
PIN = "org.example.fixtures.PinSource"
VALIDATE = "/connector-plugins/.*/config/validate"
ALWAYS = 1000


def quoting(value: str) -> str:
    """A stack trace with the secret in clear text and as Basic authentication sends it."""
    return TRACE.format(value, base64.b64encode(f"user:{value}".encode()).decode())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workplace, StandIn]]:
    """Two connectors, of which `payments` has a secret under a key that does not reveal it; the ledger is deleted."""
    monkeypatch.setenv("PAYMENTS_PIN", VALUE)
    with StandIn(Cluster()) as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.settings(more='[secrets]\nenv = ["PAYMENTS_*"]')
        at.commit("payments.yaml", at.source("payments", "secrets: {pin: {env: PAYMENTS_PIN}}"))
        at.deploy("orders.yaml", at.source("orders"))
        at.session.close()
        (tmp_path / "state.db").unlink()
        yield at, standin


def everything(at: Workplace, name: str) -> str:
    """The output of all commands that read the cluster."""
    ran = [at.run("describe", "connector", at.name(name), "-o", form) for form in ("table", "json", "yaml")]
    return json.dumps([[one.out, one.err] for one in ran]) + problems(at)


def problems(at: Workplace) -> str:
    """The output of the commands that show problems, with the plan that one of them saves."""
    saved = at.directory / "plan.json"
    ran = [
        at.run("plan", "--out", str(saved)),
        *(at.run("plan", "-o", form) for form in ("text", "json", "markdown")),
        *(at.run("status", "-o", form) for form in ("table", "json", "yaml")),
        *(at.run("validate", "-o", form) for form in ("text", "json", "sarif")),
        at.run("run", "--once"),
    ]
    return json.dumps([[one.out, one.err] for one in ran]) + saved.read_text()


def require_masked(shown: str, value: str = VALUE) -> None:
    assert "login with *** refused" in shown
    assert value not in shown
    assert base64.b64encode(f"user:{value}".encode()).decode() not in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["orders", "payments"])
def test_a_trace_that_quotes_a_secret_of_another_connector(place: tuple[Workplace, StandIn], name: str) -> None:
    """Or its own, under a key that does not reveal it."""
    at, standin = place
    standin.cluster.fail_task(at.name(name), 0, quoting(VALUE))
    require_masked(everything(at, name))


@pytest.mark.slow
@pytest.mark.parametrize("is_managed", [True, False])
def test_a_trace_that_quotes_a_value_of_type_password(place: tuple[Workplace, StandIn], *, is_managed: bool) -> None:
    """Only its plugin says that its key is a password; no config is sent, so that Connect validates none."""
    at, standin = place
    value = "zebra-staple-9"
    if is_managed:
        at.deploy("theirs.yaml", at.document("theirs", PIN, "", {"pin": value}))
        at.session.close()
        (at.directory / "state.db").unlink()
    else:
        at.rest("POST", "/connectors", {"name": at.name("theirs"), "config": {"connector.class": PIN, "pin": value}})
    failed = "theirs" if is_managed else "orders"
    standin.cluster.fail_task(at.name(failed), 0, quoting(value))
    require_masked(everything(at, failed), value)
    at.session.close()


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
@pytest.mark.parametrize("kind", ["another", "secret", "type"])
def test_a_validation_that_quotes_a_secret(place: tuple[Workplace, StandIn], kind: str) -> None:
    """Of another connector, or the value that does not fit: Connect's own checks quote it in `Invalid value …`."""
    at, standin = place
    if kind == "another":
        standin.answer("PUT", VALIDATE, 200, verdict(f"Invalid value {VALUE} for configuration topic"), times=ALWAYS)
        at.commit("orders.yaml", at.source("orders", topic="other"))
    elif kind == "secret":  # the stand-in's own answer: it is not a number
        at.commit("payments.yaml", at.source("payments", "secrets: {batch.size: {env: PAYMENTS_PIN}}"))
    else:
        message = f"Invalid value {VALUE} for configuration pin: too long"
        standin.answer("PUT", VALIDATE, 200, verdict(message, "pin", "PASSWORD"), times=ALWAYS)
        at.commit("payments.yaml", at.source("payments", pin=VALUE, topic="other"))
    shown = problems(at) + repr(at.run("apply", "--yes"))
    assert "Invalid value *** for configuration" in shown
    assert VALUE not in shown


@pytest.mark.slow
def test_a_rejection_of_a_step_that_quotes_a_secret_of_another_connector(place: tuple[Workplace, StandIn]) -> None:
    at, standin = place
    at.commit("orders.yaml", at.source("orders", topic="other"))
    standin.refuse("PUT", "/connectors/.*/config", 400, f"no login with {VALUE}")
    applied = at.run("apply", "--yes").expect(said="no login with ***")
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
        at.deploy("payments.yaml", at.source("payments", pin=VALUE))
        at.commit("payments.yaml", at.source("payments", "secrets: {pin: {env: PAYMENTS_PIN}}"))
        ran = [at.run("describe", "connector", at.name("payments"), "-o", form) for form in ("table", "json", "yaml")]
        at.session.close()
    assert [one.code for one in ran] == [0, 0, 0]
    assert all("pin" in one.out and VALUE not in one.out + one.err for one in ran)
