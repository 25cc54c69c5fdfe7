"""The three clusters on which each test runs: stand-in, simulated cluster, real broker and worker.

The stand-in answers over HTTP. The simulated cluster has the same rules, but is called directly, and simulates time.

If `GITOPS_CONNECT_CONTRACT_URL` is set, that worker is used instead of the sandbox's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.connect import StandIn
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import MemoryCluster

from contract.under_test import Contract, model_client
from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import ClusterSettings


@pytest.fixture
def model() -> MemoryCluster:
    """The cluster of the simulation, in which each effect takes time. Time passes only while a test waits."""
    model = MemoryCluster(ManualClock())
    model.rules.accepts_any_config, model.rules.transit = False, 0.3
    return model


@pytest.fixture(params=["standin", "model", pytest.param("real", marks=pytest.mark.e2e)])
def url(request: pytest.FixtureRequest, model: MemoryCluster) -> Iterator[str]:
    if request.param in ("standin", "model"):
        with StandIn(model.rules if request.param == "model" else None) as standin:
            yield standin.url
    elif own := os.environ.get("GITOPS_CONNECT_CONTRACT_URL"):
        yield own
    else:
        yield request.getfixturevalue("sandbox").worker_urls[0]


@pytest.fixture
def contract(url: str, tmp_path: Path, request: pytest.FixtureRequest, model: MemoryCluster) -> Iterator[Contract]:
    settings = ClusterSettings(ClusterName("contract"), (url,))
    with ConnectClient(settings, SystemClock()) as client:
        if request.node.callspec.params["url"] == "model":
            contract = Contract(model_client(model, client), url, tmp_path, pause=model.pass_time)
        else:
            contract = Contract(client, url, tmp_path)
        yield contract
        for name in contract.made:
            client.delete(name)
