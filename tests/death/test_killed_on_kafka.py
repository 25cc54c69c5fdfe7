"""Killed before each step, with a real worker and broker. Trials run in parallel, because they mostly wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests

from death.stories import BACK, Documents, running, seeded
from death.trials import Trial, program
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.sandbox.cluster import Sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]
AT_ONCE = 4
DEADLINE = 60.0
STORIES: dict[str, tuple[Documents, Documents]] = {
    "alter": (running(), running(BACK)),
    "initial-offsets": (lambda _: [], seeded()),
}


class Connector:
    """The connector of a trial, read over the REST API."""

    def __init__(self, trial: Trial) -> None:
        self._url = f"{trial.url}/connectors/{trial.name}"
        self._trial = trial

    def ask(self, path: str) -> Any:
        answer = requests.get(self._url + path, timeout=60)
        return answer.json() if answer.ok else None

    def runs(self) -> bool:
        status = self.ask("/status")
        return bool(status and status["connector"]["state"] == "RUNNING")

    def position(self) -> int | None:
        found = (self.ask("/offsets") or {}).get("offsets", ())
        return next((one["offset"]["position"] for one in found), None)

    def read_on(self) -> None:
        """Append a line to the file. If the connector runs, wait until it has read the whole file."""
        self._trial.grow()
        if self.runs():
            until(self.position, lambda found: found == self._trial.file.stat().st_size)

    def delete(self) -> None:
        requests.delete(self._url, timeout=60)


def until(look: Callable[[], Any], good: Callable[[Any], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not good(found := look()):
        assert time.monotonic() < end, f"never happened; last seen: {found}"
        time.sleep(0.1)


@pytest.mark.parametrize("name", STORIES)
def test_each_change_takes_effect_once_and_the_connector_runs(
    name: str, sandbox: Sandbox, tmp_path: Path, connector_name: Callable[[str], str]
) -> None:
    first, then = STORIES[name]
    numbers, names = count(), iter(lambda: connector_name(name), None)
    lived = []

    def die_one_after_the_other() -> None:
        with program() as orders:
            while not lived:
                number = next(numbers)
                trial = Trial(tmp_path / f"{number}", sandbox.worker_urls[0], orders, next(names), hasty=False)
                if live_and_die(trial, first, then, number):
                    lived.append(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in [pool.submit(die_one_after_the_other) for _ in range(AT_ONCE)]:
            future.result()
    assert min(lived) > 5


def live_and_die(trial: Trial, first: Documents, then: Documents, number: int) -> bool:
    """Run a trial that is killed before this step. True if it ended before this step."""
    connector = Connector(trial)
    trial.grow(4)
    trial.declare(*first(trial))
    assert trial.cycle()
    connector.read_on()
    trial.events.clear()
    trial.declare(*then(trial))
    lived = trial.cycle(number)
    for _ in range(3):
        connector.read_on()
        assert trial.cycle(), trial.place
        assert not [step for step in trial.result["steps"] if step[2] != "applied"], f"{trial.place}: {trial.result}"
    connector.read_on()
    assert connector.runs(), trial.place
    assert trial.result["planned"] == 0, f"{trial.place}: {trial.result}"
    assert [record.state for record in trial.records().values()] == [OffsetChangeState.SETTLED], trial.place
    sent = [event for event in trial.events if event in ("alter_offsets", "resume")]
    assert sent[0] == "alter_offsets", trial.place
    assert "alter_offsets" not in sent[sent.index("resume") :], f"{trial.place}: {sent}"
    connector.delete()
    return lived
