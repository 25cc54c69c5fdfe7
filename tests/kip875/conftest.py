"""The worker with a topic of numbers, and a second worker on a separate Kafka cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.settings.sections import ClusterSettings
from kip875.workbench import Kind, Numbers, Workbench


@pytest.fixture(scope="package")
def client(sandbox: Sandbox) -> Iterator[ConnectClient]:
    with ConnectClient(ClusterSettings(ClusterName("kip875"), sandbox.worker_urls), SystemClock()) as client:
        yield client


@pytest.fixture(scope="package")
def numbers(sandbox: Sandbox, client: ConnectClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    """The topic of numbers, written once for all sinks."""
    made: list[ConnectorName] = []

    def named(stem: str) -> str:
        made.append(ConnectorName(f"{stem}-{uuid4().hex[:8]}"))
        return made[-1]

    bench = Workbench(client, sandbox.worker_urls[0], tmp_path_factory.mktemp("numbers"), named)
    yield bench.count()
    for name in made:
        client.delete(name)
    bench.session.close()


@pytest.fixture
def bench(
    sandbox: Sandbox, client: ConnectClient, numbers: Numbers, tmp_path: Path, connector_name: Callable[[str], str]
) -> Iterator[Workbench]:
    bench = Workbench(client, sandbox.worker_urls[0], tmp_path, connector_name, numbers)
    yield bench
    bench.session.close()


@pytest.fixture(params=[Kind.SOURCE, Kind.SINK], ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> Kind:
    given: Kind = request.param
    return given


@pytest.fixture(scope="module")
def second(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Another Kafka cluster with its own worker, whose sources send at least once, as is Connect's default."""
    plugins = tuple(map(Path, sandbox.state().plugin_path))
    directory = tmp_path_factory.mktemp("second") / "sandbox"
    options = SandboxOptions(
        directory=directory, workers=1, heap=512, plugin_path=plugins, exactly_once=False, tied=True
    )
    with Sandbox.up(options) as other:
        yield other


@pytest.fixture
def second_bench(second: Sandbox, tmp_path: Path) -> Iterator[Workbench]:
    """A bench on the second cluster's worker. Its connectors are removed together with that cluster."""
    settings = ClusterSettings(ClusterName("second"), second.worker_urls)
    with ConnectClient(settings, SystemClock()) as client:
        bench = Workbench(client, second.worker_urls[0], tmp_path, lambda stem: f"{stem}-{uuid4().hex[:8]}")
        yield dataclasses.replace(bench, numbers=bench.count())
        for name in client.names():
            client.delete(name)
        bench.session.close()
