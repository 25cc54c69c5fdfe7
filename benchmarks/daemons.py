"""A daemon in another process, and its log events as they are written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import PIPE, Popen
from typing import Any

from benchmarks.documents import Workplace
from benchmarks.planning import PROGRAM


@dataclass(frozen=True)
class Daemon:
    """The process, and an iterator over the events that were not read yet."""

    process: Popen[str]
    events: Iterator[Mapping[str, Any]]

    def wait(self, event: str) -> Mapping[str, Any]:
        """Read until the next event of that name, and return it."""
        return next(one for one in self.events if one["event"] == event)


@contextmanager
def running(workplace: Workplace, **environment: str) -> Iterator[Daemon]:
    """Run a daemon. Its end is SIGTERM, unless it was killed before."""
    command = [PROGRAM, "--config", str(workplace.settings), "run"]
    with Popen(command, env={**os.environ, **environment}, stderr=PIPE, text=True) as process:
        if process.stderr is None:
            raise AssertionError("it has just been started with a pipe")
        try:
            yield Daemon(process, map(json.loads, process.stderr))
        finally:
            process.terminate()
            process.communicate()
