"""Seconds of processor time of this process or of a command, including the programs that it ran (Git)."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import NotMeasured


@dataclass(frozen=True)
class Spent:
    """The time of a command in seconds, and the most memory that it had, in MiB."""

    processor: float
    elapsed: float
    memory: float


def spent_here() -> float:
    """The processor time of this process and of the programs that it has run."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run(command: Sequence[str], output: Path, **environment: str) -> Spent:
    """Run a command, with its output in a file. Raises NotMeasured if it fails."""
    began = time.monotonic()
    with output.open("w") as file:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=file, stderr=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.monotonic() - began
    if process.returncode:
        raise NotMeasured(f"{command[0]} ended with {process.returncode}: {output.read_text()[-500:]}")
    return Spent(usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / 1024)
