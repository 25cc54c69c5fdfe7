"""Bad days of a daemon, each from one seed. `SEEDS=FROM-TO` lives others; a failure prints its seed and its history."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from simulation.day import ACTIONS, live
from simulation.world import LedgerTemplate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FIRST, LAST = (int(one) for one in os.environ.get("SEEDS", "0-29").split("-"))


def test_each_day_ends_in_sync_or_with_a_reason(tmp_path: Path) -> None:
    template = LedgerTemplate(tmp_path)
    met: Counter[str] = sum((live(seed, template).met for seed in range(FIRST, LAST + 1)), Counter())
    assert met.keys() >= {one.__name__.removeprefix("_") for one in ACTIONS}, "too few seeds for every event"


def test_a_seed_is_repeated_exactly(tmp_path: Path) -> None:
    template = LedgerTemplate(tmp_path)
    first, second = (live(3, template).world.history for _ in range(2))
    assert first == second
    assert any("create" in line for line in first)
