"""Ties a sandbox to the life of this process: it is stopped when this process ends in any way, even by `kill -9`.

A tiny process (`watch.py`) reads a pipe that only this process holds open. The kernel closes that pipe at any end, so
nothing is polled, no pid can be confused, and it works on every system with pipes. `PR_SET_PDEATHSIG` is Linux only,
and is sent when the *thread* that started a child ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.sandbox import processes


@dataclass(frozen=True, slots=True)
class Leash:
    """This process's end of the pipe, and the process that reads the other end."""

    descriptor: int
    watcher: processes.ProcessId

    def drop(self) -> None:
        """End the watcher before it stops the sandbox, and close the pipe."""
        processes.kill(self.watcher)
        os.close(self.descriptor)


def tie(directory: Path, environment: Mapping[str, str]) -> Leash:
    """From now on, the sandbox in the directory is stopped when this process ends."""
    reading, writing = os.pipe()
    try:
        command = (sys.executable, "-m", "gitops_connect.sandbox.watch", str(directory))
        watcher = processes.start(command, directory / "logs" / "watch.log", environment, stdin=reading)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return Leash(writing, watcher)
