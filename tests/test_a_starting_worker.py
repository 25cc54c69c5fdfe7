"""A starting worker is not an empty cluster: an existing connector is never reported as absent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offsets import OffsetPatch, offset_text, partition_text
from gitops_connect.observe import observe
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.settings.sections import ClusterSettings

pytestmark = pytest.mark.e2e
_MANY = 100_000
"""Number of offsets. A worker reads them before the configs, and lists no connector until then."""
_CONFIG = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "a",
    "target.cluster.alias": "b",
}


class _Restless(SystemClock):
    """A clock with short sleeps: with a long sleep between two tries, the test could miss the moment."""

    def sleep(self, seconds: float) -> None:
        super().sleep(min(seconds, 0.01))


def _offsets() -> OffsetPatch:
    fixed = {"cluster": "a", "partition": 0}
    return {partition_text({**fixed, "topic": f"t{number}"}): offset_text({"offset": 1}) for number in range(_MANY)}


@pytest.mark.thorough
def test_no_connector_is_absent_while_its_worker_starts(sandbox: Sandbox, connector_name: Callable[[str], str]) -> None:
    name, absent = ConnectorName(connector_name("there")), ConnectorName(connector_name("absent"))
    with ConnectClient(ClusterSettings(ClusterName("local"), tuple(sandbox.worker_urls)), _Restless()) as client:
        client.create(name, _CONFIG, TargetState.STOPPED)
        client.alter_offsets(name, _offsets())
        try:
            sandbox.kill_worker(1)
            starting = threading.Thread(target=Sandbox.up, args=(SandboxOptions(directory=sandbox.directory),))
            starting.start()
            is_up, seen = False, 0
            while not is_up:
                is_up = not starting.is_alive()
                try:
                    state = observe(client, [name, absent])
                except GitopsConnectError:
                    continue
                assert name in state.connectors.keys() | state.unknown
                assert absent not in state.connectors.keys() | state.unknown
                seen += 1
            assert seen
        finally:
            client.reset_offsets(name)
