"""A user's directory whose manifests are too large for one process, over a worker that takes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acceptance.workplace import MIRROR, Ran, Workplace
from gitops_connect.desired.manifests import MAX_SIZE
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

MANY = 180_000
"""Offsets: somewhat more than a process holds, as a manifest and as what stands."""
FROM = "operation: alter\nmanifest: {{path: {}}}"
"""What a change says that takes its offsets from there."""
PATIENCE = 300
"""Seconds that a command may take on a machine that has much else to do."""


def line(number: int, offset: int | None) -> str:
    """As Connect writes it, some 96 bytes."""
    value = "null" if offset is None else f'{{"offset":{offset}}}'
    return f'{{"partition":{{"cluster":"source","partition":0,"topic":"topic-{number:08}"}},"offset":{value}}}'


def lines(offset: int, numbers: Iterable[int] = range(MANY)) -> list[str]:
    return [line(number, offset) for number in numbers]


def text_of(content: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in content).encode()


@dataclass
class LargePlace(Workplace):
    """Each command is a process of its own: a process has one Spark session, and other tests may have it."""

    bootstrap: str = ""

    def settings(self, cluster: str = "", more: str = "") -> None:
        super().settings(cluster, f'[spark]\ndirectory = "{self.spark}"\nuris = ["file:{self.directory}/*"]\n{more}')

    @property
    def spark(self) -> Path:
        """Where manifests are staged. It is this test's own, as what else is cached for this user is not."""
        return self.directory / "spark"

    def runner(self, stem: str = "many", spec: str = "") -> str:
        """A mirror that runs, and has nothing to do."""
        of_cluster = {
            f"{side}.cluster.{key}": value
            for side in ("source", "target")
            for key, value in (("alias", side), ("bootstrap.servers", self.bootstrap))
        }
        more = {"topics": "topic-.*", "offset-syncs.topic.replication.factor": '"1"'}
        return self.document(stem, MIRROR, spec, of_cluster | more)

    def change(self, name: str, spec: str, stem: str = "many") -> str:
        """An OffsetChange."""
        body = "".join(f"  {one}\n" for one in spec.splitlines())
        return (
            "apiVersion: gitops-connect/v1\nkind: OffsetChange\n"
            f"metadata: {{name: {name}}}\nspec:\n  connector: {self.name(stem)}\n{body}"
        )

    def manifest(self, file: str, content: Iterable[str]) -> None:
        """Lines, in a file of the repository."""
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text_of(content))

    def command(self, *arguments: str, program: str = "") -> list[str]:
        """`program` is run in the place of ours."""
        begin = ["-c", program] if program else ["-m", "gitops_connect.cli.main"]
        return [sys.executable, *begin, "--config", str(self.directory / "gitops-connect.toml"), *arguments]

    def apart(self, *arguments: str, program: str = "", environment: Mapping[str, str] | None = None) -> Ran:
        """Run one command line in a process of its own."""
        done = subprocess.run(
            self.command(*arguments, program=program),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env={**os.environ, **(environment or {})},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def applied(self, *arguments: str) -> Ran:
        """Apply what is committed; it must go well."""
        ran = self.apart("apply", "--yes", *arguments)
        assert ran.code == 0, ran
        return ran

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """One that is not waited for, with its stderr to be read; at the end it is killed, if it still runs."""
        command = self.command(*arguments)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def fill(self, stem: str, content: list[str]) -> None:
        """Set offsets past gitops-connect; the connector is stopped."""
        url = f"{self.urls[0]}/connectors/{self.name(stem)}/offsets"
        body = f'{{"offsets":[{",".join(content)}]}}'.encode()
        assert len(body) > MAX_SIZE
        with self.session.patch(url, body, headers={"Content-Type": "application/json"}, timeout=90) as answer:
            assert answer.status_code == 200, answer.text

    def stands(self, stem: str = "many") -> list[str]:
        """Every offset as a line, sorted."""
        return sorted(_canonical(one) for one in self.rest("GET", f"/connectors/{self.name(stem)}/offsets")["offsets"])

    def record(self, change: str, stem: str = "many") -> Any:
        """What `offsets history` has of a change."""
        ran = self.run("offsets", "history", self.name(stem), "-o", "json")
        assert ran.code == 0, ran
        return next((one for one in json.loads(ran.out) if one["name"] == change), None)

    def clean(self) -> None:
        """Remove this test's connectors and their offsets, which would take of the worker's heap for ever."""
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
    """One without exactly-once support, which would read its offsets topic anew for each request."""
    directory = tmp_path_factory.mktemp("quiet") / "sandbox"
    with Sandbox.up(
        SandboxOptions(directory=directory, workers=1, heap=2048, exactly_once=False, tied=True)
    ) as started:
        yield started


@pytest.fixture
def place(worker: Sandbox, tmp_path: Path) -> Iterator[LargePlace]:
    made = LargePlace(tmp_path, worker.worker_urls, bootstrap=worker.bootstrap)
    yield made
    made.clean()
