"""A program that dies on demand, a worker that records its changes, and a trial for each step to die at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from death.stories import ELSEWHERE, Each, Recorder, Story
from death.trials import Program, Trial, program


@pytest.fixture(scope="module")
def orders() -> Iterator[Program]:
    with program() as started:
        yield started


@pytest.fixture(scope="module")
def worker() -> Iterator[Recorder]:
    with Recorder() as recorder:
        yield recorder


@pytest.fixture
def deaths(orders: Program, worker: Recorder, tmp_path: Path) -> Each:
    """One trial for each event, killed right before it; the last trial is not killed."""

    def every(story: Story) -> Iterator[tuple[Trial, bool]]:
        for number in count():
            worker.begin_anew()
            trial = Trial(tmp_path / f"{number}", worker.url, orders, more=story.more)
            trial.grow(5)
            trial.declare(*story.first(trial))
            assert trial.cycle()
            if worker.state() is not None:
                worker.cluster.stored.set_source("lines", ELSEWHERE, {"position": 7})
            worker.look()
            trial.events.clear()
            worker.done.clear()
            trial.declare(*story.then(trial))
            lived = trial.cycle(number)
            yield trial, lived
            if lived:
                assert number > 5, "hardly anything happened"
                return

    return every
