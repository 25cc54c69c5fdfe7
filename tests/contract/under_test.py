"""A cluster under test, the stand-in or a real one: its client, its raw JSON, unique names, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
import requests
from support.cluster.memory_cluster import MemoryCluster
from support.files.tables import read_yaml

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
TOPIC, OTHER = "connect-configs", "connect-status"
"""Topics with one partition that every worker under test has; their content does not matter."""
FIXTURES = "org.example.fixtures."
DEADLINE = 30.0
OVER_HTTP = pytest.mark.parametrize("url", ["standin", pytest.param("real", marks=pytest.mark.e2e)], indirect=True)
"""A test of what the client sends, which the model has no part in."""
REFUSED = read_yaml(Path(__file__).with_name("refused_offsets.yaml"))


def entry(partition: dict[str, Any], offset: dict[str, Any] | None) -> OffsetPatch:
    """A patch of one partition; without an offset, it is a tombstone."""
    return {partition_text(partition): None if offset is None else offset_text(offset)}


def sink_entry(topic: str, offset: int | None, number: int = 0) -> OffsetPatch:
    """A patch of one topic partition of a sink; without an offset, it is a tombstone."""
    partition = {"kafka_topic": topic, "kafka_partition": number}
    return entry(partition, None if offset is None else {"kafka_offset": offset})


def model_client(model: MemoryCluster, client: ConnectClient) -> ConnectClient:
    """The model as a client; what it has no method for is sent to its rules over HTTP."""

    class ModelClient:
        def __getattr__(self, verb: str) -> Any:
            return getattr(model if hasattr(model, verb) else client, verb)

    return cast(ConnectClient, ModelClient())


@dataclass
class Contract:
    """A cluster under test: its client, its raw JSON, and unique names."""

    client: ConnectClient
    url: str
    directory: Path
    made: list[ConnectorName] = field(default_factory=list)
    pause: Callable[[], object] = field(default=lambda: time.sleep(0.05))
    """Called between two looks."""

    def name(self, text: str = "c") -> ConnectorName:
        """A new name; the connector with this name is deleted after the test."""
        name = ConnectorName(f"{text}-{uuid4().hex[:8]}")
        self.made.append(name)
        return name

    def source(self, **more: str) -> dict[str, str]:
        """The config of a connector that works."""
        file = self.directory / "in.txt"
        file.touch()
        return {"connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": "contract", **more}

    def sink(self, **more: str) -> dict[str, str]:
        file = str(self.directory / "out.txt")
        return {"connector.class": SINK, "tasks.max": "2", "file": file, "topics": "contract", **more}

    def mirror(self, **more: str) -> dict[str, str]:
        """The config of a connector that is valid, and fails as soon as it starts."""
        aliases = {"source.cluster.alias": "from", "target.cluster.alias": "to"}
        return {"connector.class": MIRROR, "tasks.max": "1", **aliases, **more}

    def create(self, text: str, config: dict[str, str], state: TargetState | None = None) -> ConnectorName:
        name = self.name(text)
        self.client.create(name, config, state)
        return name

    def numbers(self, kind: str = "Movable", **more: str) -> dict[str, str]:
        """The config of a source of tests/plugins. Skips the test if the worker under test does not have it."""
        return self._fixture(f"{kind}NumberSource", topic="numbers", **more)

    def records(self, topic: str, kind: str = "Movable", **more: str) -> dict[str, str]:
        """The config of a sink that writes `partition offset key value` lines to `records.txt`."""
        file = str(self.directory / "records.txt")
        return self._fixture(f"{kind}RecordSink", topics=topic, file=file, **more)

    def _fixture(self, simple: str, **more: str) -> dict[str, str]:
        name = FIXTURES + simple
        if all(plugin.class_name != name for plugin in self.client.plugins()):
            pytest.skip(f"this worker has no {name}")
        return {"connector.class": name, "tasks.max": "1", **more}

    def stopped(self, text: str, config: dict[str, str]) -> ConnectorName:
        """A connector that has never run."""
        name = self.create(text, config, TargetState.STOPPED)
        self.await_state(name, "STOPPED", [])
        return name

    def running(self, text: str, config: dict[str, str]) -> ConnectorName:
        name = self.create(text, config)
        self.await_state(name, "RUNNING", ["RUNNING"])
        return name

    def stop(self, name: ConnectorName) -> None:
        """Stop the connector, and wait until its tasks are gone."""
        self.client.stop(name)
        self.await_state(name, "STOPPED", [])

    def run(self, name: ConnectorName) -> None:
        self.client.resume(name)
        self.await_state(name, "RUNNING", ["RUNNING"])

    def topic(self, *lines: str) -> str:
        """A new topic with these records."""
        topic = self.name("topic")
        file = self.directory / f"{topic}.txt"
        file.write_text("".join(f"{line}\n" for line in lines))
        writer = self.create("writer", self.source(file=str(file), topic=topic))
        self.await_offsets(writer, entry({"filename": str(file)}, {"position": file.stat().st_size}))
        self.client.delete(writer)
        return topic

    def await_offsets(self, name: ConnectorName, wanted: OffsetPatch) -> Offsets:
        return self.await_that(lambda: self.client.offsets(name), lambda found: found == wanted)  # type: ignore[no-any-return]

    def consumed(self, name: ConnectorName, *values: str) -> None:
        """Wait until a sink of `records` has written exactly these values; then stop it, and delete its file."""
        file = self.directory / "records.txt"

        def read() -> list[str]:
            self.client.connectors()
            return [line.split()[-1] for line in file.read_text().splitlines()] if file.exists() else []

        self.await_that(read, lambda found: found == [*values])
        self.stop(name)
        file.unlink()

    def patch(self, name: ConnectorName, *pairs: tuple[object, object]) -> tuple[int, str]:
        """Send a PATCH with exactly these pairs, including duplicates. Returns the status and the message."""
        body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs]}
        status, answer = self.json("PATCH", f"/connectors/{name}/offsets", body)
        return status, answer["message"]

    def await_state(self, name: ConnectorName, state: str, tasks: list[str] | None = None) -> ObservedConnector:
        """Poll until the connector and, if given, its tasks have these states."""

        def reached(found: ObservedConnector | None) -> bool:
            if found is None or found.state.value != state:
                return False
            return tasks is None or [task.state.value for task in found.tasks] == tasks

        return self.await_that(lambda: self.client.connectors()[0].get(name), reached)

    def await_absence(self, name: ConnectorName) -> None:
        """Wait until a deleted connector is no longer listed."""
        self.await_that(self.client.names, lambda found: name not in found)

    def await_that(self, look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
        until = time.monotonic() + DEADLINE
        while not good(found := look()):
            assert time.monotonic() < until, f"never happened; seen last: {found}"
            self.pause()
        return found

    def json(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The raw answer: status and JSON."""
        # Each request has its own connection, because a worker closes connections that are idle for 30 s.
        with requests.request(method, self.url + path, json=body, timeout=30) as response:
            return response.status_code, response.json() if response.content else None
