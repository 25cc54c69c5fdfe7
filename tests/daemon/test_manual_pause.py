"""`onManualPause: respect` on a cluster: what stays paused, and what changes that."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from acceptance.test_offsets import change
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread

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
