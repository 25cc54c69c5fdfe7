"""A real worker, and connectors whose offsets are easy to read: the position of each is a number.

A source writes numbers to its own topic, and a recorder sink copies them to a file. A sink reads numbers that a source
has written before, and writes them to a file itself. So for both kinds the file shows rewinds and skips.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import requests

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import Waiting
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text

FIXTURES = "org.example.fixtures."
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
LAST = 20
"""The last number that is counted."""
ALL = [*range(1, LAST + 1)]
DEADLINE = 60.0
_POLL = 0.05

Config = Mapping[str, str]


class Kind(Enum):
    """The kind of a connector."""

    SOURCE = "source"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Numbers:
    """A topic that contains the numbers 1 to LAST, and the offset of each number."""

    topic: str
    at: Mapping[int, int]

    def after(self, number: int) -> OffsetPatch:
        """The offset of a sink that has processed this number."""
        return sink_offsets(self.topic, self.at[number] + 1)


@dataclass(frozen=True, slots=True)
class Subject:
    """One connector: `offsets(n)` are its offsets after the number `n`, and its numbers arrive in `file`."""

    name: ConnectorName
    offsets: Callable[[int], OffsetPatch]
    file: Path
    config: Config

    def seen(self) -> list[int]:
        """The numbers that have arrived, in order."""
        return [int(line.rsplit(" ", 1)[1]) for line in lines(self.file)]


@dataclass
class Workbench:
    """One worker: its client, its raw REST API, and polling. `named` makes names of connectors that are cleaned up."""

    client: ConnectClient
    url: str
    directory: Path
    named: Callable[[str], str]
    numbers: Numbers | None = None
    session: requests.Session = field(default_factory=requests.Session)

    def create(self, stem: str, config: Config, state: TargetState | None = None) -> ConnectorName:
        """Make a connector under a new name."""
        name = ConnectorName(self.named(stem))
        self.client.create(name, {"tasks.max": "1", **config}, state)
        return name

    def subject(
        self, kind: Kind, state: TargetState | None = None, *, variant: str = "Movable", **more: str
    ) -> Subject:
        """A source that counts to LAST, or a sink of the numbers; `variant` is how its class handles a change."""
        return self._source(variant, state, more) if kind is Kind.SOURCE else self._sink(variant, state, more)

    def _source(self, variant: str, state: TargetState | None, more: Config) -> Subject:
        topic = self.named("counted")
        config = {"connector.class": f"{FIXTURES}{variant}NumberSource", "topic": topic, "until": str(LAST), **more}
        name = self.create("source", config, state)
        return Subject(name, lambda number: source_offsets(a=number), self.directory / f"{topic}.txt", config)

    def _sink(self, variant: str, state: TargetState | None, more: Config) -> Subject:
        assert self.numbers is not None
        file = self.directory / f"{self.named('numbers')}.txt"
        topic = {"topics": self.numbers.topic, "file": str(file)}
        config = {"connector.class": f"{FIXTURES}{variant}RecordSink", **topic, **more}
        return Subject(self.create("sink", config, state), self.numbers.after, file, config)

    def record(self, topic: str, file: Path, **more: str) -> ConnectorName:
        """Copy all records of the topic to the file."""
        config = {"connector.class": f"{FIXTURES}RecordSink", "topics": topic, "file": str(file), **more}
        return self.create("recorder", config)

    def count(self, **more: str) -> Numbers:
        """Let a source count, and read the offset of each number: the end of a transaction takes an offset, too."""
        subject = self.subject(Kind.SOURCE, **more)
        self.watch(subject, **more)
        await_that(subject.seen, lambda seen: seen == ALL)
        records = [line.split() for line in lines(subject.file)]
        return Numbers(subject.config["topic"], {int(number): int(offset) for _, offset, *_, number in records})

    def watch(self, subject: Subject, **more: str) -> None:
        """Copy the numbers of a source to its file; a sink writes them there itself."""
        if "topic" in subject.config:
            self.record(subject.config["topic"], subject.file, **_client_overrides(more))

    def stop(self, name: ConnectorName) -> None:
        """Stop the connector, and wait until it is STOPPED and has no tasks."""
        self.client.stop(name)
        self.await_state(name, "STOPPED", [])

    def resume(self, name: ConnectorName) -> None:
        self.client.resume(name)
        self.await_state(name, "RUNNING", ["RUNNING"])

    def alter(self, name: ConnectorName, offsets: OffsetPatch) -> None:
        """Alter the offsets as soon as the worker accepts it, and expect no warning."""
        assert self._once_it_may(lambda: self.client.alter_offsets(name, offsets)) == ""

    def reset(self, name: ConnectorName) -> None:
        """Reset the offsets as soon as the worker accepts it, and expect no warning."""
        assert self._once_it_may(lambda: self.client.reset_offsets(name)) == ""

    def _once_it_may(self, change: Callable[[], str]) -> str:
        def tried() -> str | Waiting:
            try:
                return change()
            except Waiting as busy:
                return busy

        answer: str = await_that(tried, lambda found: isinstance(found, str))
        return answer

    def await_state(self, name: ConnectorName, state: str, tasks: list[str]) -> None:
        """Poll until the connector and its tasks have these states."""
        await_that(lambda: self.states(name), lambda found: found == (state, tasks))

    def await_offsets(self, name: ConnectorName, wanted: OffsetPatch) -> None:
        """Poll until the connector has exactly these offsets."""
        await_that(lambda: self.client.offsets(name), lambda found: found == wanted)

    def states(self, name: ConnectorName) -> tuple[str, list[str]] | None:
        """The states of the connector and of its tasks; None if it has no state yet."""
        found = self.client.connectors()[0].get(name)
        return (found.state.value, [task.state.value for task in found.tasks]) if found else None

    def offsets(self, name: ConnectorName) -> Offsets:
        return self.client.offsets(name)

    def rest(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The raw answer: status and JSON. After a 409, which means a rebalance, the request is repeated."""

        def asked() -> tuple[int, Any]:
            with self.session.request(method, self.url + path, json=body, timeout=DEADLINE) as response:
                return response.status_code, response.json() if response.content else None

        answer: tuple[int, Any] = await_that(asked, lambda found: found[0] != 409)
        return answer


def _client_overrides(config: Config) -> Config:
    return {key: value for key, value in config.items() if ".override." in key}


def source_offsets(**positions: int | None) -> OffsetPatch:
    """The offsets of a number source, by stream."""
    return {
        partition_text({"stream": stream}): None if position is None else offset_text({"position": position})
        for stream, position in positions.items()
    }


def sink_offsets(topic: str, offset: int | None) -> OffsetPatch:
    """The offset of a sink in the first partition of a topic."""
    partition = partition_text({"kafka_topic": topic, "kafka_partition": 0})
    return {partition: None if offset is None else offset_text({"kafka_offset": offset})}


def lines(file: Path) -> list[str]:
    """The complete lines of a file; none if it does not exist."""
    if not file.exists():
        return []
    text = file.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def await_that(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """Poll `look` until its result is `good`, and return that result."""
    until = time.monotonic() + DEADLINE
    while not good(found := look()):
        assert time.monotonic() < until, f"never happened; last seen: {found}"
        time.sleep(_POLL)
    return found
