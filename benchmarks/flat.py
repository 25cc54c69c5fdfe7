"""A daemon over 10,000 reconciliations, two days of simulated time: its memory does not grow.

The daemon has the clock of the simulation, and a repository in memory. Everything else is real: the ledger is a file
(in memory if the system has `/dev/shm`, because the lease is renewed all the time), and the simulated Connect is
another process. A commit changes a connector before every 50th reconciliation. The program
`python -m benchmarks.flat SETTINGS` lives that time, and writes its memory and its open files at each mark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

import psutil

from benchmarks.documents import Layout, Workplace, document
from benchmarks.figures import Figure, NotMeasured
from benchmarks.server import ROOT, serving

TITLE = "A daemon over 10,000 reconciliations"
CONNECTORS = 20
MARKS = (1_000, 5_500, 10_000)
GROWTH, FILES = 5.0, 4
"""The most percent of memory, and the most open files, that are added from the first mark to the last."""
_INTERVAL = 20.0
"""Seconds. The lease is renewed every 3 seconds: with an interval of a minute, this takes twice as long."""
_COMMIT_EVERY = 50


def measure(directory: Path) -> Iterator[Figure]:
    """The memory after each number of reconciliations, and how much it and the number of open files have grown."""
    shared = Path("/dev/shm")  # noqa: S108 - a directory of our own is made there
    with TemporaryDirectory(dir=shared if shared.is_dir() else directory) as place:
        yield from _figures(Workplace(Path(place), CONNECTORS, Layout.HUNDRED_A_FILE))


def _figures(workplace: Workplace) -> Iterator[Figure]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    with serving(CONNECTORS) as connect:
        workplace.create(connect.url)
        command = [sys.executable, "-m", "benchmarks.flat", str(workplace.settings)]
        with Popen(command, env=environment, stdout=PIPE, text=True) as process:
            found = [[float(word) for word in line.split()] for line in process.stdout or ()]
        if len(found) < len(MARKS) or connect.requests() < 2 * MARKS[-1]:
            raise NotMeasured("the daemon ended early, or did not reconcile each minute")
    for mark, (memory, _) in zip(MARKS, found, strict=True):
        yield Figure(f"memory after {mark:,} reconciliations", memory, "MiB")
    (early, early_files), *_, (late, late_files) = found
    yield Figure(f"growth of the memory since {MARKS[0]:,}", 100 * (late / early - 1), "%", GROWTH)
    yield Figure(f"open files since {MARKS[0]:,}", late_files - early_files, "", FILES)


def _live(settings_file: Path) -> None:
    from simulation.jobs import SimulatedJobs  # noqa: PLC0415 - only this process has the tests on its path
    from simulation.repository import Repository  # noqa: PLC0415
    from simulation.timeline import Life, SimulatedClock, Timeline  # noqa: PLC0415

    from gitops_connect.daemon.daemon import Daemon  # noqa: PLC0415
    from gitops_connect.runtime import open_runtime  # noqa: PLC0415
    from gitops_connect.settings.settings_file import load_settings  # noqa: PLC0415

    timeline, life, repository = Timeline(), Life("daemon"), Repository(files={})
    runtime = replace(
        open_runtime(load_settings(settings_file, {"GITOPS_CONNECT_REPOSITORY__INTERVAL": f"{_INTERVAL}s"})),
        clock=SimulatedClock(timeline, life),
    )
    daemon = Daemon(
        runtime, repository, jobs=lambda _, *parts: SimulatedJobs(timeline, life, *parts, lambda _, job: job())
    )
    timeline.at(0, life, daemon.begin)
    process = psutil.Process()
    for before, mark in pairwise((0, *MARKS)):
        for number in range(before, mark):
            if number % _COMMIT_EVERY == 0:
                changed = document(number % CONNECTORS, **{"batch.size": str(number + 1)})
                others = (document(one) for one in range(CONNECTORS) if one != number % CONNECTORS)
                repository.commit({"all.yaml": "---\n".join([changed, *others])})
                repository._history.clear()  # noqa: SLF001 - it would grow
            timeline.run(_INTERVAL)
            if timeline.errors:
                raise timeline.errors[0]
        print(process.memory_info().rss / 2**20, process.num_fds(), flush=True)


if __name__ == "__main__":
    _live(Path(sys.argv[1]))
