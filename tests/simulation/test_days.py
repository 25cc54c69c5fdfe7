"""Bad days of a daemon, each from one seed. `SEED=NUMBER` repeats one, and prints the shortest schedule that fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulation.schedules import Beginnings, live, schedule_of, shortest_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SEEDS = 2000
"""Seeds of `make test-thorough`; `make test` lives a quarter of them."""
PARTS = 20
SEED = os.environ.get("SEED")


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=pytest.mark.thorough if part >= PARTS // 4 else ())
        for part in range(1 if SEED else PARTS)
    ],
)
def test_each_day_ends_in_sync_or_with_a_reason(part: int, tmp_path: Path) -> None:
    beginnings = Beginnings(tmp_path)
    for seed in [int(SEED)] if SEED else range(part, SEEDS, PARTS):
        if (bad := shortest_of(seed, beginnings)) is not None:
            pytest.fail(str(bad))


def test_a_seed_is_repeated_exactly(tmp_path: Path) -> None:
    beginnings = Beginnings(tmp_path)
    first, second = (live(schedule_of(3), beginnings).world.history for _ in range(2))
    assert first == second
    assert any("replica 1: " in line for line in first)
