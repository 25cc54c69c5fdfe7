"""What a plan says about the versions of a plugin."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.planner.situations import CLASS, seen, situation, wanted

from gitops_connect.connect.validation import Plugin
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Situation

VERSION = "connector.plugin.version"


def notes(given: Situation, *installed: str) -> list[str]:
    plugins = tuple(Plugin(CLASS, ConnectorType.SOURCE, version) for version in installed)
    made = plan(replace(given, plugins=(*plugins, Plugin("org.example.Other", ConnectorType.SINK, "7"))))
    return [note for one in made.connectors for note in one.notes]


def test_the_declared_the_installed_and_the_running_version() -> None:
    declared = wanted("orders", config={VERSION: "[1,2)"})
    assert notes(situation([declared]), "1.0", "1.5", "2.0") == [
        "version of the plugin: declared: [1,2), installed: 1.0, 1.5, 2.0"
    ]
    observed = replace(seen("orders"), version="2.0")
    assert notes(situation([declared], [observed], owned=["orders"]), "1.0", "2.0") == [
        "version of the plugin: declared: [1,2), installed: 1.0, 2.0, running: 2.0"
    ]


@pytest.mark.parametrize("name", [CLASS, "FileStreamSource"])
def test_several_versions_without_a_choice(name: str) -> None:
    several = wanted("orders", config={"connector.class": name})
    found = f"several versions of {name} are installed (1.0, 2.0), and Connect uses the newest"
    assert notes(situation([several]), "1.0", "2.0") == [f"{found}; choose one with spec.version"]
    assert notes(situation([several]), "1.0") == []
    assert notes(situation([several])) == []


def test_a_plan_that_sends_no_config_says_nothing_of_versions() -> None:
    given = situation([wanted("orders", "paused")], [seen("orders")], owned=["orders"])
    assert notes(given, "1.0", "2.0") == []


def test_offsets_that_must_move_on_a_worker_that_cannot_return_them() -> None:
    moving = wanted("orders", offsets_move_within=timedelta(hours=1))
    assert notes(situation([moving], [seen("orders")], owned=["orders"], version="3.4.1")) == [
        "Kafka Connect 3.4.1 cannot return offsets (3.5 and later can): spec.health has no effect"
    ]
