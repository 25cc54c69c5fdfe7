"""KIP-875, Test Plan: stopped state tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import NotFound
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.sandbox.cluster import Sandbox
from kip875.workbench import LAST, Kind, Workbench, await_that

pytestmark = pytest.mark.e2e


def running(bench: Workbench, kind: Kind) -> ConnectorName:
    name = bench.subject(kind).name
    bench.await_state(name, "RUNNING", ["RUNNING"])
    return name


def test_can_stop_a_running_connector(bench: Workbench, kind: Kind) -> None:
    name = running(bench, kind)
    assert bench.rest("PUT", f"/connectors/{name}/stop") == (204, None)
    bench.await_state(name, "STOPPED", [])


def test_can_stop_a_paused_connector(bench: Workbench, kind: Kind) -> None:
    name = running(bench, kind)
    bench.client.pause(name)
    bench.await_state(name, "PAUSED", ["PAUSED"])
    bench.stop(name)


def test_can_stop_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    name = running(bench, kind)
    bench.stop(name)
    assert bench.rest("PUT", f"/connectors/{name}/stop") == (204, None)
    bench.await_state(name, "STOPPED", [])


def test_cannot_stop_a_nonexistent_connector(bench: Workbench) -> None:
    with pytest.raises(NotFound, match="Unknown connector no-such-connector"):
        bench.client.stop(ConnectorName("no-such-connector"))


def test_can_delete_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    name = running(bench, kind)
    bench.stop(name)
    assert bench.rest("DELETE", f"/connectors/{name}") == (204, None)
    await_that(lambda: name in bench.client.names(), lambda there: not there)
    await_that(lambda: bench.rest("GET", f"/connectors/{name}/status")[0], lambda status: status == 404)


def test_cannot_see_tasks_of_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """Connect returns neither their configs nor their status; the connector's config is unchanged."""
    subject = bench.subject(kind)
    name, path = subject.name, f"/connectors/{subject.name}"
    bench.await_state(name, "RUNNING", ["RUNNING"])
    assert [task["id"] for task in bench.rest("GET", f"{path}/tasks")[1]] == [{"connector": name, "task": 0}]
    bench.stop(name)
    config = {"name": name, "tasks.max": "1", **subject.config}
    entity = {"name": name, "config": config, "tasks": [], "type": kind.value}
    assert bench.rest("GET", path) == (200, entity)
    assert bench.rest("GET", f"{path}/config") == (200, config)
    assert bench.rest("GET", f"{path}/tasks") == (200, [])
    status, body = bench.rest("GET", f"{path}/status")
    assert (status, body["connector"]["state"], body["tasks"]) == (200, "STOPPED", [])
    gone = {"error_code": 404, "message": f"No status found for task {name}-0"}
    assert bench.rest("GET", f"{path}/tasks/0/status") == (404, gone)


def test_can_resume_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """The connector runs until the last number."""
    subject = bench.subject(kind, TargetState.STOPPED)
    bench.await_state(subject.name, "STOPPED", [])
    bench.resume(subject.name)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    bench.stop(subject.name)
    bench.resume(subject.name)


def test_can_pause_a_stopped_connector(bench: Workbench, kind: Kind) -> None:
    """Its tasks are only created when it is resumed."""
    name = running(bench, kind)
    bench.stop(name)
    bench.client.pause(name)
    bench.await_state(name, "PAUSED", [])
    bench.resume(name)


def test_stopping_a_failed_connector_updates_its_state_to_stopped(bench: Workbench, tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    name = bench.subject(Kind.SOURCE, **{"start.fails.while": str(trouble)}).name
    bench.await_state(name, "FAILED", [])
    bench.stop(name)


def test_stopping_a_connector_that_fails_during_shutdown_updates_its_state_to_stopped(
    bench: Workbench, sandbox: Sandbox, tmp_path: Path
) -> None:
    trouble = tmp_path / "trouble"
    name = bench.subject(Kind.SOURCE, **{"stop.fails.while": str(trouble)}).name
    bench.await_state(name, "RUNNING", ["RUNNING"])
    trouble.touch()
    bench.stop(name)
    assert failed_to_stop(sandbox, trouble)
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
    bench.resume(subject.name)
    bench.await_offsets(subject.name, subject.offsets(LAST))


def failed_to_stop(sandbox: Sandbox, trouble: Path) -> bool:
    """Whether the connector threw an exception when it was stopped; only the worker's log says so."""
    logs = [part.log for part in sandbox.status()]
    return any(f"the connector cannot stop while there is {trouble}" in log.read_text() for log in logs)
