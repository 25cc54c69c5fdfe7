"""A user's directory whose manifests are too large for one process, and a worker with enough memory for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acceptance.workplace import MIRROR, Ran, Workplace, change, run_apart
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.offsets.formats.manifest_parser import MAX_SIZE
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

MANY = 180_000
"""The number of offsets: slightly more than one process handles, in a manifest or as current offsets."""
FROM = "operation: alter\nmanifest: {{path: {}}}"
"""The spec of a change that reads its offsets from this path."""
COMMAND_TIMEOUT = 300
"""Seconds; long enough for a command on a busy machine."""


def line(number: int, offset: int | None) -> str:
    """One offset in the format of Connect, about 96 bytes."""
    value = "null" if offset is None else f'{{"offset":{offset}}}'
    return f'{{"partition":{{"cluster":"source","partition":0,"topic":"topic-{number:08}"}},"offset":{value}}}'


def lines(offset: int, numbers: Iterable[int] = range(MANY)) -> list[str]:
    return [line(number, offset) for number in numbers]


def text_of(content: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in content).encode()


@dataclass
class LargePlace(Workplace):
    """Commands that use Spark run in a new process: a process has one Spark session, which other tests may use."""

    bootstrap: str = ""

    def settings(self, cluster: str = "", more: str = "") -> None:
        super().settings(
            f'min_running = "0s"\n{cluster}',  # the mirror has no tasks
            f'[spark]\nmin_size = 0\ndirectory = "{self.spark}"\nuris = ["file:{self.directory}/*"]\n{more}',
        )

    @property
    def spark(self) -> Path:
        """The directory in which manifests are staged. Each test has its own; other caches of this user are shared."""
        return self.directory / "spark"

    def runner(self, stem: str = "many", spec: str = "") -> str:
        """The document of a mirror that runs, and has nothing to replicate."""
        of_cluster = {
            f"{side}.cluster.{key}": value
            for side in ("source", "target")
            for key, value in (("alias", side), ("bootstrap.servers", self.bootstrap))
        }
        more = {"topics": "topic-.*", "offset-syncs.topic.replication.factor": '"1"'}
        return self.document(stem, MIRROR, spec, of_cluster | more)

    def change(self, name: str, spec: str, stem: str = "many") -> str:
        return change(name, self.name(stem), spec)

    def manifest(self, file: str, content: Iterable[str]) -> None:
        """Write lines to a file of the repository."""
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text_of(content))

    def apart(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Ran:
        """Run one command in a new process."""
        variables = {**os.environ, **(environment or {})}
        return run_apart(self.command(*arguments), timeout=COMMAND_TIMEOUT, env=variables)

    def applied(self, *arguments: str) -> Ran:
        """Apply the last commit; the command must succeed."""
        return self.apart("apply", "--yes", *arguments).expect(0)

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command in the background, with a pipe from its stderr; at the end it is killed if it still runs."""
        command = self.command(*arguments)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def fill(self, stem: str, content: list[str]) -> None:
        """Set offsets over the REST API; the connector must be stopped."""
        url = f"{self.urls[0]}/connectors/{self.name(stem)}/offsets"
        body = f'{{"offsets":[{",".join(content)}]}}'.encode()
        assert len(body) > MAX_SIZE
        with self.session.patch(url, body, headers={"Content-Type": "application/json"}, timeout=90) as answer:
            assert answer.status_code == 200, answer.text

    def current_offsets(self, stem: str = "many") -> list[str]:
        """All current offsets as lines, sorted."""
        return sorted(_canonical(one) for one in self.offsets(stem))

    def record(self, change: str, stem: str = "many") -> Any:
        """The record of a change in `offsets history`, or None."""
        ran = self.run("offsets", "history", self.name(stem), "-o", "json").expect(0)
        return next((one for one in json.loads(ran.out) if one["name"] == change), None)

    def clean(self) -> None:
        """Remove this test's connectors and their offsets, which would use the worker's heap until it ends."""
        for name in self.rest("GET", "/connectors"):
            if name.endswith(self.suffix):
                self.rest("PUT", f"/connectors/{name}/stop")
                self.await_that(partial(self._state, name), lambda state: state == "STOPPED")
                self.rest("DELETE", f"/connectors/{name}/offsets")
        super().clean()

    def _state(self, name: str) -> str:
        return str(self.rest("GET", f"/connectors/{name}/status")["connector"]["state"])


def _canonical(entry: Any) -> str:
    partition = json.dumps(entry["partition"], sort_keys=True, separators=(",", ":"))
    return f'{{"partition":{partition},"offset":{json.dumps(entry["offset"], separators=(",", ":"))}}}'


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A worker without exactly-once support: with it, each request would read the whole offsets topic again."""
    directory = tmp_path_factory.mktemp("quiet") / "sandbox"
    with Sandbox.up(
        SandboxOptions(directory=directory, workers=1, heap=2048, exactly_once=ExpectedSupport.DISABLED, tied=True)
    ) as started:
        yield started


@pytest.fixture
def place(worker: Sandbox, tmp_path: Path) -> Iterator[LargePlace]:
    made = LargePlace(tmp_path, worker.worker_urls, bootstrap=worker.bootstrap)
    yield made
    made.clean()
