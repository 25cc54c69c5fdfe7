"""Annotations of Strimzi resources act once for each time that they were added to Git."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from acceptance.test_offsets import Lines
from acceptance.workplace import SOURCE, Workplace

OFFSETS = "strimzi.io/connector-offsets"
ALTER = {OFFSETS: "alter"}


class Resource:
    """A `KafkaConnector` that reads one file, and the ConfigMap of its offsets."""

    def __init__(self, at: Workplace) -> None:
        self.at, self.lines = at, Lines(at)
        self.name = at.name("lines")

    def text(self, annotations: Mapping[str, str], spec: str = "state: stopped", **config: str) -> str:
        value = json.dumps(annotations)
        settings = json.dumps({"file": str(self.lines.file), "topic": self.name, **config})
        return (
            "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
            f"metadata:\n  name: {self.name}\n  labels: {{strimzi.io/cluster: local}}\n  annotations: {value}\n"
            f"spec:\n  class: {SOURCE}\n  tasksMax: 1\n  {spec}\n"
            "  alterOffsets: {fromConfigMap: {name: lines-offsets}}\n"
            "  listOffsets: {toConfigMap: {name: lines-offsets}}\n"
            f"  config: {settings}\n"
        )

    def commit(self, annotations: Mapping[str, str], spec: str = "state: stopped", **config: str) -> str:
        self.at.commit("lines.yaml", self.text(annotations, spec, **config))
        return self.at.git("rev-parse", "HEAD")

    def offsets(self, position: int, entry: str = "offsets.json", *, commit: bool = True) -> None:
        text = json.dumps({"offsets": [self.lines.entry(position)]}, indent=2).replace("\n", "\n    ")
        config_map = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: lines-offsets}}\ndata:\n  {entry}: |\n    {text}\n"
        )
        self.at.write("offsets.yaml", config_map)
        if commit:
            self.at.commit("offsets.yaml", config_map)

    @property
    def position(self) -> int | None:
        return self.lines.position()

    def put(self, position: int) -> None:
        """Change the offset with a request, as someone else may do."""
        self.at.set_offsets("lines", self.lines.entry(position))


@pytest.fixture
def resource(at: Workplace) -> Resource:
    found = Resource(at)
    found.commit({}, "state: running")
    at.apply()
    return found


@pytest.mark.on_kafka
def test_an_annotation_acts_once_for_each_time_that_it_was_added(at: Workplace, resource: Resource) -> None:
    resource.offsets(4)
    first = resource.commit(ALTER)
    at.run("plan").expect(out=(f"offset change {resource.name}.alter.{first[:12]}", f"annotation {OFFSETS}: alter"))
    at.apply()
    assert (resource.position, at.states()) == (4, {"lines": "STOPPED"})
    resource.put(8)
    resource.offsets(6)
    assert "No changes." in at.run("apply", "--yes").out, "the annotation is still there, and did its work"
    resource.commit({})
    at.apply()
    resource.commit(ALTER)
    at.apply()
    assert resource.position == 6
    resource.put(8)
    resource.commit({})
    third = resource.commit(ALTER)
    at.apply()
    assert resource.position == 6, "removed and added again between two reconciliations"
    shown = at.run("ledger", "show").out
    assert f"{resource.name}.alter.{third[:12]}" in shown
    resource.commit({OFFSETS: "reset"})
    at.apply()
    assert resource.position is None
    resource.commit({OFFSETS: "reset"}, "state: running")
    at.apply()
    assert at.states() == {"lines": "RUNNING"}
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_a_force_push_that_replaces_the_commit_asks(at: Workplace, resource: Resource) -> None:
    resource.offsets(4)
    resource.commit(ALTER)
    at.apply()
    resource.put(8)
    at.git("commit", "--quiet", "--amend", "--message", "the same change, by another commit")
    commit = at.git("rev-parse", "HEAD")
    name = f"{resource.name}.alter.{commit[:12]}"
    at.run("plan").expect(said=f"ledger resolve {name}")
    at.run("apply", "--yes")
    assert resource.position == 8, "it is unknown whether the change must be applied again"
    at.commit("another.yaml", at.source("other"))
    at.run("apply", "--yes")
    assert resource.position == 8
    at.run("ledger", "resolve", name, "--not-applied", "--yes").expect(0)
    at.apply()
    assert resource.position == 4
    resource.put(8)
    at.git("commit", "--quiet", "--amend", "--message", "another commit, which did not add the annotation")
    at.apply()
    assert resource.position == 8


def test_a_directory_without_git_acts_once_for_each_value(at: Workplace, resource: Resource) -> None:
    resource.offsets(4, commit=False)
    at.write("lines.yaml", resource.text(ALTER))
    assert at.run("apply", str(at.repository), "--yes").code == 0
    assert resource.position == 4
    resource.put(8)
    assert "No changes." in at.run("apply", str(at.repository), "--yes").out
    resource.commit(ALTER)
    commit = at.git("rev-parse", "HEAD")
    planned = at.run("plan")
    assert f"ledger resolve {resource.name}.alter.{commit[:12]}" in planned.err, "it may be the same change"


def test_a_restart_is_sent_once_for_each_addition(at: Workplace, resource: Resource) -> None:
    commit = resource.commit({"strimzi.io/restart": "true", "strimzi.io/restart-task": "0"}, "state: running")
    planned = at.run("plan")
    for which in ("the annotation strimzi.io/restart: true", "task 0: the annotation strimzi.io/restart-task: 0"):
        assert f"{which}, which commit {commit[:12]} added" in planned.out
    at.apply()
    assert at.run("plan", "--detailed-exitcode").code == 0
    resource.commit({"strimzi.io/restart": "includeTasks,onlyFailed"}, "state: running")
    assert "! restart" in at.apply().out
    assert at.run("plan", "--detailed-exitcode").code == 0


def warnings(at: Workplace, name: str) -> list[tuple[str, str]]:
    """The conditions that `describe` shows: reason and message."""
    (shown,) = json.loads(at.run("describe", "connector", name, "-o", "json").expect(0).out)
    found = shown.get("Warnings", [])
    assert all((one["Type"], one["Status"]) == ("Warning", "True") for one in found)
    return [(one["Reason"], one["Message"]) for one in found]


def test_a_task_that_does_not_exist_is_a_warning_of_apply_until_the_annotation_is_fixed(
    at: Workplace, resource: Resource
) -> None:
    resource.commit({"strimzi.io/restart-task": "7"}, "state: running")
    at.run("apply", "--yes").expect(1)
    ((reason, message),) = warnings(at, resource.name)
    assert reason == "RestartConnectorTask"
    assert message.startswith('Failed to restart the connector task due to "')
    assert "404" in message
    at.run("plan").expect(said=message)
    resource.commit({"strimzi.io/restart-task": "0"}, "state: running")
    at.apply()
    assert warnings(at, resource.name) == []


def test_list_writes_the_config_map_that_alter_reads(at: Workplace, resource: Resource) -> None:
    at.settings(more='[strimzi]\noutput = "repository/offsets"')
    resource.commit({}, "state: stopped")
    at.apply()
    resource.put(4)
    written = at.repository / "offsets" / "lines-offsets.yaml"
    written.parent.mkdir()
    written.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lines-offsets\ndata:\n  kept: |\n    a\n")
    resource.commit({OFFSETS: "list"})
    planned = at.run("plan")
    what = "the current offsets are written to the entry offsets.json of the ConfigMap lines-offsets"
    assert f"* list             {what}" in planned.out
    assert "0 to delete, 1 to list." in planned.out
    applied = at.apply()
    assert f"written to {written}" in applied.err
    assert "warning" not in applied.out + applied.err
    text = written.read_text()
    assert "  kept: |\n    a\n" in text
    block = json.dumps({"offsets": [resource.lines.entry(4)]}, indent=2).replace("\n", "\n    ")
    assert f"  offsets.json: |\n    {block}\n" in text
    resource.put(8)
    assert "No changes." in at.run("apply", "--yes").out
    assert written.read_text() == text
    at.commit("offsets/lines-offsets.yaml", text.replace('"position": 4', '"position": 6'))
    resource.commit(ALTER)
    at.apply()
    assert resource.position == 6


def test_a_list_that_cannot_be_written_is_repeated(at: Workplace, resource: Resource) -> None:
    at.settings(more='[strimzi]\noutput = "in.txt"')
    resource.commit({OFFSETS: "list"})
    for _ in range(2):
        at.run("apply", "--yes").expect(1, said="check [strimzi] output")
    at.run("plan").expect(said="Failed to list the connector offsets for")
    at.settings(more='[strimzi]\noutput = "out"')
    at.apply()
    written = (at.directory / "out" / "lines-offsets.yaml").read_text()
    assert json.loads(written.partition("|")[2]) == {"offsets": [resource.lines.entry(resource.position)]}
    assert written.startswith("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lines-offsets\ndata:\n")


def test_list_commits_to_a_branch_of_the_repository(at: Workplace, resource: Resource) -> None:
    at.git("checkout", "--quiet", "--orphan", "offsets")
    at.git("rm", "--quiet", "-r", "--force", ".")
    at.commit("kept.txt", "kept\n")
    before = at.git("rev-parse", "offsets")
    at.git("checkout", "--quiet", "main")
    at.settings(more='[strimzi]\noutput_branch = "offsets"')
    resource.commit({OFFSETS: "list"})
    at.apply()
    assert at.git("rev-parse", "offsets^") == before
    assert at.git("ls-tree", "--name-only", "offsets").split() == ["kept.txt", "lines-offsets.yaml"]
    about = at.git("log", "-1", "--format=%an: %s", "offsets")
    assert about == f"gitops-connect: List the offsets of {resource.name}"
    assert '"position"' in at.git("show", "offsets:lines-offsets.yaml")
    at.git("branch", "--quiet", "-D", "offsets")
    resource.commit({})
    resource.commit({OFFSETS: "list"})
    at.apply()
    assert at.git("ls-tree", "--name-only", "offsets").split() == ["lines-offsets.yaml"], "the branch is created"
