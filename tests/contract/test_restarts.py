"""The restart endpoints (KIP-745): what they restart, and how they answer."""

from __future__ import annotations

import pytest

from contract.under_test import Contract
from gitops_connect.errors import NotFound, Rejected
from gitops_connect.model.names import ConnectorName

pytestmark = pytest.mark.slow

RESTART_FAILED = "restart?includeTasks=true&onlyFailed=true"


@pytest.fixture
def failed_sink(contract: Contract) -> ConnectorName:
    """A sink whose task fails until the directory `missing` exists."""
    file = str(contract.directory / "missing" / "out.txt")
    name = contract.create("sink", contract.sink(file=file, **{"tasks.max": "1"}))
    contract.await_state(name, "RUNNING", ["FAILED"])
    return name


@pytest.mark.parametrize("alone", [True, False])
def test_a_failed_task_runs_again(contract: Contract, failed_sink: ConnectorName, *, alone: bool) -> None:
    (contract.directory / "missing").mkdir()
    if alone:
        contract.client.restart_part(failed_sink, 0)
    else:
        contract.client.restart(failed_sink, include_tasks=True, only_failed=True)
    assert contract.await_state(failed_sink, "RUNNING", ["RUNNING"]).tasks[0].trace == ""


def test_a_task_that_does_not_exist_is_not_found(contract: Contract) -> None:
    name = contract.running("run", contract.source())
    with pytest.raises(NotFound, match=f"Unknown task: {name}-7"):
        contract.client.restart_part(name, 7)


def test_a_task_whose_cause_is_not_fixed_fails_again(contract: Contract, failed_sink: ConnectorName) -> None:
    status, body = contract.json("POST", f"/connectors/{failed_sink}/{RESTART_FAILED}")
    states = body["connector"]["state"], [task["state"] for task in body["tasks"]]
    assert (status, states) == (202, ("RUNNING", ["RESTARTING"])), "only failed parts are restarted"
    found = contract.await_state(failed_sink, "RUNNING", ["FAILED"])
    assert "Couldn't find or create file" in found.tasks[0].trace


def test_a_failed_connector_is_started_again(contract: Contract) -> None:
    name = contract.create("fail", contract.mirror())
    contract.await_state(name, "FAILED")
    status, body = contract.json("POST", f"/connectors/{name}/{RESTART_FAILED}")
    assert (status, body["connector"]["state"]) == (202, "RESTARTING")
    contract.await_state(name, "FAILED")
    with pytest.raises(Rejected, match=f"Failed to start connector: {name}"):
        contract.client.restart_part(name, None)
    contract.await_state(name, "FAILED")


def test_parts_that_have_not_failed_are_restarted_only_on_request(contract: Contract) -> None:
    name = contract.running("run", contract.source())
    status, body = contract.json("POST", f"/connectors/{name}/{RESTART_FAILED}")
    assert (status, body["connector"]["state"], body["tasks"][0]["state"]) == (202, "RUNNING", "RUNNING")
    status, body = contract.json("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=false")
    assert (status, body["connector"]["state"], body["tasks"][0]["state"]) == (202, "RESTARTING", "RESTARTING")
    contract.await_state(name, "RUNNING", ["RUNNING"])
