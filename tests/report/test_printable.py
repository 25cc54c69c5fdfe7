"""Characters that do not print are in no output: of any command, page, log, metric, notification or file."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from acceptance.workplace import run_here
from hostile.test_connect_answers import place_of
from hostile.test_connect_values import COMMANDS, spoil
from report.test_values_from_outside import PLANS, with_values
from server.conftest import client, ledger_directory, made, serve
from server.test_pages import PAGES
from standin.connect import StandIn
from starlette.testclient import TestClient
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows
from support.planner.situations import CLUSTER
from support.server.made_up import World

from gitops_connect.cli.logs import JsonFormatter, TextFormatter
from gitops_connect.daemon.notifications import Notification, Outbox
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.report import problems
from gitops_connect.report.code_scanning import code_quality, sarif, workflow_commands
from gitops_connect.report.printable import escaped
from gitops_connect.report.yaml_text import in_json
from gitops_connect.settings.sections import NotificationSettings

__all__ = ["client", "ledger_directory", "made", "serve"]
ODD = (
    "".join(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2060, 0x2070)))
    + "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\ufeff\ufff9\U000e0001\U000e0041"
)
"""Control characters, marks of direction, invisible characters, line ends of Unicode, and tags."""
HALF = "\ud800"


def is_printable(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def documents(odd: str) -> str:
    """Documents with problems that quote a value, and one that is valid."""
    found: list[dict[str, Any]] = [
        {"apiVersion": "gitops-connect/v1", "kind": "Connector", "metadata": {"name": name}, "spec": spec}
        for name, spec in (
            ("more", {"class": "a.B", "config": {f"key{odd}": f"value{odd}"}}),
            (f"odd{odd}", {"class": f"a.B{odd}", f"field{odd}": odd}),
            ("last", {"class": "a.B", "state": f"running{odd}", "config": {"a": [odd]}}),
        )
    ]
    return "\n---\n".join(in_json(json.dumps(one, ensure_ascii=False)) for one in found)


@pytest.mark.slow
def test_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DB_PIN", "CONNECT_PASSWORD"):
        monkeypatch.setenv(name, "hunter2hunter2")
    monkeypatch.chdir(tmp_path)
    with StandIn() as hostile, StandIn() as fine:
        place = place_of(tmp_path, hostile, fine)
        place.write("clusters/hostile/odd.yaml", documents(ODD))
        entry = {"partition": {f"filename{ODD}": ODD}, "offset": {ODD: ODD}}
        (tmp_path / "manifest.jsonl").write_text(json.dumps(entry) + "\n")
        before = {*tmp_path.rglob("*")}
        spoil(hostile, f"java.lang.Error: {ODD}{HALF}", ODD)
        for command in (*COMMANDS, *rows(__file__, "commands")):
            ran = run_here("--chdir", str(tmp_path), *command.split())
            assert ran.code not in (64, 70), (command, ran.err)
            assert [line for line in (ran.out + ran.err).splitlines() if not is_printable(line)] == [], command
            assert is_printable(ran.out + ran.err), command
            if (
                command.endswith("json")
                and not command.startswith(("import", "ledger export ", "offsets get orders --cluster hostile --save"))
                and "--out" not in command
            ):
                assert not ran.out or isinstance(json.loads(ran.out), (dict, list)), ran
            elif command.endswith("-o yaml"):
                yaml.safe_load(ran.out)
    for file in {*tmp_path.rglob("*")} - before:
        assert is_printable(str(file.relative_to(tmp_path)))
        if file.is_file() and not file.name.startswith("state.db"):
            assert is_printable(file.read_text()), file
    for name in ("plan.json", "offsets.json"):
        found = values(json.loads((tmp_path / name).read_text()))
        assert any(ODD in one for one in found), f"{name} has the same values"


def values(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    match value:
        case str():
            yield value
        case dict():
            for key, one in value.items():
                yield key
                yield from values(one)
        case list():
            for one in value:
                yield from values(one)


@pytest.mark.slow
def test_every_page_and_answer(client: TestClient, made: World) -> None:
    state, odd = made.served.daemon.state, ODD + HALF
    view = state.snapshot.clusters[CLUSTER]
    (plan, _) = with_values(PLANS, lambda text: text + odd)
    problem = Diagnostic(Severity.ERROR, "rule", f"what{odd}", Location(f"a{odd}.yaml"), f"hint{odd}", f"one{odd}")
    (first, *others) = view.connectors
    state.update_cluster(
        CLUSTER,
        plan=plan,
        connectors=(with_values(first, lambda text: text + odd), *others),
        diagnostics=Diagnostics.of([problem]),
        error=f"error{odd}",
    )
    clusters = ("clusters", "clusters/local", "clusters/local/plan")
    api = ("status", *clusters, "connectors", "diagnostics", "conditions", "journal")
    paths = (*PAGES, "/metrics", "/clusters/local/plan.txt", *(f"/api/v1/{one}" for one in api))
    quoted = "%E2%80%AE%C2%9B%1B"
    echoes = (f"/clusters/{quoted}", f"/api/v1/clusters/{quoted}", f"/api/v1/journal?limit={quoted}", f"/{quoted}")
    for path in (*paths, *echoes):
        for accept in ("text/html", "*/*"):
            answer = client.get(path, headers={"Accept": accept})
            assert answer.status_code < 500, path
            assert is_printable(answer.text), path
    assert any(odd in one for one in values(client.get("/api/v1/diagnostics").json()))


def test_the_log_and_notifications() -> None:
    odd = ODD + HALF
    error = ValueError(odd)
    record = logging.LogRecord("gitops_connect", logging.ERROR, "", 0, "bug", (), (ValueError, error, None))
    record.fields = {"connector": odd, "message": odd, "keys": [odd], odd: odd}
    line = JsonFormatter().format(record)
    assert line.isprintable()
    assert json.loads(line)["connector"] == odd
    assert is_printable(TextFormatter().format(record))
    library = logging.LogRecord("other", logging.ERROR, "", 0, odd, (), None)
    assert JsonFormatter().format(library).isprintable()
    assert TextFormatter().format(library).isprintable()
    outbox = Outbox(NotificationSettings(), ManualClock())
    outbox.add("step_failed", logging.ERROR, record.fields)
    sent = outbox.next()
    assert isinstance(sent, Notification)
    assert is_printable(sent.title + sent.body)


def test_problems_in_every_format() -> None:
    odd = ODD + HALF
    item = Diagnostic(Severity.ERROR, "rule", f"what{odd}", Location(f"a{odd}"), f"hint{odd}", f"one{odd}")
    found = Diagnostics.of([item])
    for text in map("".join, (problems.problems_json(found, documents=1), sarif(found), code_quality(found))):
        assert is_printable(text)
        json.loads(text)
    assert is_printable("".join(workflow_commands(found)))
    assert is_printable(problems.problems_text(found))


@pytest.mark.slow
def test_what_is_not_printable() -> None:
    """Everything of these categories, in each version of Unicode that Python has."""
    odd = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in odd:
            assert escaped(chr(code)).isascii()
