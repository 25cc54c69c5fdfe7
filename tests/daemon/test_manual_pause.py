"""`onManualPause: respect` on a cluster: what stays paused, and what a killed process left stopped."""

from __future__ import annotations

import json
import signal
from contextlib import closing

import pytest
from acceptance.test_offsets import change
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import AsProcess, InThread, run_once

from gitops_connect.model.names import ClusterName

pytestmark = pytest.mark.slow
RESPECT = "onManualPause: respect"


@pytest.fixture
def applied(at: Workplace, standin: StandIn) -> Workplace:
    at.deploy("orders.yaml", at.source("orders", RESPECT))
    standin.cluster.stored.set_source(at.name("orders"), {"filename": "f"}, {"position": 1})
    return at


def reset(at: Workplace, name: str) -> None:
    at.commit(f"{name}.yaml", change(name, at.name("orders"), "operation: reset\nacknowledge: [reset]"))


def stopped(at: Workplace) -> dict[str, object]:
    with closing(at.ledger()) as ledger:
        return dict(ledger.stopped.of(ClusterName("local")))


def test_a_paused_connector_stays_paused_until_its_document_changes(applied: Workplace, standin: StandIn) -> None:
    at = applied
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished")
        at.by_hand("pause", "orders")
        message = daemon.wait("note", connector=at.name("orders"))["message"]
        assert message.startswith("blocked by manual pause: paused by hand (onManualPause: respect)")
        (status,) = json.loads(at.run("status", "-o", "json").out)
        assert (status["sync"], status["health"]) == ("OutOfSync", "Suspended")
        assert "1 connector out of sync: the notes in the plan give the reason" in at.run("plan").out
        reset(at, "again")
        daemon.wait("step_applied", action="pause")
        assert [line["action"] for line in daemon.steps()] == ["stop", "reset", "pause"]
        assert at.states() == {"orders": "PAUSED"}
        at.commit("orders.yaml", at.source("orders", RESPECT, **{"batch.size": "7"}))
        daemon.wait("step_applied", action="resume")
    assert stopped(at) == {}


@pytest.mark.parametrize("begins", [False, True], ids=["before the change begins", "after it began"])
@pytest.mark.parametrize("by_hand", ["resume", "pause"])
def test_a_killed_process_does_not_leave_a_connector_stopped(
    applied: Workplace, standin: StandIn, begins: bool, by_hand: str
) -> None:
    """The connector was STOPPED by gitops-connect: it returns to the state in which it was."""
    at = applied
    at.by_hand(by_hand, "orders")
    before = at.states()
    method, path = ("DELETE", ".*/offsets") if begins else ("PUT", ".*/stop")
    standin.hang(method, path, effect=True)
    reset(at, "again")
    with AsProcess(at) as daemon:
        at.await_that(lambda: standin.count(method, path), bool)
        at.await_states(orders="STOPPED")
        daemon.end(signal.SIGKILL)
    assert stopped(at).keys() == {at.name("orders")}
    run_once(at)
    assert at.states() == before
    assert stopped(at) == {}
    at.by_hand("stop", "orders")
    assert at.apply().out.count("paused by hand") == 0
    assert at.states() == {"orders": "STOPPED"}, "now it was stopped by someone"
