"""Fixtures of the stand-in; a conftest imports those that its tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.sections import ClusterSettings
from standin.connect import StandIn

MakeClient = Callable[..., ConnectClient]


@pytest.fixture
def clock() -> ManualClock:
    """A clock on which every sleep returns at once."""
    return ManualClock()


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


@pytest.fixture
def make_client(clock: ManualClock) -> Iterator[MakeClient]:
    """Makes clients from URLs and further settings, and closes them."""
    made: list[ConnectClient] = []

    def make(*urls: str, **settings: Any) -> ConnectClient:
        client = ConnectClient(ClusterSettings(ClusterName("local"), tuple(urls), **settings), clock)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(standin: StandIn, make_client: MakeClient) -> ConnectClient:
    return make_client(standin.url)
