"""A real worker, and connectors whose offsets are easy to read: the position of each is a number.

A source writes numbers to its own topic, and a recorder sink copies them to a file. A sink reads numbers that a source
has written before, and writes them to a file itself. So for both kinds the file shows rewinds and skips.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from contract.under_test import Contract, entry, sink_entry

from gitops_connect.errors import Waiting
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch

ABSENT = ConnectorName("no-such-connector")
LAST = 20
"""The last number that is counted."""
ALL = [*range(1, LAST + 1)]
DEADLINE = 60.0
"""Seconds: a worker without support for exactly-once sources stores offsets less often."""
_POLL = 0.05


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
        return sink_entry(self.topic, self.at[number] + 1)


@dataclass(frozen=True, slots=True)
class Subject:
    """One connector: `offsets(n)` are its offsets after the number `n`, and its numbers arrive in `file`."""

    name: ConnectorName
    offsets: Callable[[int], OffsetPatch]
    file: Path
    config: Mapping[str, str]

    def seen(self) -> list[int]:
        """The numbers that have arrived, in order."""
        return [int(line.rsplit(" ", 1)[1]) for line in lines(self.file)]


@dataclass
class Workbench(Contract):
    """A cluster with connectors that count; `counted` are the numbers that its sinks read."""

    counted: Numbers | None = None

    def subject(self, kind: Kind, state: TargetState | None = None, variant: str = "Movable", **more: str) -> Subject:
        """A source that counts to LAST, or a sink of the numbers; `variant` is how its class handles a change."""
        file = self.directory / f"{self.name('numbers')}.txt"
        if kind is Kind.SOURCE:
            config = {**self.numbers(variant, until=str(LAST), **more), "topic": self.name("counted")}
            return Subject(self.create("source", config, state), source_offsets, file, config)
        assert self.counted is not None
        config = {**self.records(self.counted.topic, variant, **more), "file": str(file)}
        return Subject(self.create("sink", config, state), self.counted.after, file, config)

    def record(self, topic: str, file: Path, **more: str) -> None:
        """Copy all records of the topic to the file."""
        self.create("recorder", {**self.records(topic, **more), "file": str(file)})

    def count(self, **more: str) -> Numbers:
        """Let a source count, and read the offset of each number: the end of a transaction takes an offset, too."""
        subject = self.subject(Kind.SOURCE, **more)
        self.watch(subject, **more)
        self.await_that(subject.seen, lambda seen: seen == ALL)
        records = [line.split() for line in lines(subject.file)]
        return Numbers(subject.config["topic"], {int(number): int(offset) for _, offset, *_, number in records})

    def watch(self, subject: Subject, **more: str) -> None:
        """Copy the numbers of a source to its file; a sink writes them there itself."""
        if "topic" in subject.config:
            self.record(subject.config["topic"], subject.file, **more)

    def alter(self, name: ConnectorName, offsets: OffsetPatch) -> None:
        """Alter the offsets as soon as the worker accepts it, and expect no warning."""
        assert self._once_it_may(lambda: self.client.alter_offsets(name, offsets)) == ""

    def reset(self, name: ConnectorName) -> None:
        """Reset the offsets as soon as the worker accepts it, and expect no warning."""
        assert self._once_it_may(lambda: self.client.reset_offsets(name)) == ""

    def _once_it_may(self, change: Callable[[], str]) -> Any:
        def tried() -> str | Waiting:
            try:
                return change()
            except Waiting as busy:
                return busy

        return self.await_that(tried, lambda found: isinstance(found, str))

    def json(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The raw answer: status and JSON. After a 409, which means a rebalance, the request is repeated."""
        answer: tuple[int, Any] = self.await_that(partial(super().json, method, path, body), lambda got: got[0] != 409)
        return answer

    def await_that(self, look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
        until = time.monotonic() + DEADLINE
        while not good(found := look()):
            assert time.monotonic() < until, f"never happened; last seen: {found}"
            time.sleep(_POLL)
        return found


def source_offsets(position: int | None) -> OffsetPatch:
    """The offsets of a number source."""
    return entry({"stream": "a"}, None if position is None else {"position": position})


def lines(file: Path) -> list[str]:
    """The complete lines of a file; none if it does not exist."""
    if not file.exists():
        return []
    text = file.read_text()
    return text[: text.rfind("\n") + 1].splitlines()
