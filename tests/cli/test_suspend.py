"""`gitops-connect suspend` and `resume`: what they record, and what `plan`, `status` and `apply` make of it."""

from __future__ import annotations

import json
import socket

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn

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
        0, out=(f"@{socket.gethostname()} since ", " UTC (INC-4711); 1 step would be made")
    )
    (suspended,) = json.loads(at.run("plan", "-o", "json").out)["clusters"][0]["suspended"]
    assert (suspended["connector"], suspended["steps"], suspended["reason"]) == (paused, 1, "INC-4711")
    at.apply()
    assert at.states() == {"orders": "PAUSED"}
    shown = status(at)
    assert shown["sync"] == "OutOfSync"
    assert str(shown["message"]).endswith("1 step would be made: drift: resume")
    assert isinstance(shown["suspension"], dict)
    assert at.run("resume", "connector", paused).out.startswith(f"{paused} on local is resumed")
    at.apply()
    assert at.states() == {"orders": "RUNNING"}
    assert status(at)["suspension"] is None
    at.run("resume", "connector", paused).expect(0, out="", err=f"{paused} is not suspended by a command")
    unknown = f"connector '{paused.upper()}' is not managed on local; did you mean '{paused}'?"
    at.run("suspend", "connector", paused.upper()).expect(64, err=unknown)


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
