"""`python -m simulation SEEDS [FIRST]`: lives days in parallel, prints what they met, and shrinks those that fail."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

from simulation.coverage import Coverage
from simulation.day import ACTIONS
from simulation.schedules import BadDay, Beginnings, live, schedule_of, shortest_of

_AT_ONCE = 100
"""Seeds of one task of a process."""
_TOLD = 10_000
"""Seeds between two reports of the progress."""
_SHRUNK = 5
"""Bad days that are shrunk."""
_SHARE = 0.01
"""The least fraction of days in which each pair of features has to meet."""
_ENOUGH = 10_000
"""Fewer days say nothing about rare pairs."""


@cache
def _beginnings(directory: str) -> Beginnings:
    """Those of this process, in a directory of its own."""
    beginnings = Beginnings(Path(tempfile.mkdtemp(dir=directory)))
    gc.freeze()  # the modules are never garbage: days took a twentieth longer when each collection went through them
    return beginnings


def _live(directory: str, seeds: Sequence[int]) -> tuple[Coverage, list[int]]:
    """What these days met, and the seeds of those that failed."""
    coverage, bad = Coverage(), list[int]()
    for seed in seeds:
        try:
            coverage += live(schedule_of(seed), _beginnings(directory)).coverage()
        except BadDay:
            bad.append(seed)
    return coverage, bad


def main(seeds: int, first: int) -> int:
    """Returns the exit code: 1 if a day failed, or if features have met too rarely."""
    began, coverage, bad = time.monotonic(), Coverage(), list[int]()
    tasks = [range(one, min(one + _AT_ONCE, first + seeds)) for one in range(first, first + seeds, _AT_ONCE)]
    with tempfile.TemporaryDirectory() as directory:
        with ProcessPoolExecutor(os.cpu_count()) as processes:
            for task, (more, failed) in zip(tasks, processes.map(partial(_live, directory), tasks), strict=True):
                coverage += more
                bad += failed
                if (lived := task.stop - first) % _TOLD == 0:
                    print(f"{lived} seeds in {time.monotonic() - began:.0f} s; failed: {bad}", flush=True)
        print(*coverage.lines(ACTIONS), sep="\n")
        for one in bad[:_SHRUNK]:
            print(shortest_of(one, _beginnings(directory)))
    print(f"{seeds} seeds from {first} in {time.monotonic() - began:.0f} s; failed: {bad}")
    rare = coverage.missing(int(seeds * _SHARE)) if seeds >= _ENOUGH else []
    for line in rare:
        print(f"met too rarely: {line}")
    return 1 if bad or rare else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
