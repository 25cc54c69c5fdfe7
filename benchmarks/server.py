"""The tests' stand-in for Connect in a process of its own, so that its work is not counted as ours.

As a program: `python -m benchmarks.server COUNT` serves that many connectors, writes its URL, answers each line on
stdin with the number of requests so far, and ends with stdin.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO

from benchmarks.documents import config, name

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Served:
    """A stand-in that runs, and the pipes to it."""

    url: str
    stdin: IO[str]
    stdout: IO[str]

    def requests(self) -> int:
        """How many it has had."""
        self.stdin.write("\n")
        self.stdin.flush()
        return int(self.stdout.readline())


@contextmanager
def serving(count: int) -> Iterator[Served]:
    """A cluster on which `count` connectors run."""
    command = [sys.executable, "-m", "benchmarks.server", str(count)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("it has just been started with pipes")
        yield Served(process.stdout.readline().strip(), process.stdin, process.stdout)


def _serve(count: int) -> None:
    from standin.connect import StandIn  # noqa: PLC0415 - only this process has the tests on its path

    with StandIn() as standin:
        for number in range(count):
            standin.cluster.create(name(number), config(number), None)
        print(standin.url, flush=True)
        for _ in sys.stdin:
            print(standin.count(), flush=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
