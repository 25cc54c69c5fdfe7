"""Two daemons with one ledger in PostgreSQL: one leads, and the other takes over if the leader is killed or suspended.

Each daemon has a worker of its own, of one cluster, so that it is known which of them sent a request.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from live.databases import Server
from standin.cluster import Cluster
from standin.connect import StandIn
from support.daemon_log import AsProcess, InThread
from support.ledger.ledger_places import LedgerPlace, postgres_place

from gitops_connect.daemon.state import Snapshot
from gitops_connect.model.names import ClusterName
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews

pytestmark = pytest.mark.slow
LOCAL = ClusterName("local")
EFFECTS = "POST|PUT|PATCH|DELETE"


@pytest.fixture
def workers() -> Iterator[tuple[StandIn, StandIn]]:
    cluster = Cluster("3.6.2")  # on this version, creating a stopped connector takes two steps
    with StandIn(cluster) as one, StandIn(cluster) as two:
        yield one, two


@pytest.fixture
def at(workers: tuple[StandIn, StandIn], tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, (workers[0].url,))
    yield workplace
    workplace.session.close()


@pytest.fixture
def place(postgres: Server, at: Workplace) -> LedgerPlace:
    """The ledger of both daemons."""
    found = postgres_place(postgres, at.directory)
    at.settings(more=f'[state]\nurl = "{found.url}"\nkey = {{env = "LEDGER_KEY"}}')
    return found


def replica(at: Workplace, worker: StandIn) -> AsProcess:
    return AsProcess(at, environment={"LEDGER_KEY": "k" * 32, "GITOPS_CONNECT_CLUSTERS__LOCAL__URL": worker.url})


def changes(worker: StandIn) -> int:
    """How many requests that change something the daemon of this worker has sent."""
    return worker.count(EFFECTS) - worker.count("PUT", ".*/validate")


def is_blocked_since(now: Snapshot) -> bool:
    """Whether the state has a hold that was recorded in an earlier reconciliation."""
    return any(hold.since is not None for one in now.clusters[LOCAL].connectors for hold in one.holds)


@pytest.mark.usefixtures("place")
def test_a_follower_shows_what_the_leader_shows(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_KEY", "k" * 32)
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at) as leader:
        leader.daemon.reviews = lambda _: Reviews(ReviewMode.MANUAL, pull_request=7)
        leader.daemon.reconcile_now(leader.daemon.state.snapshot.clusters)
        leading = leader.await_state(is_blocked_since)
        with InThread(at) as follower:
            follower.daemon.reviews = leader.daemon.reviews
            follower.wait("leader_followed")
            shown = follower.await_state(is_blocked_since)
    found, expected = shown.clusters[LOCAL], leading.clusters[LOCAL]
    assert (found.plan and found.plan.connectors) == (expected.plan and expected.plan.connectors)
    assert found.connectors == expected.connectors


def test_a_leader_that_was_suspended_past_its_lease_changes_nothing_more(
    at: Workplace, workers: tuple[StandIn, StandIn], place: LedgerPlace
) -> None:
    """It continues in the middle of a plan with many steps, as a follower, and leads again when the other one ends."""
    one, two = workers
    names = [f"orders{number}" for number in range(20)]
    with replica(at, one) as leader:
        leader.wait("leader_elected")
        with replica(at, two) as follower:
            follower.wait("leader_followed")
            at.commit("orders.yaml", *(at.source(name, "state: stopped") for name in names))
            at.await_that(lambda: changes(one), lambda count: count > 5)
            leader.send(signal.SIGSTOP)
            follower.wait("leader_elected")
            follower.wait("reconciliation_finished")
            sent = changes(one)
            leader.send(signal.SIGCONT)
            assert "the lease of the leader was lost" in leader.wait("leader_lost")["message"]
            leader.wait("leader_followed")
            leader.wait("step_skipped")
            at.commit("more.yaml", at.source("more"))
            follower.wait("step_applied", connector=at.name("more"))
            leader.wait("revision_changed", revision=at.git("rev-parse", "HEAD"))
            assert changes(one) == sent < 40
            assert at.states() == {**dict.fromkeys(names, "STOPPED"), "more": "RUNNING"}
            assert follower.end() == 0
            leader.wait("leader_elected", count=2)
            at.commit("last.yaml", at.source("last"))
            leader.wait("step_applied", connector=at.name("last"))
