"""The connector fails after a change was applied: what `apply` reports, and how to recover."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acceptance.test_offsets import change
from acceptance.workplace import Workplace

_FAILED = "FAILED: task 0 is FAILED: org.apache.kafka.connect.errors.ConnectException: number {} is no longer there"


class Numbers:
    """A source that counts to 20. Its task fails at the first poll if it resumes before `oldest`."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        place.settings('min_running = "1.5s"')

    def commit(self, spec: str = "", **config: str) -> None:
        given = {"topic": self.place.name("numbers"), "until": "20", "streams": "a", "oldest": "10", **config}
        given["interval.ms"] = "300"
        plugin = "org.example.fixtures.MovableNumberSource"
        self.place.commit("numbers.yaml", self.place.document("numbers", plugin, spec, given))

    def run(self) -> None:
        self.commit()
        self.place.apply()
        self.place.await_that(self.position, lambda found: found == 20)

    def position(self) -> int | None:
        found = self.place.rest("GET", f"/connectors/{self.place.name('numbers')}/offsets")["offsets"]
        return found[0]["offset"]["position"] if found else None

    def tasks(self) -> list[str]:
        status: dict[str, Any] = self.place.rest("GET", f"/connectors/{self.place.name('numbers')}/status")
        return [task["state"] for task in status["tasks"]]

    def rewind(self, position: int) -> None:
        entry = {"partition": {"stream": "a"}, "offset": {"position": position}}
        spec = f"operation: alter\noffsets: {json.dumps([entry])}\nacknowledge: [rewind]"
        self.place.commit("back.yaml", change("back", self.place.name("numbers"), spec))


@pytest.fixture
def numbers(at: Workplace) -> Numbers:
    return Numbers(at)


def test_an_offset_change_that_kills_the_task_is_a_failure_and_its_undo_leads_back(
    at: Workplace, numbers: Numbers
) -> None:
    numbers.run()
    numbers.rewind(5)
    ran = at.run("apply", "--yes")
    assert ran.code == 1
    assert f"resume {_FAILED.format(5)}" in ran.err
    assert "to restore the offsets, run: gitops-connect offsets undo back" in ran.err
    assert "2 of 3 steps applied, 1 failed" in ran.out
    assert (numbers.position(), numbers.tasks()) == (5, ["FAILED"])

    again = at.run("apply", "--yes")
    assert "1 rewind" not in again.out, "what was applied is not applied again"
    assert numbers.position() == 5

    ran = at.run("offsets", "undo", "back", "--out", str(at.repository / "undo.yaml"))
    assert ran.code == 0, ran
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "take it back")
    at.apply()
    assert (numbers.position(), numbers.tasks()) == (20, ["RUNNING"])


def test_a_new_config_that_kills_the_task_is_a_failure_and_the_config_before_leads_back(
    at: Workplace, numbers: Numbers
) -> None:
    numbers.run()
    numbers.commit(oldest="30")
    ran = at.run("apply", "--yes")
    assert ran.code == 1
    assert f"configure {_FAILED.format(20)}" in ran.err
    assert "fix its config in the repository (Git has the previous version)" in ran.err

    numbers.commit()
    at.apply()
    assert numbers.tasks() == ["RUNNING"]


@pytest.mark.on_kafka
def test_a_new_connector_whose_initial_offsets_kill_its_task_is_ours_and_its_undo_leads_back(
    at: Workplace, numbers: Numbers
) -> None:
    entry = {"partition": {"stream": "a"}, "offset": {"position": 5}}
    numbers.commit(f"initialOffsets: {{offsets: {json.dumps([entry])}}}")
    ran = at.run("apply", "--yes")
    assert ran.code == 1
    assert f"resume {_FAILED.format(5)}" in ran.err
    seed = f"initialOffsets/{at.name('numbers')}"
    assert f"gitops-connect offsets undo {seed}; fix its config in the repository, and apply again" in ran.err
    assert "adopt" not in at.run("plan").out

    ran = at.run("offsets", "undo", seed, "--out", str(at.repository / "undo.yaml"))
    assert ran.code == 0, ran
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "take it back")
    at.apply()
    assert numbers.tasks() == ["RUNNING"]


def test_the_daemon_logs_it_as_an_error_once_and_does_not_repeat_the_step(at: Workplace, numbers: Numbers) -> None:
    numbers.run()
    numbers.rewind(5)
    ran = at.run("run", "--once")
    assert ran.code == 1
    (failed,) = [json.loads(line) for line in ran.err.splitlines() if '"event": "step_failed"' in line]
    assert (failed["level"], failed["event"], failed["action"]) == ("error", "step_failed", "resume")
    assert failed["message"].startswith("task 0 is FAILED: ")
    assert failed["message"].endswith("gitops-connect offsets undo back")
    again = [json.loads(line) for line in at.run("run", "--once").err.splitlines()]
    assert [line["action"] for line in again if line["event"].startswith("step_")] == ["restart"]


def test_a_source_without_tasks_is_a_warning(at: Workplace, numbers: Numbers) -> None:
    numbers.commit(streams='""')
    ran = at.apply()
    assert "warning: it runs without tasks: " in ran.out
    assert "1 warning" in ran.out
