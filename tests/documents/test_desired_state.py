from __future__ import annotations

from pathlib import Path

import pytest
from support.files.document_files import LOCAL, config, connector, declare, declare_one, rules

from gitops_connect.documents.desired_state import UNNAMED
from gitops_connect.model.desired import Mode, OnDelete, OnManualPause, TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.restart_records import AutoRestart, RestartKind, RestartRequest

EXAMPLES = Path(__file__).parents[2] / "examples" / "repo"
BACKUP = ClusterName("backup")


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
        RestartRequest(RestartKind.CONNECTOR, "1", include_tasks=False, only_failed=True),
        RestartRequest(RestartKind.TASKS, "2", tasks=(0, 3)),
    )
    assert str(found.locate_config("p")) == "a.yaml:11:13"
    assert str(found.locate_config("connector.plugin.version")) == "a.yaml:9:3"
    assert str(found.locate_config("tasks.max")) == "a.yaml:7:3"


@pytest.mark.parametrize(
    ("written", "version"), [("2", "2"), ('"2"', "2"), ("007", "007"), ("2026-11-22", "2026-11-22")]
)
def test_a_secret_version_is_a_restart_request_with_the_version_as_it_is_written(written: str, version: str) -> None:
    found = declare_one(connector("a", f"  class: X\n  secretVersion: {written}\n"))
    assert found.restarts == (RestartRequest(RestartKind.SECRETS, version),)


def test_a_version_in_the_config_is_the_same_as_spec_version() -> None:
    found = declare_one(connector("a", "  class: X\n  config: {connector.plugin.version: 1.10}\n"))
    assert found.config["connector.plugin.version"] == "1.10"
    assert str(found.locate_config("connector.plugin.version")) == "a.yaml:7:12"


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert declare_one(connector("a", "  class: X\n  tasksMax: 3.0\n")).config["tasks.max"] == "3"


def test_connectors_are_sorted_and_go_to_their_clusters() -> None:
    contents = {
        "clusters/local/z.yaml": connector("b") + "---\n" + connector("a"),
        "clusters/backup/z.yaml": connector("a"),
        "any/where.yaml": connector("c", metadata="  cluster: backup\n"),
    }
    states, diagnostics = declare(contents, ["local", "backup", "empty"])
    assert not diagnostics.items
    names = {cluster: [one.name for one in state.connectors] for cluster, state in states.items()}
    assert names == {"local": ["a", "b"], "backup": ["a", "c"], "empty": []}


def test_without_settings_any_cluster_is_accepted() -> None:
    states, diagnostics = declare({"clusters/x/a.yaml": connector("a"), "b.yaml": connector("b")}, None)
    assert not diagnostics.items
    assert set(states) == {"x", UNNAMED}


def test_without_settings_a_name_still_has_one_owner() -> None:
    _, diagnostics = declare({"a.yaml": connector("a"), "b.yaml": connector("a")}, None)
    assert rules(diagnostics) == ["connector/two-owners"] * 2


def test_a_deeper_clusters_directory_names_no_cluster() -> None:
    states, diagnostics = declare({"infra/clusters/other/a.yaml": connector("a")})
    assert not diagnostics.items
    assert [one.name for one in states[LOCAL].connectors] == ["a"]


def test_a_file_next_to_the_cluster_directories_names_no_cluster() -> None:
    states, _ = declare({"clusters/a.yaml": connector("a")})
    assert [one.name for one in states[LOCAL].connectors] == ["a"]


def test_two_documents_of_one_connector_are_both_named_and_block_it() -> None:
    contents = {"a.yaml": connector("orders"), "b.yaml": connector("orders"), "c.yaml": connector("other")}
    states, diagnostics = declare(contents)
    assert [(item.location.file, "b.yaml:4:3" in item.summary) for item in diagnostics] == [
        ("a.yaml", True),
        ("b.yaml", False),
    ]
    assert states[LOCAL].held == {"orders"}
    assert [one.name for one in states[LOCAL].connectors] == ["other"]
    assert states[LOCAL].complete


def test_a_broken_second_document_counts_as_one() -> None:
    states, diagnostics = declare({"a.yaml": connector("orders"), "b.yaml": config("a: []")})
    assert sorted(rules(diagnostics)) == ["connector/two-owners", "connector/two-owners", "schema/type"]
    assert states[LOCAL].held == {"orders"}


def test_the_same_name_on_two_clusters_is_two_connectors() -> None:
    contents = {"clusters/local/a.yaml": connector("a"), "clusters/backup/a.yaml": config("a: []", "a")}
    states, _ = declare(contents, [LOCAL, BACKUP])
    assert [one.name for one in states[LOCAL].connectors] == ["a"]
    assert not states[LOCAL].held
    assert states[BACKUP].held == {"a"}


def test_each_kind_of_error_blocks_its_own_connector_and_no_other() -> None:
    contents = {
        "a.yaml": config("a: 1\na: 2", "duplicate") + "---\n" + connector("good"),
        "b.yaml": config("a: []", "shape") + "---\n" + connector("fine"),
        "c.yaml": config("name: other", "rule"),
        "d.yaml": connector("version").replace("gitops-connect/v1", "gitopsconnect/v1"),
    }
    states, diagnostics = declare(contents)
    assert {item.connector for item in diagnostics} == {"duplicate", "shape", "rule", "version"}
    assert states[LOCAL].held == {"duplicate", "shape", "rule", "version"}
    assert [one.name for one in states[LOCAL].connectors] == ["fine", "good"]
    assert states[LOCAL].complete


def test_a_warning_blocks_nothing() -> None:
    states, diagnostics = declare({"a.yaml": config("database.password: hunter2")})
    assert rules(diagnostics) == ["connector/clear-secret"]
    assert not states[LOCAL].held
    assert "hunter2" not in "".join(item.summary + item.hint for item in diagnostics)


def test_a_document_of_an_unknown_cluster_blocks_its_name_where_no_other_document_declares_it() -> None:
    """If the directory has a typo, the connector must not be pruned as undeclared."""
    contents = {"clusters/lcoal/a.yaml": connector("a"), "clusters/backup/a.yaml": connector("a")}
    states, diagnostics = declare(contents, [LOCAL, BACKUP])
    assert rules(diagnostics) == ["connector/unknown-cluster"]
    assert states[LOCAL].held == {ConnectorName("a")}
    assert not states[BACKUP].held


def test_a_document_without_a_name_leaves_every_state_incomplete() -> None:
    states, _ = declare({"a.yaml": connector("12"), "b.yaml": connector("b")}, [LOCAL])
    assert not states[LOCAL].complete
    assert [one.name for one in states[LOCAL].connectors] == ["b"]


def test_an_unreadable_file_leaves_every_state_incomplete() -> None:
    states, _ = declare({"clusters/local/a.yaml": connector() + "a: [", "b.yaml": ""}, [LOCAL, BACKUP])
    assert not states[LOCAL].complete
    assert not states[BACKUP].complete


def test_no_config_value_is_in_a_representation() -> None:
    contents = {"a.yaml": config("database.password: hunter2")}
    states, diagnostics = declare(contents)
    assert "hunter2" not in repr(states) + repr(diagnostics)


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
