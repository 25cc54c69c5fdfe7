"""The image, built without a container engine and run with chroot isolation: its layers, its size, and its daemon.

A container of chroot isolation shares the network and the process ids with this machine, so Connect is on its loopback
address. docs/contributing/container-image.md says what that does not show.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import requests
from kube.kube_tools import kube_tools
from kube.mounted_pod import MountedPod
from kube.rendering import rendered
from kube.test_helm_test import SECRETS, values
from standin.connect import StandIn
from support.files.document_files import connector
from support.git.upstream import Upstream
from support.waiting import await_that

from gitops_connect.sandbox.cluster import Sandbox
from gitops_connect.sandbox.jars import cache_directory
from gitops_connect.sandbox.launch import choose_port
from image.image_build import Buildah, ImageMissing, check_tools, make_base

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(3600)]

_TOOLS = kube_tools(cache_directory(os.environ))
"""Looked up before the home directory is hidden."""
_RESTRICTED = ("--isolation", "chroot", "--user", "10001:10001", "--cap-drop", "ALL")
LARGEST = 80_000_000
"""Bytes of the compressed layers over the base."""
_DEADLINE = 60.0
"""Seconds for each part of the life of the daemon."""
_SPARK = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
print(spark.sparkContext._jvm.System.getProperty("java.specification.version"))
print(spark.range(100).groupBy().sum().first()[0])
"""
_SOURCE = """  class: org.apache.kafka.connect.file.FileStreamSourceConnector
  config: {file: /a, topic: orders}
"""


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    try:
        check_tools()
    except ImageMissing as missing:
        pytest.skip(str(missing))
    builder = Buildah(tmp_path_factory.mktemp("buildah"))
    builder.import_base(make_base(cache_directory(os.environ)))
    yield builder
    builder.run("rm", "--all")
    shutil.rmtree(builder.directory)


@pytest.fixture(scope="module")
def image(buildah: Buildah) -> str:
    return buildah.build("localhost/base", "localhost/core", VERSION="1.2.3")


def test_two_builds_have_equal_layers(buildah: Buildah, image: str, tmp_path: Path) -> None:
    first = buildah.layers(image, tmp_path / "first")
    second = buildah.layers(buildah.build("localhost/base", "localhost/again", VERSION="1.2.3"), tmp_path / "second")
    assert [layer["digest"] for layer in first["layers"]] == [layer["digest"] for layer in second["layers"]]
    base, *own = [layer["size"] for layer in first["layers"]]
    print("compressed bytes: base", base, "own layers", own, "sum", sum(own))
    assert sum(own) < LARGEST


def test_spark_runs_on_java_21(buildah: Buildah) -> None:
    name = buildah.build("localhost/base", "localhost/spark", JAVA="openjdk-21-jre-headless", EXTRAS="spark")
    container = buildah.run("from", name).strip()
    # Chroot isolation gives the host name of the container no address. gitops-connect sets this variable itself.
    run = [
        "--isolation",
        "chroot",
        "--user",
        "10001:10001",
        "--env",
        "SPARK_LOCAL_IP=127.0.0.1",
        container,
        "--",
        "/opt/gitops-connect/bin/python",
        "-c",
    ]
    assert buildah.run("run", *run, _SPARK).split()[-2:] == ["21", "4950"]


@pytest.mark.skipif(not _TOOLS.is_dir(), reason="helm is not built; build it once: make kube")
def test_the_command_of_helm_test_runs_in_the_image(buildah: Buildah, image: str, tmp_path: Path) -> None:
    """With the user, the paths and the modes of files that the Pod has."""
    state, repository = "/var/lib/gitops-connect", "/var/lib/gitops-connect/repository.git"
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    with StandIn() as standin:
        pod = MountedPod(rendered(_TOOLS, values(repository, standin.url)), SECRETS, tmp_path / "root", prefix="")
        upstream = Upstream.create(pod.mounts[state] / "repository.git")
        upstream.commit({"clusters/prod/nothing.txt": ""})
        for path, directory in pod.mounts.items():
            owner, modes = ("10001:10001", "ug=rwX,o=") if path in (state, "/tmp") else ("0:10001", "ug=rX,o=")
            subprocess.run(["chown", "--recursive", "--no-dereference", owner, directory], check=True)
            subprocess.run(["chmod", "--recursive", modes, directory], check=True)
        options = [word for path, directory in pod.mounts.items() for word in ("--volume", f"{directory}:{path}")]
        options += [word for name, value in pod.environment.items() for word in ("--env", f"{name}={value}")]
        container = buildah.run("from", image).strip()
        buildah.run("config", f"--volume={state}-", container)  # chroot isolation mounts it over the other one
        found = buildah.run("run", *_RESTRICTED, *options, container, "--", "gitops-connect", *pod.arguments)
    assert f"{state}/state.db" in found
    assert "error" not in found


@pytest.mark.e2e
def test_the_daemon_reconciles_a_real_connect_and_stops(
    buildah: Buildah, image: str, sandbox: Sandbox, connector_name: Callable[[str], str], tmp_path: Path
) -> None:
    state, name = tmp_path / "state", connector_name("orders")
    state.mkdir()
    upstream = Upstream.create(state / "repository.git")
    upstream.commit({"clusters/local/a.yaml": connector(name, _SOURCE)})
    port = choose_port((), ())
    settings = f"""
[repository]
url = "/var/lib/gitops-connect/repository.git"
[clusters.local]
url = "{sandbox.worker_urls[0]}"
[server]
listen = "127.0.0.1:{port}"
"""
    (state / "gitops-connect.toml").write_text(settings)
    subprocess.run(["chown", "-R", "10001:10001", state], check=True)
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    container = buildah.run("from", image).strip()
    command = ["tini", "-s", "--", "gitops-connect", "run"]
    with running(buildah, container, state, command) as daemon:
        began = time.monotonic()
        await_that(lambda: answer(f"http://127.0.0.1:{port}/readyz"), seconds=_DEADLINE)
        print("start to ready:", round(time.monotonic() - began, 2), "s; load:", os.getloadavg()[0])
        status = f"{sandbox.worker_urls[0]}/connectors/{name}/status"
        await_that(lambda: '"connector":{"state":"RUNNING"' in answer(status), seconds=_DEADLINE)
        tini = next(one for one in psutil.Process(daemon.pid).children(recursive=True) if one.name() == "tini")
        assert tini.uids().real == 10001
        tini.send_signal(signal.SIGTERM)
        assert daemon.wait(_DEADLINE) == 0


@contextlib.contextmanager
def running(buildah: Buildah, container: str, state: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The command as user 10001 in the container, without capabilities; killed at the end if it still runs."""
    store = ["--root", str(buildah.directory / "store"), "--runroot", str(buildah.directory / "run")]
    options = [*_RESTRICTED, "--volume", f"{state}:/var/lib/gitops-connect"]
    line = ["buildah", "--storage-driver", "vfs", *store, "run", *options, container, "--", *command]
    with subprocess.Popen(line) as daemon:
        try:
            yield daemon
        finally:
            for one in [*psutil.Process(daemon.pid).children(recursive=True)] if daemon.poll() is None else []:
                one.kill()


def answer(url: str) -> str:
    """The body; empty if there is no success."""
    try:
        found = requests.get(url, timeout=5)
    except requests.RequestException:
        return ""
    return found.text if found.ok else ""
