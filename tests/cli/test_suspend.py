"""`gitops-connect suspend`, `resume` and `restart`: what they record, send and report."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.files.tables import rows

pytestmark = pytest.mark.slow


@pytest.fixture
def paused(at: Workplace) -> str:
    """A managed connector that someone paused, which gitops-connect would resume."""
    at.deploy("orders.yaml", at.source("orders"))
    at.by_hand("pause", "orders")
    return at.name("orders")


def status(at: Workplace) -> dict[str, object]:
    (one,) = json.loads(at.run("status", "-o", "json").out)
    return dict(one)


def test_a_connector_is_left_unchanged_until_it_is_resumed(at: Workplace, standin: StandIn, paused: str) -> None:
    requests = len(standin.calls)
    ran = at.run("suspend", "connector", paused, "--reason", "INC-4711").expect(0)
    assert ran.out.startswith(f"{paused} on local is suspended")
    assert len(standin.calls) == requests, "Connect need not answer"
    at.run("plan", "--detailed-exitcode").expect(
        0, out=(f"@{socket.gethostname()} since ", " UTC (INC-4711); run: gitops-connect resume connector ")
    )
    (suspended,) = json.loads(at.run("plan", "-o", "json").out)["clusters"][0]["suspended"]
    assert (suspended["connector"], suspended["steps"], suspended["reason"]) == (paused, 1, "INC-4711")
    at.apply()
    assert at.states() == {"orders": "PAUSED"}
    shown = status(at)
    assert shown["sync"] == "OutOfSync"
    assert str(shown["message"]).startswith("drift: resume; blocked by suspension: suspended by ")
    assert isinstance(shown["suspension"], dict)
    assert at.run("resume", "connector", paused).out.startswith(f"{paused} on local is resumed")
    at.apply()
    assert at.states() == {"orders": "RUNNING"}
    assert status(at)["suspension"] is None
    at.run("resume", "connector", paused).expect(
        0, out="", err=(f"{paused} is not suspended by a command", "Next on local: nothing is planned")
    )
    unknown = f"connector '{paused.upper()}' is not managed on local; did you mean '{paused}'?"
    at.run("suspend", "connector", paused.upper()).expect(64, err=unknown)


@pytest.mark.parametrize(("spec", "said"), rows(__file__, "not_running"))
def test_resume_says_what_the_document_must_declare(at: Workplace, standin: StandIn, spec: str, said: str) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.commit("orders.yaml", at.source("orders", spec))
    ran = at.run("resume", "connector", at.name("orders"))
    ran.expect(0, out="", err=("Next on local: ", said.format(at="orders.yaml:6:3")))
    standin.close()
    at.run("resume", "connector", at.name("orders")).expect(0, err="error: cluster local: ")


def test_resume_without_a_repository(at: Workplace, paused: str) -> None:
    at.run("suspend", "connector", paused).expect(0)
    file = at.directory / "gitops-connect.toml"
    file.write_text(file.read_text().replace('url = "repository"', ""))
    at.run("resume", "connector", paused).expect(
        0, out="is resumed", err="`gitops-connect plan DIR` shows what is done"
    )


def test_a_cluster_is_left_unchanged_until_it_is_resumed(at: Workplace, paused: str) -> None:
    at.run("resume", "cluster", "local").expect(err="Cluster local is not suspended.")
    assert at.run("suspend", "cluster", "prod").code == 64
    assert at.run("suspend", "cluster", "local").code == 0
    assert "the cluster is suspended by " in at.run("plan").out
    at.apply()
    assert at.states() == {"orders": "PAUSED"}
    assert "cluster local: suspended by " in at.run("status").err
    at.settings("suspend = true")
    at.run("resume", "cluster", "local").expect(err="suspend = true in the settings still suspends the cluster")
    at.run("plan").expect(out="the cluster is suspended by the settings")
    at.apply()
    assert at.states() == {"orders": "PAUSED"}
    at.settings()
    assert "still suspended by " not in at.run("resume", "cluster", "local").err
    at.apply()
    assert at.states() == {"orders": "RUNNING"}


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
