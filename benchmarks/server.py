"""The stand-in for Connect of the tests, in another process, so that its time is not counted.

The program `python -m benchmarks.server COUNT` serves that many connectors and writes its URL. It answers each line of
its standard input with the number of requests so far, and ends at the end of its input.
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
    """A running stand-in, and the pipes to it."""

    url: str
    stdin: IO[str]
    stdout: IO[str]

    def requests(self) -> int:
        """The number of requests so far."""
        self.stdin.write("\n")
        self.stdin.flush()
        return int(self.stdout.readline())


@contextmanager
def serving(count: int) -> Iterator[Served]:
    """Serve a cluster with `count` running connectors."""
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
