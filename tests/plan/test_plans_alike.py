"""A second plan is needed only if a check of configs has found something on which plans depend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import seen, situation, wanted

from gitops_connect.connect.validation import Plugin
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.plan.known_secrets import known_secrets
from gitops_connect.plan.planner import plan, plans_alike
from gitops_connect.plan.restarts import find_unhealthy

A = ConnectorName("a")
CONFIG = {"connector.class": "X", "password": "hunter2", "batch": "1"}
PLUGINS = tuple(Plugin("X", ConnectorType.SOURCE, version) for version in ("1", "2"))


@pytest.mark.parametrize(
    ("found", "is_alike"),
    [
        ({}, True),
        ({"passwords": {A: frozenset({"password"})}, "quoted": {A: frozenset()}, "plugins": PLUGINS[:1]}, True),
        ({"passwords": {A: frozenset({"batch"})}}, False),
        ({"quoted": {A: frozenset({"batch"})}}, False),
        ({"invalid": frozenset({A})}, False),
        ({"undescribed": frozenset({A})}, False),
        ({"plugins": PLUGINS}, False),
    ],
)
def test_what_a_check_finds_is_planned_again_only_if_the_plan_would_be_another(
    found: dict[str, Any], *, is_alike: bool
) -> None:
    desired = wanted("a", config=CONFIG)
    before = situation([desired], [seen("a", config={**CONFIG, "batch": "2"})], owned=[A])
    after = replace(before, **found)
    assert plans_alike(before, after, [desired]) is is_alike
    assert not is_alike or plan(before) == plan(after)


def test_what_is_computed_once_for_a_situation_is_computed_again_for_another() -> None:
    given = situation([wanted("a")], [seen("a", config=CONFIG)], owned=[A])
    assert known_secrets(given) is known_secrets(given)
    assert find_unhealthy(given) is find_unhealthy(given)
    assert known_secrets(replace(given, secrets=frozenset({"a-long-secret"}))).shared > known_secrets(given).shared
