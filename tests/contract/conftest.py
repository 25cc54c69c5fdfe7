"""The two clusters on which each test runs: the stand-in, and a real broker and worker.

If `GITOPS_CONNECT_CONTRACT_URL` is set, that worker is used instead of the sandbox's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin.connect import StandIn

from contract.under_test import Contract
from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import ClusterSettings


@pytest.fixture(params=["standin", pytest.param("real", marks=pytest.mark.e2e)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "standin":
        with StandIn() as standin:
            yield standin.url
    elif own := os.environ.get("GITOPS_CONNECT_CONTRACT_URL"):
        yield own
    else:
        yield request.getfixturevalue("sandbox").worker_urls[0]


@pytest.fixture
def contract(url: str, tmp_path: Path) -> Iterator[Contract]:
    settings = ClusterSettings(ClusterName("contract"), (url,))
    with ConnectClient(settings, SystemClock()) as client:
        contract = Contract(client, url, tmp_path)
        yield contract
        for name in contract.made:
            client.delete(name)
