"""Traces of a real Connect replay through the model without contradiction. `RECORD=1` records the traces again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
from contract.guarded import Guarded
from support.plugins.builder import build_plugins

from gitops_connect.sandbox.sandbox_state import HOST
from simulation.traces import NAMES, Contradiction, Recording, Replay, Trace, write_trace

TRACES = Path(__file__).with_name("traces")
_KILLS = {20: ("kill", 2), 40: ("start", 2), 60: ("kill", 1), 80: ("start", 1)}
RECORDINGS = {"one-worker": (1, 60, {}, 0), "two-workers": (2, 120, _KILLS, 0), "delay": (2, 120, _KILLS, 8)}
"""The workers, the requests, which worker is killed or started after which request, and `max_delay` in seconds."""


def trace_of(name: str) -> Trace:
    trace: Trace = json.loads((TRACES / f"{name}.json").read_text())
    return trace


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_trace_of_a_real_cluster_is_possible_in_the_model(name: str) -> None:
    workers, _, _, max_delay = RECORDINGS[name]
    Replay(workers, max_delay).run(trace_of(name))


def wrong(trace: Trace) -> Iterator[Trace]:
    """The trace with one event that no cluster can answer so."""
    for number, event in enumerate(trace):
        before, after = trace[:number], trace[number + 1 :]
        status, is_change = event.get("status", 0), event.get("path", "").endswith("/offsets")
        if event.get("method") in ("PATCH", "DELETE") and is_change and status in (200, 400):
            yield [*before, {**event, "status": 600 - status, "answer": None}, *after]
        if event.get("path", "").endswith("/config") and any("seen" in one for one in after):
            yield [*before, *after]
        if status == 409 and "already exists" in event["answer"]["message"]:
            yield [*before, {**event, "status": 201, "answer": None}, *after]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_wrong_answer_contradicts_the_model(name: str) -> None:
    workers, _, _, max_delay = RECORDINGS[name]
    found = [*wrong(trace_of(name))]
    assert len(found) > 10
    for one in found:
        with pytest.raises(Contradiction):
            Replay(workers, max_delay).run(one)


class WaitingWorkers:
    """Two workers that wait before they run the connectors of a worker that was killed."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._ends: dict[int, ExitStack] = {}
        self._guarded = [Guarded(directory / str(number)) for number in (1, 2)]
        stack.enter_context(self._guarded[0].broker_up("super.users=User:ANONYMOUS\n"))
        for one in self._guarded:
            one.broker = self._guarded[0].broker
            build_plugins(one.directory, os.environ)
        stack.callback(lambda: [self.kill_worker(index) for index in [*self._ends]])

    @property
    def worker_urls(self) -> tuple[str, ...]:
        return tuple(f"http://{HOST}:{one.worker}" for one in self._guarded)

    def start_worker(self) -> str:
        index = 1 if 1 not in self._ends else 2
        end = ExitStack()
        end.enter_context(self._guarded[index - 1].worker_up("scheduled.rebalance.max.delay.ms=8000\n"))
        self._ends[index] = end
        return self.worker_urls[index - 1]

    def kill_worker(self, index: int) -> None:
        self._ends.pop(index).close()


@pytest.fixture
def waiting_workers(tmp_path: Path) -> Iterator[WaitingWorkers]:
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        workers = WaitingWorkers(tmp_path, stack)
        for _ in workers.worker_urls:
            workers.start_worker()
        yield workers


@pytest.mark.e2e
@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_new_trace_is_possible_in_the_model(
    name: str, request: pytest.FixtureRequest, connector_name: Callable[[str], str]
) -> None:
    workers, requests, disturbances, max_delay = RECORDINGS[name]
    group = request.getfixturevalue("waiting_workers" if max_delay else "sandbox")
    while len(group.worker_urls) < workers:
        group.start_worker()
    names = {one: connector_name(f"trace-{one}") for one in NAMES}
    trace = Recording(group, names, requests, disturbances, Random(7)).run()
    if os.environ.get("RECORD"):
        write_trace(TRACES / f"{name}.json", trace)
    Replay(workers, max_delay).run(trace)
