"""What the daemon leaves unchanged: suspended connectors and clusters, and those that are only observed."""

from __future__ import annotations

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread, poll_again

pytestmark = pytest.mark.slow


def test_a_suspension_by_command_is_honoured_and_its_begin_and_end_are_logged_once(
    at: Workplace, standin: StandIn
) -> None:
    name = at.name("orders")
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        assert at.run("suspend", "connector", name, "--reason", "INC-4711").code == 0
        assert (
            "(INC-4711)"
            in daemon.wait("connector_suspended", cluster="local", connector=name, level="WARNING")["message"]
        )
        at.by_hand("pause", "orders")
        drift = daemon.wait("drift_detected", connector=name)
        assert drift["message"] == "not corrected: resume (state: paused -> running)"
        poll_again(at, standin)
        assert len(daemon.all("connector_suspended")) == len(daemon.all("drift_detected")) == 1
        assert len(daemon.steps()) == 1, "the connector was created, and left as it is since then"
        assert at.run("resume", "connector", name).code == 0
        daemon.wait("connector_resumed", connector=name)
        daemon.wait("step_applied", action="resume")
        assert at.run("suspend", "cluster", "local").code == 0
        daemon.wait("cluster_suspended", cluster="local")
        at.by_hand("pause", "orders")
        daemon.wait("drift_detected", count=2)
        assert len(daemon.all("connector_suspended")) == 1, "the cluster is logged as a whole"
        assert at.run("resume", "cluster", "local").code == 0
        daemon.wait("cluster_resumed", cluster="local")
        daemon.wait("step_applied", count=2, action="resume")


def test_an_observed_cluster_gets_no_change_and_its_drift_is_logged_once(at: Workplace, standin: StandIn) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.settings('mode = "observe"')
    at.by_hand("pause", "orders")
    standin.cluster.fail_task(at.name("orders"), 0, "java.lang.Boom: no")
    with InThread(at) as daemon:
        drift = daemon.wait("drift_detected", connector=at.name("orders"), level="WARNING")
        assert drift["message"] == "not corrected: resume (state: paused -> running)"
        assert daemon.wait("reconciliation_finished")["drifted"] == 1
        poll_again(at, standin)
        assert len(daemon.all("drift_detected")) == 1
        assert daemon.steps() == []
    assert at.states() == {"orders": "PAUSED"}
