from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.files.document_files import LOCAL, config, connector, declare, declare_one, rules
from support.files.tables import rows

from gitops_connect.model.desired import Mode, OnDelete, OnManualPause, TargetState
from gitops_connect.model.restart_records import AutoRestart, RequestKind, RestartRequest

EXAMPLES = Path(__file__).parents[2] / "examples" / "repo"


def test_defaults() -> None:
    found = declare_one(connector())
    assert found.state is TargetState.RUNNING
    assert found.config == {"connector.class": "com.example.Orders", "tasks.max": "1"}
    assert found.mode is Mode.ENFORCE
    assert not found.suspend
    assert found.secrets == {}
    assert found.ignore == ()
    assert found.auto_restart == AutoRestart(enabled=True, max_restarts=6)
    assert found.restarts == ()
    assert found.on_manual_pause is None
    assert found.on_delete is OnDelete.KEEP


def test_every_field() -> None:
    spec = """\
  class: X
  tasksMax: 0x10
  state: stopped
  version: "[1.0,2.0)"
  config: {name: orders, a: 1.10}
  secrets: {p: {env: P}, q: {file: /q}}
  ignore: ["x.*"]
  mode: observe
  suspend: true
  onManualPause: respect
  autoRestart: {enabled: false, maxRestarts: 3, onlyOn: [Timeout], neverOn: [Authentication]}
  restart: {id: "1", includeTasks: false, onlyFailed: true}
  restartTasks: {id: "2", tasks: [3, 0, 3]}
"""
    found = declare_one(connector("orders", spec))
    assert found.name == "orders"
    config = {"connector.class": "X", "connector.plugin.version": "[1.0,2.0)", "tasks.max": "16", "a": "1.10"}
    assert found.config == config
    assert {key: str(one) for key, one in found.secrets.items()} == {"p": "env:P", "q": "file:/q"}
    assert (found.state, found.mode) == (TargetState.STOPPED, Mode.OBSERVE)
    assert (found.suspend, found.ignore) == (True, ("x.*",))
    assert found.on_manual_pause is OnManualPause.RESPECT
    assert found.auto_restart == AutoRestart(False, 3, ("Timeout",), ("Authentication",))
    assert found.restarts == (
        RestartRequest(RequestKind.CONNECTOR, "1", include_tasks=False, only_failed=True),
        RestartRequest(RequestKind.TASKS, "2", tasks=(0, 3)),
    )
    assert str(found.locate_config("p")) == "a.yaml:11:13"
    assert str(found.locate_config("connector.plugin.version")) == "a.yaml:9:3"
    assert str(found.locate_config("tasks.max")) == "a.yaml:7:3"


@pytest.mark.parametrize(("written", "version"), rows(__file__, "secret_versions"))
def test_a_secret_version_is_a_restart_request_with_the_version_as_it_is_written(written: str, version: str) -> None:
    found = declare_one(connector("a", f"  class: X\n  secretVersion: {written}\n"))
    assert found.restarts == (RestartRequest(RequestKind.SECRETS, version),)


def test_a_version_may_be_in_the_config_and_a_whole_number_may_be_a_float() -> None:
    found = declare_one(connector("a", "  class: X\n  tasksMax: 3.0\n  config: {connector.plugin.version: 1.10}\n"))
    assert (found.config["tasks.max"], found.config["connector.plugin.version"]) == ("3", "1.10")
    assert str(found.locate_config("connector.plugin.version")) == "a.yaml:8:12"


def document(given: str | dict[str, str]) -> str:
    if isinstance(given, str):
        return given
    if "config" in given:
        return config(given["config"], given["name"])
    return connector(given["name"], metadata=f"  cluster: {given['cluster']}\n" if "cluster" in given else "")


@pytest.mark.parametrize("row", rows(__file__, "states"), ids=lambda row: row["case"])
def test_documents_become_the_states_of_their_clusters(row: dict[str, Any]) -> None:
    contents = {path: "---\n".join(map(document, given)) for path, given in row["files"].items()}
    states, diagnostics = declare(contents, row.get("clusters", [LOCAL]))
    found = {str(cluster): [one.name for one in state.connectors] for cluster, state in states.items()}
    assert found == row["connectors"]
    held = {str(cluster): sorted(state.held) for cluster, state in states.items() if state.held}
    assert held == row.get("held", {})
    assert [cluster for cluster, state in states.items() if not state.complete] == row.get("incomplete", [])
    assert sorted(rules(diagnostics)) == row.get("rules", [])
    summaries = [f"{item.location.file}: {item.summary}" for item in diagnostics]
    for file, text in row.get("said", ()):
        assert any(one.startswith(f"{file}: ") and text in one for one in summaries), summaries
    assert {item.connector for item in diagnostics if item.connector} >= {
        one for names in held.values() for one in names
    }


def test_no_config_value_is_in_a_representation() -> None:
    contents = {"a.yaml": config("database.password: hunter2")}
    states, diagnostics = declare(contents)
    assert "hunter2" not in repr(states) + repr(diagnostics)
    assert "hunter2" not in "".join(item.summary + item.hint for item in diagnostics)


def test_the_example_repository_is_sound() -> None:
    paths = [path for path in EXAMPLES.rglob("*") if path.is_file()]
    contents = {path.relative_to(EXAMPLES).as_posix(): path.read_text() for path in paths}
    states, diagnostics = declare(contents)
    assert not diagnostics.items
    assert {one.state for one in states[LOCAL].connectors} == set(TargetState) - {TargetState.ABSENT}
    for name, text in contents.items():
        if name.endswith(".yaml"):
            schema = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
            assert (EXAMPLES / name).parent.joinpath(schema).resolve().is_file()


def test_a_misspelt_annotation_of_gitops_connect_is_reported() -> None:
    annotations = '{runbook: x, "gitops-connect/allow-unknown-keys": "a, b.*,c", "gitops-connect/allow-unknown-key": a}'
    text = connector("a").replace("metadata:", f"metadata:\n  annotations: {annotations}")
    states, diagnostics = declare({"a.yaml": text})
    assert rules(diagnostics) == ["connector/unknown-annotation"]
    assert states[LOCAL].connectors[0].allow_unknown_keys == ("a", "b.*", "c")
