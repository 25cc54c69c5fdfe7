"""`spec.exactlyOnce`, and what is wrong with the exactly-once keys of a config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.files.document_files import LOCAL, declare
from support.files.tables import rows

from gitops_connect.documents.exactly_once_rules import enforce
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName


def document(spec: Mapping[str, Any]) -> str:
    whole = {"class": "org.example.Source", **spec}
    return json.dumps(
        {"apiVersion": "gitops-connect/v1", "kind": "Connector", "metadata": {"name": "a"}, "spec": whole}
    )


@pytest.mark.parametrize(("fields", "config"), rows(__file__, "fields"))
def test_each_field_sets_a_config_key(fields: Mapping[str, str], config: Mapping[str, str]) -> None:
    states, found = declare({"a.yaml": document({"exactlyOnce": fields, "config": {"topic": "t"}})})
    assert not found.errors
    (connector,) = states[LOCAL].connectors
    assert connector.config == {"connector.class": "org.example.Source", "tasks.max": "1", "topic": "t", **config}
    places = {connector.locate(("spec", "exactlyOnce", field)) for field in fields}
    assert {connector.locate_config(key) for key in config} == places


@pytest.mark.parametrize("case", rows(__file__, "problems"))
def test_problems(case: Mapping[str, Any]) -> None:
    _, found = declare({"a.yaml": document(case["spec"])})
    assert [f"{one.severity.value} {one.rule}: {one.summary}" for one in found] == case["says"]


@pytest.mark.parametrize(("spec", "errors"), rows(__file__, "required"))
def test_the_settings_require_exactly_once(spec: Mapping[str, Any], errors: list[str]) -> None:
    whole = json.loads(document({**spec, "secrets": {"key": {"env": "KEY"}}}))
    states, _ = declare({"a.yaml": json.dumps(whole, indent=1)})
    states, found = enforce(states, {LOCAL: ["b*", "a*"], ClusterName("unknown"): ["*"]})
    assert [f"{one.location.line}: {one.hint}" for one in found.errors] == errors
    assert {one.rule for one in found} <= {"connector/exactly-once-required"}
    state = states[LOCAL]
    assert (len(state.connectors), len(state.held), len(state.held_secrets)) == ((0, 1, 1) if errors else (1, 0, 0))
    assert enforce(states, {LOCAL: ["b*"]}) == (states, Diagnostics())
