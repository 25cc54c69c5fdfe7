"""An unknown connector is never absent, and two calls are enough if no connector is missing."""

from __future__ import annotations

from typing import Any

import pytest
from standin.cluster import Reported
from standin.connect import StandIn
from standin.fixtures import MakeClient, client, clock, make_client, standin
from support.cluster.manual_clock import ManualClock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, RebalanceInProgress
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ConnectVersion, WorkerState
from gitops_connect.observe import PATIENCE, observe, observe_at_rest

pytestmark = pytest.mark.slow

__all__ = ["client", "clock", "make_client", "standin"]

CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
A, B, C = (ConnectorName(name) for name in "abc")


def test_two_calls_if_all_expected_connectors_exist(standin: StandIn, client: ConnectClient) -> None:
    for number in range(30):
        client.create(ConnectorName(f"c{number}"), CONFIG)
    standin.calls.clear()
    state = observe(client, [ConnectorName("c0"), ConnectorName("c29")])
    assert (len(state.connectors), state.unknown) == (30, frozenset())
    assert (state.cluster, state.version) == (ClusterName("local"), ConnectVersion(4, 3, 1))
    assert [call.path for call in standin.calls] == ["/", "/connectors?expand=status&expand=info"]


def test_a_connector_without_a_status_is_unknown_and_a_missing_one_is_absent(
    standin: StandIn, client: ConnectClient
) -> None:
    client.create(A, CONFIG)
    standin.cluster.delay = 99
    client.create(B, CONFIG)
    standin.calls.clear()
    state = observe(client, [A, B, C])
    assert state.connectors.keys() == {A}
    assert state.unknown == {B}
    assert standin.count() == 5


def test_a_worker_that_still_reads_the_config_topic_is_not_an_empty_cluster(
    standin: StandIn, client: ConnectClient
) -> None:
    client.create(A, CONFIG)
    client.create(B, CONFIG)
    standin.cluster.is_reading = True
    assert client.connectors() == ({}, frozenset())
    state = observe(client, [A, C])
    assert (state.connectors.keys(), state.unknown) == ({A, B}, frozenset())


def test_a_connector_from_an_incomplete_config_topic_is_read_again(standin: StandIn, client: ConnectClient) -> None:
    """If a starting worker does not know every connector yet, the connectors that it shows may be stale."""
    client.create(A, CONFIG)
    standin.answer("GET", r"/connectors\?.*", 200, _expanded(standin, {A: {**CONFIG, "topic": "stale"}}))
    state = observe(client, [A, C])
    assert state.connectors[A].config["topic"] == "t"


def _expanded(standin: StandIn, configs: dict[ConnectorName, dict[str, str]]) -> dict[str, Any]:
    return {
        name: {"status": standin.cluster.status(name), "info": {"name": name, "config": config, "type": "source"}}
        for name, config in configs.items()
    }


def reported_of(standin: StandIn, name: ConnectorName) -> Reported:
    found = standin.cluster.connectors[name].reported
    assert found is not None
    return found


def test_an_unreadable_connector_is_unknown_even_if_it_is_not_expected(standin: StandIn, client: ConnectClient) -> None:
    client.create(A, CONFIG)
    client.create(B, CONFIG)
    reported_of(standin, B).state = "EXPLODED"
    state = observe(client, [A])
    assert (state.connectors.keys(), state.unknown) == ({A}, {B})
    assert state.connectors[A].state is WorkerState.RUNNING


@pytest.mark.parametrize("path", ["/", r"/connectors\?.*", "/connectors"])
def test_a_read_that_fails_is_an_error_and_not_an_empty_cluster(
    standin: StandIn, client: ConnectClient, path: str
) -> None:
    standin.refuse("GET", path, 500, "Request cannot be completed because a rebalance is expected", times=99)
    with pytest.raises(RebalanceInProgress):
        observe(client, [A])


def test_a_cluster_that_is_down(standin: StandIn, make_client: MakeClient) -> None:
    client = make_client(standin.url)
    standin.close()
    with pytest.raises(ConnectUnavailable):
        observe(client, [])


def test_a_connector_in_transit_is_read_again(standin: StandIn, client: ConnectClient, clock: ManualClock) -> None:
    """Right after a new config, a paused connector is UNASSIGNED: it must not be taken for a running one."""
    client.create(A, CONFIG, TargetState.PAUSED)
    reported = reported_of(standin, A)
    reported.state = "UNASSIGNED"
    clock.meanwhile = lambda: setattr(reported, "state", "PAUSED")
    state = observe_at_rest(client, [A], clock)
    assert state.connectors[A].state is WorkerState.PAUSED
    assert standin.count(path=r"/connectors\?.*") == 2


def test_only_an_expected_connector_in_transit_is_waited_for_up_to_the_timeout(
    standin: StandIn, client: ConnectClient, clock: ManualClock
) -> None:
    client.create(A, CONFIG)
    reported_of(standin, A).state = "UNASSIGNED"
    began = clock.monotonic()
    assert observe_at_rest(client, [B], clock).connectors[A].state is WorkerState.UNASSIGNED
    assert clock.monotonic() == began
    assert observe_at_rest(client, [A], clock).connectors[A].state is WorkerState.UNASSIGNED
    assert clock.monotonic() >= began + PATIENCE
