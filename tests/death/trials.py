"""One connector, its file, its documents and its ledger, and a program that works on them until it is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName
from gitops_connect.model.offset_changes import OffsetChangeRecord
from gitops_connect.model.offsets import Offsets, offset_text, partition_text

LOCAL = ClusterName("local")
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
WIDTH = 4
"""Bytes of a line: line n begins at byte n * WIDTH."""


class Program:
    """`program.py`, or another program like it, which waits for orders."""

    def __init__(self, name: str = "program") -> None:
        self._name = name
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", f"death.{self._name}"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, **order: Any) -> Any:
        """Run one order. Returns its exit code (negative: the signal that killed it) and its messages."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except BaseException:  # a timeout of pytest: the next test must not read the answer to this order
            self._process.kill()
            self._process.communicate()
            self._process = self._start()
            raise

    def end(self) -> None:
        self._process.communicate()


@contextmanager
def program(name: str = "program") -> Iterator[Program]:
    started = Program(name)
    try:
        yield started
    finally:
        started.end()


@dataclass
class Trial:
    """A test directory. `events` are the steps of all reconciliations so far; `place` is the step of the kill.

    `result` is what the last reconciliation that was not killed returned.
    """

    directory: Path
    url: str
    program: Program
    name: str = "lines"
    hasty: bool = True
    more: str = ""
    events: list[str] = field(default_factory=list)
    place: str = "not killed"
    result: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.directory / "repository").mkdir(parents=True)
        (self.directory / "gitops-connect.toml").write_text(
            f'[clusters.local]\nurl = ["{self.url}"]\nmin_running = "0.2s"\ntask_shutdown_timeout = 0\n{self.more}\n'
        )
        self.lines = 0

    @property
    def file(self) -> Path:
        return self.directory / "lines.txt"

    def grow(self, count: int = 1) -> None:
        """Append lines to the file."""
        with self.file.open("a") as file:
            file.writelines(f"{number:0{WIDTH - 1}}\n" for number in range(self.lines, self.lines + count))
        self.lines += count

    def declare(self, *documents: str) -> None:
        (self.directory / "repository" / "all.yaml").write_text("---\n".join(documents))

    def connector(self, spec: str = "", **config: str) -> str:
        lines = "".join(f"    {key}: {value}\n" for key, value in config.items())
        more = "".join(f"  {line}\n" for line in spec.splitlines())
        return (
            f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {self.name}}}\n"
            f"spec:\n  class: {SOURCE}\n{more}  config:\n    file: {self.file}\n    topic: {self.name}\n{lines}"
        )

    def change(self, name: str, offset_change: str, line: int | None = None, acknowledge: str = "") -> str:
        offsets = f"  offsets: {json.dumps([self.entry(line)])}\n" if line is not None else ""
        return (
            f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {name}}}\n"
            f"spec:\n  connector: {self.name}\n  operation: {offset_change}\n{offsets}  acknowledge: [{acknowledge}]\n"
        )

    def entry(self, line: int) -> dict[str, Any]:
        return {"partition": {"filename": str(self.file)}, "offset": {"position": line * WIDTH}}

    def at(self, line: int) -> Offsets:
        """The offsets of a connector that resumes at this line."""
        entry = self.entry(line)
        return {partition_text(entry["partition"]): offset_text(entry["offset"])}

    def cycle(self, die_at: int | None = None, **fate: str) -> bool:
        """Run one reconciliation. False if it was killed before step `die_at`; `fate` are other faults."""
        answer = self.program.order(directory=str(self.directory), hasty=self.hasty, die_at=die_at, **fate)
        self.events += [what for kind, what in answer["said"] if kind == "step"]
        if answer["code"] == -signal.SIGKILL:
            self.place = f"killed before {self.events.pop()!r}, after {self.events}"
            return False
        assert answer["code"] == 0, f"the cycle ended with {answer['code']} after {self.events}"
        self.result = answer["said"][-1][1]
        return True

    def ledger(self) -> Ledger:
        return Ledger.open("sqlite:///state.db", self.directory, None)

    def records(self) -> dict[str, OffsetChangeRecord]:
        return dict(self.ledger().offset_changes.records(LOCAL))
