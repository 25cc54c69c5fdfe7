"""Ties a sandbox to the life of this process: it is taken down when we end, however we end, `kill -9` included.

A tiny process (`watch.py`) reads a pipe that only this process holds open. The kernel closes that pipe at any death, so
nothing is polled, no pid can be mistaken, and it works wherever there are pipes; `PR_SET_PDEATHSIG` is Linux only, and
is sent when the *thread* that started a child ends.
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
    """Our end of the pipe, and the process that listens at the other."""

    descriptor: int
    watcher: processes.ProcessId

    def drop(self) -> None:
        """End the watcher without its doing anything, and close the pipe."""
        processes.kill(self.watcher)
        os.close(self.descriptor)


def tie(folder: Path, environment: Mapping[str, str]) -> Leash:
    """From now on, the sandbox in `folder` does not outlive this process."""
    reading, writing = os.pipe()
    try:
        command = (sys.executable, "-m", "gitops_connect.sandbox.watch", str(folder))
        watcher = processes.start(command, folder / "logs" / "watch.log", environment, stdin=reading)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return Leash(writing, watcher)
