"""KIP-875, Test Plan: stopped state tests. Absent connectors are tested in `tests/contract`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import NotStopped
from gitops_connect.sandbox.cluster import Sandbox
from kip875.workbench import LAST, Kind, Workbench

pytestmark = pytest.mark.e2e


def test_a_connector_is_stopped_from_every_state_and_goes_on_from_there(bench: Workbench, kind: Kind) -> None:
    """Connect returns neither the configs nor the status of tasks of a stopped connector. A resume creates them."""
    subject = bench.subject(kind)
    name, path = subject.name, f"/connectors/{subject.name}"
    bench.await_state(name, "RUNNING", ["RUNNING"])
    assert [task["id"] for task in bench.json("GET", f"{path}/tasks")[1]] == [{"connector": name, "task": 0}]
    bench.stop(name)
    bench.client.pause(name)
    bench.await_state(name, "PAUSED", [])
    bench.run(name)
    bench.await_offsets(name, subject.offsets(LAST))
    bench.client.pause(name)
    bench.await_state(name, "PAUSED", ["PAUSED"])
    for _ in range(2):
        assert bench.json("PUT", f"{path}/stop") == (204, None)
        bench.await_state(name, "STOPPED", [])

    config = {"name": name, **subject.config}
    entity = {"name": name, "config": config, "tasks": [], "type": kind.value}
    assert bench.json("GET", path) == (200, entity)
    assert bench.json("GET", f"{path}/config") == (200, config)
    assert bench.json("GET", f"{path}/tasks") == (200, [])
    status, body = bench.json("GET", f"{path}/status")
    assert (status, body["connector"]["state"], body["tasks"]) == (200, "STOPPED", [])
    gone = {"error_code": 404, "message": f"No status found for task {name}-0"}
    assert bench.json("GET", f"{path}/tasks/0/status") == (404, gone)

    bench.run(name)
    bench.stop(name)
    bench.client.delete(name)
    bench.await_that(lambda: name in bench.client.names(), lambda there: not there)
    bench.await_that(lambda: bench.json("GET", f"{path}/status")[0], lambda status: status == 404)


@pytest.mark.parametrize("state", ["PAUSED", "RUNNING"])
def test_cannot_alter_or_reset_the_offsets_of_a_connector_that_is_not_stopped(
    bench: Workbench, kind: Kind, state: str
) -> None:
    subject = bench.subject(kind)
    bench.await_offsets(subject.name, subject.offsets(LAST))
    if state == "PAUSED":
        bench.client.pause(subject.name)
    bench.await_state(subject.name, state, [state])
    reason = (
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        f"specified connector by issuing a 'PUT' request to the '/connectors/{subject.name}/stop' endpoint"
    )
    with pytest.raises(NotStopped, match=reason):
        bench.client.alter_offsets(subject.name, subject.offsets(3))
    with pytest.raises(NotStopped, match=reason):
        bench.client.reset_offsets(subject.name)
    assert bench.client.offsets(subject.name) == subject.offsets(LAST)


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
