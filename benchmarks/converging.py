"""Creates 200 connectors on a real Connect with gitops-connect, changes their configs, and does so with plain requests.

The loop uses one connection, and sends each POST after the answer to the one before. It ends with the last answer, when
some connectors may not run yet. gitops-connect ends when every connector runs and is recorded. Another loop sends eight
requests at a time, which shows how much of the time is Connect's own, and changes the configs in the same way. The
three take turns at being the first, and all connectors are deleted in between.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import requests

from benchmarks.documents import Layout, Workplace, config, name
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.opened import Opened, opened
from gitops_connect.errors import SandboxFailed
from gitops_connect.model.outcomes import Result
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

TITLE = "Converging on the sandbox"
COUNT = 200
ROUNDS = 3
LIMIT, EAGER_LIMIT = 1.2, 1.1
EAGER = 8
_DELETES = 32
CHANGED = {"batch.size": "1001"}


@dataclass
class _Contest:
    """One real worker, and the ways to create connectors on it."""

    directory: Path
    url: str
    session: requests.Session = field(default_factory=requests.Session)

    def raw(self, prefix: str, count: int = COUNT) -> float:
        """One POST after another."""
        began = time.monotonic()
        for number in range(count):
            self._post(prefix, number)
        return time.monotonic() - began

    def eager(self, prefix: str) -> tuple[float, float]:
        """Eight POSTs at a time, and then eight PUTs."""
        return self._all(self._post, prefix), self._all(self._put, prefix)

    def _all(self, send: Callable[[str, int], None], prefix: str) -> float:
        began = time.monotonic()
        with ThreadPoolExecutor(EAGER) as pool:
            list(pool.map(partial(send, prefix), range(COUNT)))
        return time.monotonic() - began

    def ours(self, prefix: str) -> tuple[float, float]:
        """Two reconciliations, each from reading the repository to the last record."""
        workplace = Workplace(self.directory / prefix, COUNT, Layout.FILE_EACH)
        workplace.create(self.url, prefix)
        with opened(workplace) as product:
            created = _cycle(product)
            workplace.declare(prefix, **CHANGED)
            return created, _cycle(product)

    def clear(self) -> None:
        """Delete everything, and wait until it is gone."""
        while names := self.session.get(f"{self.url}/connectors", timeout=100).json():
            with ThreadPoolExecutor(_DELETES) as pool:
                list(pool.map(lambda one: requests.delete(f"{self.url}/connectors/{one}", timeout=100), names))

    def _post(self, prefix: str, number: int) -> None:
        body = {"name": name(number, prefix), "config": config(number)}
        self.session.post(f"{self.url}/connectors", json=body, timeout=100).raise_for_status()

    def _put(self, prefix: str, number: int) -> None:
        url = f"{self.url}/connectors/{name(number, prefix)}/config"
        self.session.put(url, json=config(number) | CHANGED, timeout=100).raise_for_status()


def _cycle(product: Opened) -> float:
    began = time.monotonic()
    outcome = product.cycle()
    elapsed = time.monotonic() - began
    if [step.result for step in outcome.steps] != [Result.APPLIED] * COUNT:
        raise NotMeasured(f"not all {COUNT} were applied: {outcome.failed[:1]}")
    return elapsed


def measure(directory: Path) -> Iterator[Figure]:
    """Raises NotMeasured if no real Connect can be started here."""
    options = SandboxOptions(directory=directory / "sandbox", workers=1, tied=True)
    try:
        sandbox = Sandbox.up(options)
    except SandboxFailed as error:
        raise NotMeasured(f"no sandbox: {error}") from error
    with sandbox:
        contest = _Contest(directory, sandbox.worker_urls[0])
        contest.raw("warm-up", COUNT // 4)
        contest.clear()
        times = _rounds(contest)
    raw = times["raw"]
    (eager, eager_changes), (ours, changes) = (zip(*times[kind], strict=True) for kind in ("eager", "ours"))
    yield median(Figure(f"raw creation of {COUNT}, one POST after another, elapsed", 0, "s"), raw)
    yield median(Figure(f"raw creation of {COUNT}, {EAGER} POSTs at a time, elapsed", 0, "s"), eager)
    yield median(Figure(f"ours, {COUNT} created, seen to run and recorded, elapsed", 0, "s"), ours)
    yield Figure("ours against raw", _ratio(ours, raw), "times", LIMIT)
    yield Figure(f"ours against {EAGER} POSTs at a time", _ratio(ours, eager), "times", EAGER_LIMIT)
    yield median(Figure(f"raw change of {COUNT} configs, {EAGER} PUTs at a time, elapsed", 0, "s"), eager_changes)
    yield median(Figure(f"ours, {COUNT} configs changed, elapsed", 0, "s"), changes)
    yield Figure(f"ours against {EAGER} PUTs at a time", _ratio(changes, eager_changes), "times", EAGER_LIMIT)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(ours) / statistics.median(theirs)


def _rounds(contest: _Contest) -> dict[str, list[Any]]:
    kinds: list[tuple[str, Callable[[str], Any]]]
    kinds = [("raw", contest.raw), ("ours", contest.ours), ("eager", contest.eager)]
    times: dict[str, list[Any]] = {kind: [] for kind, _ in kinds}
    for number in range(ROUNDS):
        for kind, create in kinds:
            times[kind].append(create(f"{kind}-{number}"))
            contest.clear()
        kinds = [*kinds[1:], kinds[0]]
    return times
