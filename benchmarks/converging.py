"""Creates 200 connectors on a real Connect with gitops-connect, and 200 others with a plain loop of POSTs.

The loop uses one connection, and sends each POST after the answer to the one before. It ends with the last answer, when
some connectors may not run yet. gitops-connect ends when every connector runs and is recorded. Another loop sends eight
POSTs at a time, which shows how much of the time is Connect's own. The three take turns at being the first, and all
connectors are deleted in between.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import requests

from benchmarks.documents import Layout, Workplace, config, name
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.opened import opened
from gitops_connect.errors import SandboxFailed
from gitops_connect.model.outcomes import Result
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

TITLE = "Converging on the sandbox"
COUNT = 200
ROUNDS = 3
LIMIT = 1.2
EAGER = 8
_DELETES = 32


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

    def eager(self, prefix: str) -> float:
        """Eight POSTs at a time."""
        began = time.monotonic()
        with ThreadPoolExecutor(EAGER) as pool:
            list(pool.map(lambda number: self._post(prefix, number), range(COUNT)))
        return time.monotonic() - began

    def ours(self, prefix: str) -> float:
        """A reconciliation, from reading the repository to the last record."""
        workplace = Workplace(self.directory / prefix, COUNT, Layout.FILE_EACH)
        workplace.create(self.url, prefix)
        with opened(workplace) as product:
            began = time.monotonic()
            outcome = product.cycle()
            elapsed = time.monotonic() - began
        if [step.result for step in outcome.steps] != [Result.APPLIED] * COUNT:
            raise NotMeasured(f"not all {COUNT} were applied: {outcome.failed[:1]}")
        return elapsed

    def clear(self) -> None:
        """Delete everything, and wait until it is gone."""
        while names := self.session.get(f"{self.url}/connectors", timeout=100).json():
            with ThreadPoolExecutor(_DELETES) as pool:
                list(pool.map(lambda one: requests.delete(f"{self.url}/connectors/{one}", timeout=100), names))

    def _post(self, prefix: str, number: int) -> None:
        body = {"name": name(number, prefix), "config": config(number)}
        self.session.post(f"{self.url}/connectors", json=body, timeout=100).raise_for_status()


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
    raw, eager, ours = (times[kind] for kind in ("raw", "eager", "ours"))
    yield median(Figure(f"raw creation of {COUNT}, one POST after another, elapsed", 0, "s"), raw)
    yield median(Figure(f"raw creation of {COUNT}, {EAGER} POSTs at a time, elapsed", 0, "s"), eager)
    yield median(Figure(f"ours, {COUNT} created, seen to run and recorded, elapsed", 0, "s"), ours)
    yield Figure("ours against raw", statistics.median(ours) / statistics.median(raw), "times", LIMIT)
    yield Figure(
        f"ours against raw with {EAGER} at a time", statistics.median(ours) / statistics.median(eager), "times"
    )


def _rounds(contest: _Contest) -> dict[str, list[float]]:
    kinds: list[tuple[str, Callable[[str], float]]]
    kinds = [("raw", contest.raw), ("ours", contest.ours), ("eager", contest.eager)]
    times: dict[str, list[float]] = {kind: [] for kind, _ in kinds}
    for number in range(ROUNDS):
        for kind, create in kinds:
            times[kind].append(create(f"{kind}-{number}"))
            contest.clear()
        kinds = [*kinds[1:], kinds[0]]
    return times
