"""A cluster under test, whichever it is: its client, its raw JSON, names that nobody else uses, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedConnector

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
DEADLINE = 30.0


@dataclass
class Contract:
    """A cluster under test: its client, its raw JSON, and names that nobody else uses."""

    client: ConnectClient
    url: str
    folder: Path
    session: requests.Session = field(default_factory=requests.Session)
    made: list[ConnectorName] = field(default_factory=list)

    def name(self, text: str = "c") -> ConnectorName:
        """A new name; what gets it is deleted afterwards."""
        name = ConnectorName(f"{text}-{uuid4().hex[:8]}")
        self.made.append(name)
        return name

    def source(self, **more: str) -> dict[str, str]:
        """The config of a connector that works."""
        file = self.folder / "in.txt"
        file.touch()
        return {"connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": "contract", **more}

    def sink(self, **more: str) -> dict[str, str]:
        file = str(self.folder / "out.txt")
        return {"connector.class": SINK, "tasks.max": "2", "file": file, "topics": "contract", **more}

    def mirror(self, **more: str) -> dict[str, str]:
        """The config of a connector that is valid, and fails as soon as it starts."""
        aliases = {"source.cluster.alias": "from", "target.cluster.alias": "to"}
        return {"connector.class": MIRROR, "tasks.max": "1", **aliases, **more}

    def create(self, text: str, config: dict[str, str], state: TargetState | None = None) -> ConnectorName:
        name = self.name(text)
        self.client.create(name, config, state)
        return name

    def await_state(self, name: ConnectorName, state: str, tasks: list[str] | None = None) -> ObservedConnector:
        """Poll until the connector and (where given) its tasks are reported so."""
        seen: list[object] = []

        def reached(found: ObservedConnector | None) -> bool:
            seen.append(found and (found.state.value, [task.state.value for task in found.tasks]))
            if found is None or found.state.value != state:
                return False
            return tasks is None or [task.state.value for task in found.tasks] == tasks

        return self.await_that(lambda: self.client.connectors()[0].get(name), reached, seen)

    def await_that(self, look: Callable[[], Any], good: Callable[[Any], bool], seen: list[object]) -> Any:
        until = time.monotonic() + DEADLINE
        while not good(found := look()):
            assert time.monotonic() < until, f"never happened; seen: {seen[-5:]}"
            time.sleep(0.05)
        return found

    def json(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The raw answer: status and JSON."""
        with self.session.request(method, self.url + path, json=body, timeout=30) as response:
            return response.status_code, response.json() if response.content else None
