"""A daemon with nothing to do: its processor time and memory, with the usual interval of one minute.

It polls the repository, reads the cluster and makes a plan each minute, as in production, and serves the status page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.daemons import running
from benchmarks.documents import Layout, Workplace
from benchmarks.figures import Figure
from benchmarks.server import serving

TITLE = "An idle daemon"
LIMITS = {1_000: (1.0, 150.0), 10_000: (2.0, 250.0)}
"""For each number of connectors: percent of one processor, and MiB of memory."""
SECONDS = 300
_SETTLE = 15


def measure(directory: Path) -> Iterator[Figure]:
    """Percent of one processor over five intervals, including Git, and the memory at their end."""
    for count, (percent, memory) in LIMITS.items():
        workplace = Workplace(directory / f"idle-{count}", count, Layout.FILE_EACH)
        with serving(count) as connect:
            workplace.create(connect.url)
            with running(workplace, GITOPS_CONNECT_SERVER__LISTEN="127.0.0.1:0") as daemon:
                daemon.wait("reconciliation_finished")
                time.sleep(_SETTLE)
                process = psutil.Process(daemon.process.pid)
                before = _spent(process)
                time.sleep(SECONDS)
                spent = _spent(process) - before
                resident = process.memory_info().rss / 2**20
        of = f"of {count:,} connectors"
        yield Figure(f"processor time {of}", 100 * spent / SECONDS, "%", percent, f"{SECONDS} seconds")
        yield Figure(f"memory {of}", resident, "MiB", memory)


def _spent(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:4])
