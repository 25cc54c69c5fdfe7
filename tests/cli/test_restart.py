"""`gitops-connect restart connector`: what it restarts, and what it reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.files.tables import rows


@pytest.fixture
def running(at: Workplace, standin: StandIn) -> Iterator[str]:
    """A connector that runs, and no ledger."""
    name = at.name("orders")
    at.rest("POST", "/connectors", {"name": name, "config": {"connector.class": "FileStreamSource", "topic": "t"}})
    yield name
    assert not (at.directory / "state.db").exists()


def restarts(standin: StandIn) -> list[str]:
    return [
        call.path.partition("/connectors/")[2].partition("/")[2] for call in standin.calls if "restart" in call.path
    ]


@pytest.mark.slow
def test_what_is_restarted(at: Workplace, standin: StandIn, running: str) -> None:
    standin.refuse("POST", ".*/restart.*", 409, "Cannot complete request because of a conflicting operation")
    for options in ([], ["--task", "0", "--task", "0"]):
        ran = at.run("restart", "connector", running, *options)
        done = (0, f"{running} on local was restarted.\n", f"Restarting {running} on local.\n")
        assert (ran.code, ran.out, ran.err) == done
    everything = "restart?includeTasks=true&onlyFailed=false"
    assert restarts(standin) == [everything, everything, "tasks/0/restart"], "a rebalance is waited for"
    ran = at.run("restart", "connector", running, "--failed")
    assert (ran.code, ran.out) == (0, f"No part of {running} on local is FAILED: nothing is restarted.\n")
    standin.cluster.fail_task(running, 0)
    at.run("restart", "connector", running, "--failed").expect(0)
    assert restarts(standin)[3:] == ["restart?includeTasks=true&onlyFailed=true"]
    assert at.rest("GET", f"/connectors/{running}/status")["tasks"][0]["state"] == "RUNNING"
    standin.cluster.fail(running, "java.lang.Boom: no")
    at.run("restart", "connector", running).expect(
        1, out="", err=f"error: {running} on local: the connector is FAILED again: java.lang.Boom: no"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("action", "options", "code", "error"), rows(__file__, "refused"))
def test_what_cannot_be_restarted(
    at: Workplace, standin: StandIn, running: str, *, action: str, options: list[str], code: int, error: str
) -> None:
    if action:
        at.by_hand(action, "orders")
    at.run("restart", "connector", running, *options).expect(code, out="", err=error)
    unknown = f"there is no connector '{running.upper()}' on local; did you mean '{running}'?"
    at.run("restart", "connector", running.upper()).expect(1, err=unknown)
    assert restarts(standin) == []
