"""Traces of a real Connect replay through the model without contradiction. `RECORD=1` records the traces again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from gitops_connect.sandbox.cluster import Sandbox
from simulation.traces import NAMES, Contradiction, Recording, Replay, Trace, write_trace

TRACES = Path(__file__).with_name("traces")
RECORDINGS = {
    "one-worker": (1, 60, {}),
    "two-workers": (2, 120, {20: ("kill", 2), 40: ("start", 2), 60: ("kill", 1), 80: ("start", 1)}),
}
"""The workers, the requests, and which worker is killed or started after which request."""


def trace_of(name: str) -> Trace:
    trace: Trace = json.loads((TRACES / f"{name}.json").read_text())
    return trace


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_trace_of_a_real_cluster_is_possible_in_the_model(name: str) -> None:
    Replay(RECORDINGS[name][0]).run(trace_of(name))


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
    workers, _, _ = RECORDINGS[name]
    found = [*wrong(trace_of(name))]
    assert len(found) > 10
    for one in found:
        with pytest.raises(Contradiction):
            Replay(workers).run(one)


@pytest.mark.e2e
@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_new_trace_is_possible_in_the_model(
    name: str, sandbox: Sandbox, connector_name: Callable[[str], str]
) -> None:
    workers, requests, disturbances = RECORDINGS[name]
    for _ in range(workers - 1):
        sandbox.start_worker()
    names = {one: connector_name(f"trace-{one}") for one in NAMES}
    trace = Recording(sandbox, names, requests, disturbances, Random(7)).run()
    if os.environ.get("RECORD"):
        write_trace(TRACES / f"{name}.json", trace)
    Replay(workers).run(trace)
