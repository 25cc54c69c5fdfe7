"""The steps that prepare a guide, and those of events while a reader follows it. `situations.yaml` lists them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import requests
from acceptance.workplace import DEADLINE, MIRROR, SINK, SOURCE, Workplace, change, run_apart
from death.gate import gate
from support.files.tables import table

from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.processes import kill
from guides.reader import Reader

await_that = Workplace.await_that
HEAD = '[repository]\nurl = "."\npath = "connectors"\n[state]\nurl = "sqlite:///state.db"\n'
"""The ledger is next to the settings file, as in the examples, although that is in a Git work tree."""
Steps = list[dict[str, dict[str, Any]]]
"""Methods of a `Place`, each with its arguments."""
SITUATIONS: Mapping[str, Steps] = table(__file__, "situations")
EVENTS: Mapping[str, Steps] = table(__file__, "events")


def _settings(min_running: str = "0.2s", **clusters: str) -> str:
    """Settings with the URL of each cluster, whose connectors have to run for a short time only."""
    tables = (
        f'[clusters.{name}]\nurl = ["{url}"]\nmin_running = "{min_running}"\ntask_shutdown_timeout = 0\n'
        for name, url in clusters.items()
    )
    return HEAD + "".join(tables)


@dataclass(frozen=True)
class Place:
    """A reader's directory, which is a Git repository, and the sandbox that the reader uses."""

    reader: Reader
    sandbox: Sandbox
    another_cluster: Callable[[], str]
    """Starts a second sandbox, and returns the URL of its Connect."""

    @property
    def directory(self) -> Path:
        return self.reader.home

    def prepare(self, steps: Steps) -> None:
        text = json.dumps(steps).replace("{home}", str(self.directory))
        here = json.loads(text.replace("{bootstrap}", self.sandbox.bootstrap))
        for name, arguments in (call for step in here for call in step.items()):
            getattr(self, name)(**arguments)

    def settings(self, more: str = "", min_running: str = "0.2s") -> None:
        """Write settings with this directory as the repository, and with the cluster `local`."""
        self.write("gitops-connect.toml", _settings(min_running, local=self.reader.address) + more)
        (self.directory / ".gitignore").write_text("*\n!connectors\n!connectors/**\n")
        for one in ("data", "secrets"):
            (self.directory / one).mkdir()
        (self.directory / ".sandbox").symlink_to(self.sandbox.directory)
        self.shell("git init --quiet --initial-branch=main")
        self.commit()

    def second_cluster(self, first: str = "old", second: str = "new") -> None:
        """Start a second sandbox, and name both clusters in the settings."""
        self.write("gitops-connect.toml", _settings(**{first: self.reader.address, second: self.another_cluster()}))

    def lose_first_cluster(self) -> None:
        for part in self.sandbox.state().parts:
            if part.process:
                kill(part.process)

    def bring_first_cluster_back(self) -> None:
        Sandbox.up(SandboxOptions(directory=self.sandbox.directory))

    def connector(self, name: str, plugin: str, config: Mapping[str, str]) -> None:
        lines = "".join(f"    {key}: {value}\n" for key, value in config.items())
        self.write(
            f"connectors/clusters/local/{name}.yaml",
            f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\n"
            f"spec:\n  class: {plugin}\n  config:\n{lines}",
        )

    def file_source(self, name: str, stem: str, lines: str) -> None:
        """A connector that reads the lines of a file into a topic that no sink reads."""
        file = self.directory / "data" / f"{stem}.txt"
        file.write_text(lines)
        self.connector(name, SOURCE, {"file": str(file), "topic": f"{stem}-lines"})

    def file_sink(self, topic: str, **config: str) -> None:
        """A connector that writes the records of a topic into a file."""
        file = self.directory / "data" / f"{topic}-copy.txt"
        self.connector(f"{topic}-sink", SINK, {"file": str(file), "topics": topic, **config})

    def mirror_of_many_partitions(self) -> None:
        clusters = {"source.cluster.alias": "east", "target.cluster.alias": "west"}
        brokers = dict.fromkeys(
            ("source.cluster.bootstrap.servers", "target.cluster.bootstrap.servers"), self.sandbox.bootstrap
        )
        self.connector("mirror-orders", MIRROR, {**clusters, **brokers, "topics": "orders-[1-4]"})

    def manifests_of_many_partitions(self) -> None:
        for file in range(1, 5):
            partitions = (
                {"cluster": "east", "partition": number, "topic": f"orders-{file}"} for number in range(60_000)
            )
            lines = (json.dumps({"partition": one, "offset": {"offset": 100}}) for one in partitions)
            self.write(f"connectors/offsets/orders-{file}.jsonl", "\n".join(lines))

    def rewind(self, file: str, name: str, connector: str, position: int) -> None:
        """Declare an offset change after which a source reads its file again from this byte."""
        partition = {"filename": str(self.directory / "data" / f"{connector.removesuffix('-source')}.txt")}
        self.offset_change(file, name, connector, partition, {"position": position})

    def offset_change(
        self, file: str, name: str, connector: str, partition: Mapping[str, Any], offset: Mapping[str, int]
    ) -> None:
        offsets = json.dumps([{"partition": partition, "offset": offset}])
        spec = f"operation: alter\nacknowledge: [rewind]\noffsets: {offsets}"
        self.write(f"connectors/clusters/local/{file}.yaml", change(name, connector, spec))

    def interrupted(self, file: str, name: str, connector: str) -> None:
        """An offset change whose `apply` was killed after the worker received the request, and before it answered."""
        self.rewind(file, name, connector, position=8)
        self.commit()
        apply = ["gitops-connect", "--config", "interrupted.toml", "apply", "--yes"]
        killed = Event()
        with gate(self.reader.address, killed.set) as url:
            self.write("interrupted.toml", _settings(local=url))
            with subprocess.Popen(
                apply, cwd=self.directory, env=self.reader.environment, stdout=subprocess.DEVNULL
            ) as process:
                assert killed.wait(DEADLINE)
                process.kill()

    def write(self, name: str, text: str) -> None:
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self) -> None:
        self.shell("git add . && git commit --quiet --allow-empty --message prepared")

    def shell(self, commands: str, text: str = "") -> None:
        """Run commands that the reader ran before they opened the guide."""
        run_apart(["bash", "-ec", commands], cwd=self.directory, env=self.reader.environment, input=text).expect(0)

    def apply(self) -> None:
        self.commit()
        self.shell("gitops-connect apply --yes")

    def produce(self, topic: str, records: list[str]) -> None:
        self.shell(
            f"gitops-connect sandbox produce {topic} --dir '{self.sandbox.directory}'", "\n".join(records) + "\n"
        )

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, self.sandbox.worker_urls[0] + path, json=body, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def await_offset(self, connector: str, offset: int) -> None:
        """Wait until the connector has exactly this one offset."""
        await_that(lambda: self._offsets(connector), lambda found: found == [offset])

    def await_failed_task(self, connector: str) -> None:
        path = f"/connectors/{connector}/status"
        await_that(lambda: self.rest("GET", path)["tasks"][0]["state"], lambda state: state == "FAILED")

    def _offsets(self, connector: str) -> list[int]:
        entries = self.rest("GET", f"/connectors/{connector}/offsets")["offsets"]
        return [number for entry in entries for number in entry["offset"].values()]

    def clean(self) -> None:
        """Remove all connectors and their offsets for the next reader."""
        for name in self.rest("GET", "/connectors"):
            self.rest("PUT", f"/connectors/{name}/stop")
            await_that(partial(self.rest, "GET", f"/connectors/{name}/status"), lambda found: not found["tasks"])
            self.rest("DELETE", f"/connectors/{name}/offsets")
            self.rest("DELETE", f"/connectors/{name}")
