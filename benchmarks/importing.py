"""Imports 1,000 and 10,000 connectors in a new process: the time that a user waits, and the memory.

Another process on the same machine plays the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.planning import PROGRAM
from benchmarks.processor_time import Spent, run
from benchmarks.server import serving

TITLE = "Import"
RUNS = {1_000: 5, 10_000: 2}
SECONDS, MEMORY = 5.0, 200.0
_FEW = 1_000


def measure(directory: Path) -> Iterator[Figure]:
    """For each number of connectors: the documents alone, and for 1,000 also with their offsets."""
    for count, runs in RUNS.items():
        with serving(count) as served:
            settings = directory / f"importing-{count}.toml"
            settings.write_text(f'[clusters.local]\nurl = ["{served.url}"]\n', encoding="utf-8")
            spent = [_import(settings, directory / f"{count}-{number}", count) for number in range(runs)]
            limit = (SECONDS, MEMORY) if count == _FEW else (None, None)
            yield median(Figure(f"{count:,} connectors", 0, "s", limit[0]), [one.elapsed for one in spent])
            yield Figure(f"memory, {count:,} connectors", max(one.memory for one in spent), "MiB", limit[1])
            if count == _FEW:
                took = _import(settings, directory / "offsets", count, "--with-offsets").elapsed
                yield Figure(f"{count:,} connectors with their offsets", took, "s")


def _import(settings: Path, out: Path, count: int, *options: str) -> Spent:
    command = [PROGRAM, "--config", str(settings), "import", "--out", str(out), *options]
    spent = run(command, settings.with_suffix(".output"))
    if (written := len(list(out.rglob("*.yaml")))) != count:
        raise NotMeasured(f"{count} documents were to be written, and there are {written}")
    return spent
