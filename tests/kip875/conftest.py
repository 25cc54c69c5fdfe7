"""The worker with a topic of numbers, and a second worker on a separate Kafka cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.cluster import Sandbox
from gitops_connect.settings.sections import ClusterSettings
from kip875.workbench import Kind, Numbers, Workbench


@contextmanager
def workbench(sandbox: Sandbox, directory: Path, counted: Numbers | None = None) -> Iterator[Workbench]:
    """A bench on this cluster. Its connectors are deleted at the end."""
    with ConnectClient(ClusterSettings(ClusterName("kip875"), sandbox.worker_urls), SystemClock()) as client:
        bench = Workbench(client, sandbox.worker_urls[0], directory, counted=counted)
        yield bench
        for name in bench.made:
            client.delete(name)


@pytest.fixture(scope="package")
def counted(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    """The topic of numbers, written once for all sinks."""
    with workbench(sandbox, tmp_path_factory.mktemp("numbers")) as bench:
        yield bench.count()


@pytest.fixture
def bench(sandbox: Sandbox, counted: Numbers, tmp_path: Path) -> Iterator[Workbench]:
    with workbench(sandbox, tmp_path, counted) as bench:
        yield bench


@pytest.fixture(params=[Kind.SOURCE, Kind.SINK], ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> Kind:
    given: Kind = request.param
    return given


@pytest.fixture
def second_bench(other_sandbox: Sandbox, tmp_path: Path) -> Iterator[Workbench]:
    with workbench(other_sandbox, tmp_path) as bench:
        yield bench
