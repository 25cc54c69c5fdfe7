"""Real Spark services from the pyspark wheel, on loopback: a standalone master with its workers, and a Connect server.

Each is a Java process that ends with this one, however this one ends. The executors' Python can import the packages
that it needs and nothing else: not the repository, and no other installed package.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gitops_connect.sandbox.java import find_java
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.spark.class_archive import ClassArchive
from support.waiting import await_that

_DIES_WITH_ITS_PARENT = 1
"""PR_SET_PDEATHSIG."""
_READY_TIMEOUT = 100.0
"""Seconds until a service is ready."""
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
NEEDED = ("numpy", "numpy.libs", "pandas", "pyarrow", "backports", "dateutil", "pytz", "six.py", "tzdata")
"""Names in site-packages: what executors need according to docs/reference/spark.md, and its dependencies."""


@dataclass
class Service:
    """A Java process of Spark, whose output goes to a file."""

    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    ready: str
    """A part of the log line that it writes when it is ready."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        assert self.process is None
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_tie,  # noqa: PLW1509 - of the tests, and no thread holds a lock that this needs
            )

    def wait(self) -> None:
        process = self.process
        assert process is not None
        await_that(lambda: self.ready in self.log or process.poll() is not None, seconds=_READY_TIMEOUT)
        assert process.poll() is None, self.log

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def children(self, name: str) -> list[psutil.Process]:
        """The processes of that name that it has started."""
        assert self.process is not None
        return [one for one in psutil.Process(self.process.pid).children(recursive=True) if one.name() == name]

    def kill(self) -> None:
        """Kill it as `kill -9` does, together with the processes that it has started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def _tie() -> None:
    ctypes.CDLL(None).prctl(_DIES_WITH_ITS_PARENT, signal.SIGKILL)


def executors_python(directory: Path, without: str = "", version: str = "") -> Path:
    """A Python that can import what executors need, but not gitops_connect or any other package of this Python.

    `without` is a package that it lacks; `version` is another Python version, which it reports instead of its own.
    """
    site = directory / "site"
    site.mkdir(parents=True)
    installed = Path(_origin("numpy")).parents[1]
    for name in NEEDED:
        if name != without and (installed / name).exists():
            (site / name).symlink_to(installed / name)
    begins = "-S"
    if version:
        (directory / "other.py").write_text(_OTHER.format(version=version))
        begins = f'-S "{directory / "other.py"}"'
    python = directory / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}:$PYTHONPATH" exec "{sys.executable}" {begins} "$@"\n')
    python.chmod(0o755)
    return python


_OTHER = """import collections, pandas, pyarrow, runpy, sys
sys.version_info = collections.namedtuple("Version", "major minor micro releaselevel serial")({version}, 0, "final", 0)
del sys.argv[:2]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Does what `-m MODULE ARGUMENTS` does, with another `sys.version_info`."""


def _origin(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def _spark_home() -> Path:
    return Path(_origin("pyspark")).parent


def without_class_archive(cache: Path) -> Path:
    """This cache directory of a test, in which Spark finds the archive of Java's own classes.

    Otherwise, Java writes an archive of Spark's classes when it ends, which takes 14 s of processor time.
    """
    java = find_java(os.environ)
    archive = ClassArchive.of(java, _spark_home() / "jars", cache)
    archive.file.symlink_to(java.path.resolve().parents[1] / "lib" / "server" / "classes.jsa")
    return cache


def _environment(directory: Path) -> dict[str, str]:
    """The environment of the services, without any variable that could reveal where the repository is."""
    java = find_java(os.environ).path.resolve().parent.parent
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(directory),
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK} -Dspark.master.rest.enabled=false",
    }


@dataclass
class Place:
    """A Spark to run on: the values for `[spark]`, and its services."""

    master: str
    options: Mapping[str, str]
    services: Sequence[Service]

    def start(self) -> None:
        """Start the first service, the master, before the others: without it, they retry only after 10s."""
        for services in (self.services[:1], self.services[1:]):
            for service in services:
                service.start()
            for service in services:
                service.wait()

    def kill(self) -> None:
        for service in self.services:
            service.kill()


@contextlib.contextmanager
def running(place: Place) -> Iterator[Place]:
    try:
        place.start()
        yield place
    finally:
        place.kill()


def standalone(directory: Path, python: Path, workers: int = 2) -> Place:
    """A master and its workers with one core each, not yet started."""
    directory.mkdir(parents=True, exist_ok=True)
    port = choose_port((), ())
    spark_class = str(_spark_home() / "bin" / "spark-class")
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    master = f"spark://127.0.0.1:{port}"
    environment = _environment(directory)
    deploy = "org.apache.spark.deploy"
    services = [
        Service(
            (spark_class, f"{deploy}.master.Master", *here, "--port", str(port)),
            directory / "master",
            environment,
            "I have been elected leader",
        )
    ]
    for number in range(workers):
        own = directory / f"worker{number}"
        share = ("--cores", "1", "--memory", "2g", "--work-dir", str(own / "work"))
        command = (spark_class, f"{deploy}.worker.Worker", *here, *share, master)
        services.append(Service(command, own, environment, "Successfully registered with master"))
    return Place(master, {"spark.pyspark.python": str(python), "spark.executor.memory": "1g"}, services)


def connect_server(directory: Path, python: Path) -> Place:
    """A Spark Connect server with two local cores, not yet started."""
    directory.mkdir(parents=True, exist_ok=True)
    port = choose_port((), ())
    confs = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.ui.enabled": "false",
    }
    command = [str(_spark_home() / "bin" / "spark-submit")]
    command += [part for name, value in confs.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = {**_environment(directory), "PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "1g"}
    service = Service(command, directory, environment, "Spark Connect server started")
    return Place(f"sc://127.0.0.1:{port}", {}, [service])
