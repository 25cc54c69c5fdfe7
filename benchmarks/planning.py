"""Validates and plans 1,000 and 10,000 connectors: cold, in a new process, and warm, as the daemon does.

Cold includes everything from the start of the process: imports, the clone, and Git. Warm is the next reconciliation
after a commit that changed one file. The cluster is a stand-in in another process, whose time is not counted.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.documents import Layout, Workplace
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.opened import opened
from benchmarks.processor_time import run, spent_here
from benchmarks.server import Served, serving

TITLE = "Validate and plan, processor time"
PROGRAM = str(Path(sys.executable).with_name("gitops-connect"))
FEW, MANY = 1_000, 10_000
RUNS = {FEW: 5, MANY: 3}
COLD, WARM, LINEAR = {FEW: 2.0, MANY: 4.0}, {FEW: 0.3, MANY: 1.0}, 11.0
LAYOUTS = {Layout.FILE_EACH: "a file each", Layout.HUNDRED_A_FILE: "100 a file"}


def measure(directory: Path) -> Iterator[Figure]:
    """Both layouts and sizes with connectors that run already; then the slowest case, in which none exists."""
    for layout, words in LAYOUTS.items():
        times: dict[int, list[float]] = {}
        for count in (FEW, MANY):
            workplace = Workplace(directory / f"planning-{layout.value}-{count}", count, layout)
            with serving(count) as served:
                workplace.create(served.url)
                times[count] = [_cold(workplace, number) for number in range(RUNS[count])]
                cold = Figure(f"cold, {count:,}, {words}", 0, "s", COLD[count])
                yield median(cold, times[count])
                warm = Figure(f"warm, {count:,}, {words}", 0, "s", WARM[count])
                yield median(warm, list(_warm(workplace)))
        ratio = statistics.median(times[MANY]) / statistics.median(times[FEW])
        yield Figure(f"cold, {MANY:,} against {FEW:,}, {words}", ratio, "times", LINEAR)
    with serving(0) as nothing:
        yield from _from_nothing(directory, nothing)


def _from_nothing(directory: Path, served: Served) -> Iterator[Figure]:
    workplace = Workplace(directory / "planning-new", FEW, Layout.FILE_EACH)
    workplace.create(served.url)
    before = served.requests()
    times = [_cold(workplace, number) for number in range(RUNS[FEW])]
    asked = (served.requests() - before) // len(times)
    yield median(
        Figure(f"cold, {FEW:,} to be created", 0, "s", note=f"{asked:,} requests, a check of each config"), times
    )
    offline = [_command(workplace, "validate", "--offline", clone=f"offline-{number}") for number in range(RUNS[FEW])]
    yield median(Figure(f"validate --offline, {FEW:,}", 0, "s"), offline)


def _cold(workplace: Workplace, number: int) -> float:
    return _command(workplace, "plan", clone=f"plan-{number}")


def _command(workplace: Workplace, *words: str, clone: str) -> float:
    """Run a command, which first clones the repository."""
    command = [PROGRAM, "--config", str(workplace.settings), *words]
    cache = str(workplace.directory / clone)
    return run(command, workplace.directory / "output", GITOPS_CONNECT_CACHE=cache).processor


def _warm(workplace: Workplace) -> Iterator[float]:
    with opened(workplace) as product:
        product.cycle()
        for turn in range(RUNS[workplace.count]):
            workplace.change(turn)
            began = spent_here()
            proposal = product.plan()
            yield spent_here() - began
            if len(proposal.plan.steps) != 1:
                raise NotMeasured(f"one change was to be planned, and there are {len(proposal.plan.steps)}")
