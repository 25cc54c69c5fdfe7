"""What the daemon publishes and records while it reconciles: the state of connectors, conditions, and steps."""

from __future__ import annotations

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action
from gitops_connect.model.status import ConditionStatus, ConditionType, Health, Sync

LOCAL = ClusterName("local")


def view(snapshot: Snapshot) -> ClusterView:
    return snapshot.clusters[LOCAL]


@pytest.mark.slow
def test_a_change_a_failure_and_a_recovery_are_seen_from_outside(at: Workplace, standin: StandIn) -> None:
    name = ConnectorName(at.name("orders"))
    at.commit("orders.yaml", at.source("orders", "autoRestart: {enabled: false}"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        ready = (name, ConditionType.READY, "")
        synced = daemon.await_state(
            lambda now: ready in view(now).conditions and view(now).conditions[ready].status is ConditionStatus.TRUE
        )
        assert [one.sync for one in view(synced).connectors] == [Sync.SYNCED]
        assert [one.health for one in view(synced).connectors] == [Health.HEALTHY]
        assert synced.repository.author == "Test"
        assert view(synced).plan is not None

        standin.cluster.fail_task(name, 0, "java.lang.Boom: no")
        failed = daemon.await_state(lambda now: [one.health for one in view(now).connectors] == [Health.DEGRADED])
        since = view(failed).connectors[0].since
        assert since is not None
        assert view(failed).connectors[0].message.startswith("task 0 is FAILED: java.lang.Boom: no")
        later = daemon.await_state(lambda now: now.number > failed.number + 4)
        assert view(later).connectors[0].since == since

        (entry,) = daemon.runtime.ledger.status.steps(LOCAL)
        assert (entry.connector, entry.action, entry.result) == (name, Action.CREATE, Result.APPLIED)
        assert (entry.author, entry.revision) == ("Test", synced.repository.revision)

    with InThread(at) as daemon:
        again = daemon.await_state(lambda now: bool(view(now).connectors))
        assert view(again).connectors[0].since == since, "the time survives the daemon's restart"


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_not_ready_and_says_why(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        standin.close()
        lost = daemon.await_state(lambda now: bool(view(now).error))
        assert "no worker answered" in view(lost).error
        ready = (ConnectorName(""), ConditionType.READY, "")
        gone = daemon.await_state(lambda now: view(now).conditions[ready].status is ConditionStatus.FALSE)
        assert view(gone).conditions[ready].reason == "ConnectUnavailable"
        assert len(view(gone).connectors) == 1, "the last known state remains"
