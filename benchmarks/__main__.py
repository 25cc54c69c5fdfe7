"""`python -m benchmarks [NAME...]`: run all benchmarks, or these, and print a table of the results and their targets.

The exit code is 0 even if a target is missed, because results depend on the machine.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from benchmarks import (
    acls,
    applying,
    converging,
    failover,
    flat,
    growth,
    help_text,
    idle,
    importing,
    large,
    ledger_size,
    newest_push,
    planning,
    status_page,
    unchanged,
    webhook,
)
from benchmarks.figures import Figure, NotMeasured, table

BENCHMARKS = {
    "help": help_text,
    "status-page": status_page,
    "webhook": webhook,
    "idle": idle,
    "failover": failover,
    "flat": flat,
    "unchanged": unchanged,
    "planning": planning,
    "growth": growth,
    "ledger-size": ledger_size,
    "newest-push": newest_push,
    "importing": importing,
    "converging": converging,
    "large": large,
    "applying": applying,
    "acls": acls,
}


def main(names: list[str]) -> None:
    """Run the benchmarks one after the other, so that none slows down another."""
    if strange := [name for name in names if name not in BENCHMARKS]:
        sys.exit(f"there is no benchmark {strange[0]!r}; there are {', '.join(BENCHMARKS)}")
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load:.1f} before the start\n")
    print(table([figure for name in names or BENCHMARKS for figure in _run(BENCHMARKS[name])]))


def _run(benchmark: ModuleType) -> Iterator[Figure]:
    """The figures of a benchmark, each of which is also printed once it is measured: a run may take an hour."""
    print(f"{benchmark.TITLE}, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        try:
            for figure in benchmark.measure(Path(directory)):
                print("  ", *filter(None, figure.cells), sep="  ", flush=True)
                yield figure
        except NotMeasured as reason:
            print(f"  not all could be measured: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
