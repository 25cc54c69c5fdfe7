"""A document or a command restarts a connector and its tasks."""

from __future__ import annotations

import re

import pytest

from acceptance.test_health import broken_sink, fail
from acceptance.workplace import Workplace

REQUESTED = 'restart: {id: "%s", onlyFailed: true}'


@pytest.mark.on_kafka
def test_a_document_restarts_a_failed_task_once_for_each_id(at: Workplace) -> None:
    fail(at)
    sink = broken_sink(at)
    at.commit("sink.yaml", sink.replace("spec:\n", f"spec:\n  {REQUESTED % 1}\n"))
    at.run("plan").expect(out=("! restart", "spec.restart.id is '1'"))
    first = at.run("apply", "--yes")
    assert (first.code, at.tasks("sink")) == (0, ["FAILED"])
    assert "task 0 is FAILED again: " in first.out
    (at.directory / "missing").mkdir()
    assert "No changes." in at.run("apply", "--yes").out, "this id was carried out"
    at.commit("sink.yaml", sink.replace("spec:\n", f"spec:\n  {REQUESTED % 2}\n"))
    assert at.run("apply", "--yes").code == 0
    assert at.tasks("sink") == ["RUNNING"]
    assert at.run("plan", "--detailed-exitcode").code == 0


@pytest.mark.on_kafka
def test_commands_restart_parts_and_report_what_fails_again(at: Workplace) -> None:
    name = at.name("sink")
    fail(at)
    at.run("restart", "connector", name, "--failed").expect(
        1, err="task 0 is FAILED again: org.apache.kafka.connect.errors.ConnectException: Couldn't find or"
    )
    (at.directory / "missing").mkdir()
    suggested = re.search(r"then run: gitops-connect (.+)", at.run("plan").out)
    assert suggested is not None
    restart = ["restart", "connector", name]
    for command in (suggested[1].split(), [*restart, "--task", "0"], restart):
        ran = at.run(*command)
        assert (ran.code, ran.out) == (0, f"{name} on local was restarted.\n")
        assert at.tasks("sink") == ["RUNNING"]
