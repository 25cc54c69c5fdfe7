"""The simulation can fail: each of these mutations of the product breaks a promise within `SEEDS` days."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.mutations import MUTATIONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_simulation_finds_the_mutation(name: str) -> None:
    """In a process of its own: the other tests have loaded the modules already."""
    command = [sys.executable, "-m", "simulation.mutations", name]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or f"no day has failed, although {name}"
