from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.files.document_files import rules
from support.files.strimzi_resources import OPTIONS, SPEC, kafka_connector, one, read, with_config
from support.files.tables import rows

from gitops_connect.model.desired import TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.restart_records import AutoRestart
from gitops_connect.model.strimzi import StrimziVersion


def test_every_field_reaches_the_connector() -> None:
    spec = """\
  class: com.example.Orders
  tasksMax: 3
  state: stopped
  version: "[3.2,4)"
  autoRestart: {maxRestarts: 4}
  config:
    topics: orders
    batch.size: 1e3
    enabled: yes
    ratio: 0.50
"""
    connector = one(kafka_connector(spec))
    assert (connector.name, connector.state) == ("orders", TargetState.STOPPED)
    assert connector.auto_restart == AutoRestart(enabled=True, max_restarts=4)
    assert connector.config == {
        "connector.class": "com.example.Orders",
        "tasks.max": "3",
        "connector.plugin.version": "[3.2,4)",
        "topics": "orders",
        "batch.size": "1000",
        "enabled": "true",
        "ratio": "0.5",
    }
    assert connector.locate_config("batch.size") == Location("a.yaml", 14, 5)
    assert connector.locate_config("tasks.max") == Location("a.yaml", 8, 3)


@pytest.mark.parametrize(("lines", "expected"), rows(__file__, "automatic_restarts"))
def test_automatic_restarts_are_those_of_strimzi(lines: str, expected: dict[str, Any]) -> None:
    assert one(kafka_connector(SPEC + lines)).auto_restart == AutoRestart(**expected)


@pytest.mark.parametrize(("lines", "enabled"), [("", True), ("  autoRestart: {enabled: false}\n", False)])
def test_the_settings_can_restart_as_proposal_007(lines: str, enabled: bool) -> None:
    found = one(kafka_connector(SPEC + lines), replace(OPTIONS, auto_restart=True))
    assert found.auto_restart == (AutoRestart(max_restarts=10000) if enabled else AutoRestart(enabled=False))


@pytest.mark.parametrize(("version", "lines", "state", "problems"), rows(__file__, "pause"))
def test_the_older_field_pause(version: str, lines: str, state: str, problems: list[str]) -> None:
    declared, diagnostics = read(kafka_connector(SPEC + lines, version=version))
    assert [connector.state for connector in declared.connectors] == [TargetState(state)]
    assert rules(diagnostics) == problems


@pytest.mark.parametrize(
    ("key", "since"), [("Connector.Class", 17), ("tasks.max", 17), ("name", 42), ("connector.plugin.version", 50)]
)
def test_keys_that_strimzi_sets_itself_are_dropped(key: str, since: int) -> None:
    text = with_config(f"{key}: orders")
    for minor, dropped in ((since - 1, since == 17), (since, True)):
        state, diagnostics = read(text, replace(OPTIONS, version=StrimziVersion(0, minor)))
        assert len(state.connectors) == 1
        assert state.connectors[0].config.get(key) != "orders" or not dropped
        assert rules(diagnostics) == ["strimzi/forbidden-key"] * dropped


@pytest.mark.parametrize(("text", "summary"), rows(__file__, "a_value_that_strimzi_rejects_blocks_the_connector"))
def test_a_value_that_strimzi_rejects_blocks_the_connector(text: str, summary: str) -> None:
    state, diagnostics = read(with_config(text))
    assert [(item.summary, item.location.line) for item in diagnostics.errors] == [(summary, 9)]
    assert state.held == {"orders"}
    assert not state.connectors


def test_placeholders_are_replaced_unless_strimzi_deploys_the_workers() -> None:
    text = with_config("a: ${strimzienv:A}\nb: ${env:B}")
    mapped = one(text, replace(OPTIONS, placeholders={"strimzienv:": "env:"})).config
    assert (mapped["a"], mapped["b"]) == ("${env:A}", "${env:B}")
    assert one(text, replace(OPTIONS, workers=True)).config["a"] == "${strimzienv:A}"


def test_a_field_that_an_old_operator_does_not_know_may_have_any_content() -> None:
    old = replace(OPTIONS, version=StrimziVersion(0, 16))
    _, diagnostics = read(kafka_connector(SPEC + "  listOffsets: {}\n", version="v1alpha1"), old)
    assert "internal/error" not in rules(diagnostics)
