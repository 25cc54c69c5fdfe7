"""`gitops-connect --help`: how long it takes, and what it imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.planning import PROGRAM
from benchmarks.processor_time import run

TITLE = "gitops-connect --help"
RUNS = 15
HEAVY = ("git", "jsonschema", "pyspark", "requests", "sqlalchemy", "yaml")
_IMPORTED = f"""
import sys
from gitops_connect.cli.main import run_command
run_command(["--help"])
sys.exit(len({set(HEAVY)!r} & sys.modules.keys()))
"""


def measure(directory: Path) -> Iterator[Figure]:
    """Elapsed time is how long a user waits; processor time depends less on other work of the machine."""
    spent = [run([PROGRAM, "--help"], directory / "output") for _ in range(RUNS)]
    yield median(Figure("elapsed", 0, "s", 0.3), [one.elapsed for one in spent])
    yield median(Figure("processor time", 0, "s"), [one.processor for one in spent])
    imported = subprocess.run([sys.executable, "-c", _IMPORTED], stdout=subprocess.DEVNULL, check=False).returncode
    yield Figure(f"of {', '.join(HEAVY)} imported", imported, limit=0)
    nothing = [run([sys.executable, "-c", "import typer"], directory / "output") for _ in range(RUNS)]
    yield median(Figure("a program that only imports typer, elapsed", 0, "s"), [one.elapsed for one in nothing])
