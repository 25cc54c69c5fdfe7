"""KIP-875, Test Plan: stopped state tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import NotFound
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.sandbox.cluster import Sandbox
from kip875.workbench import ABSENT, LAST, Kind, Workbench

pytestmark = pytest.mark.e2e


def running(bench: Workbench, kind: Kind) -> ConnectorName:
    name = bench.subject(kind).name
    bench.await_state(name, "RUNNING", ["RUNNING"])
    return name


@pytest.mark.parametrize(
    ("request_before", "state", "tasks"),
    [(None, "RUNNING", ["RUNNING"]), ("pause", "PAUSED", ["PAUSED"]), ("stop", "STOPPED", [])],
    ids=["running", "paused", "stopped"],
)
def test_can_stop_a_running_a_paused_or_a_stopped_connector(
    bench: Workbench, kind: Kind, request_before: str | None, state: str, tasks: list[str]
) -> None:
    name = running(bench, kind)
    if request_before:
        getattr(bench.client, request_before)(name)
    bench.await_state(name, state, tasks)
    assert bench.json("PUT", f"/connectors/{name}/stop") == (204, None)
    bench.await_state(name, "STOPPED", [])


def test_cannot_stop_a_nonexistent_connector(bench: Workbench) -> None:
    error = {"error_code": 404, "message": f"Unknown connector {ABSENT}"}
    assert bench.json("PUT", f"/connectors/{ABSENT}/stop") == (404, error)
    with pytest.raises(NotFound, match=f"Unknown connector {ABSENT}"):
        bench.client.stop(ABSENT)


def test_can_delete_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    name = running(bench, kind)
    bench.stop(name)
    assert bench.json("DELETE", f"/connectors/{name}") == (204, None)
    bench.await_that(lambda: name in bench.client.names(), lambda there: not there)
    bench.await_that(lambda: bench.json("GET", f"/connectors/{name}/status")[0], lambda status: status == 404)


def test_cannot_see_tasks_of_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """Connect returns neither their configs nor their status; the connector's config is unchanged."""
    subject = bench.subject(kind)
    name, path = subject.name, f"/connectors/{subject.name}"
    bench.await_state(name, "RUNNING", ["RUNNING"])
    assert [task["id"] for task in bench.json("GET", f"{path}/tasks")[1]] == [{"connector": name, "task": 0}]
    bench.stop(name)
    config = {"name": name, **subject.config}
    entity = {"name": name, "config": config, "tasks": [], "type": kind.value}
    assert bench.json("GET", path) == (200, entity)
    assert bench.json("GET", f"{path}/config") == (200, config)
    assert bench.json("GET", f"{path}/tasks") == (200, [])
    status, body = bench.json("GET", f"{path}/status")
    assert (status, body["connector"]["state"], body["tasks"]) == (200, "STOPPED", [])
    gone = {"error_code": 404, "message": f"No status found for task {name}-0"}
    assert bench.json("GET", f"{path}/tasks/0/status") == (404, gone)


def test_can_resume_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """The connector runs until the last number."""
    subject = bench.subject(kind, TargetState.STOPPED)
    bench.await_state(subject.name, "STOPPED", [])
    bench.run(subject.name)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.stop(subject.name)
    bench.run(subject.name)


def test_can_pause_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """Its tasks are only created when it is resumed."""
    name = running(bench, kind)
    bench.stop(name)
    bench.client.pause(name)
    bench.await_state(name, "PAUSED", [])
    bench.run(name)


@pytest.mark.parametrize("method", ["start", "stop"], ids=["failed", "fails-during-shutdown"])
def test_stopping_a_connector_that_failed_or_that_fails_during_shutdown_updates_its_state_to_stopped(
    bench: Workbench, sandbox: Sandbox, tmp_path: Path, method: str
) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    name = bench.subject(Kind.SOURCE, **{f"{method}.fails.while": str(trouble)}).name
    bench.await_state(name, *(("FAILED", []) if method == "start" else ("RUNNING", ["RUNNING"])))
    bench.stop(name)
    assert failed_to_stop(sandbox, trouble) == (method == "stop")
    trouble.unlink()


@pytest.mark.parametrize("first", ["RUNNING", "FAILED"])
def test_can_resume_a_connector_after_it_has_failed_before_and_during_shutdown(
    bench: Workbench, sandbox: Sandbox, tmp_path: Path, first: str
) -> None:
    """A running connector fails when it is stopped; one that failed at its start has nothing to stop."""
    start, stop = tmp_path / "start", tmp_path / "stop"
    (start if first == "FAILED" else stop).touch()
    subject = bench.subject(Kind.SOURCE, **{"start.fails.while": str(start), "stop.fails.while": str(stop)})
    bench.await_state(subject.name, first, ["RUNNING"] if first == "RUNNING" else [])
    stop.touch()
    bench.stop(subject.name)
    assert failed_to_stop(sandbox, stop) == (first == "RUNNING")
    start.touch()
    bench.client.resume(subject.name)
    bench.await_state(subject.name, "FAILED", [])
    bench.stop(subject.name)
    start.unlink()
    stop.unlink()
    bench.run(subject.name)
    bench.await_offsets(subject.name, subject.offsets(LAST))


def failed_to_stop(sandbox: Sandbox, trouble: Path) -> bool:
    """Whether the connector threw an exception when it was stopped; only the worker's log says so."""
    logs = [part.log for part in sandbox.status()]
    return any(f"the connector cannot stop while there is {trouble}" in log.read_text() for log in logs)
