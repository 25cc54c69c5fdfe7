"""Creates connectors on a real Connect with gitops-connect and with plain requests, and changes their configs.

gitops-connect validates each config, reads the offsets that an earlier connector has left, and ends when every
connector is recorded in its declared state. It is compared with plain requests, eight at a time: with POSTs alone,
which end with the last answer; with POSTs until every connector is seen in its state; and with the same requests as
gitops-connect until then. Every measurement has a new sandbox: to delete connectors takes longer than to create them.
Its worker does not support exactly-once sources, which is Connect's default. With that support, all of this takes
longer.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from benchmarks.documents import Layout, Workplace, config, name
from benchmarks.figures import Figure, NotMeasured, compared
from benchmarks.opened import Opened, opened
from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.outcomes import Result
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

TITLE = "Converging on the sandbox"
FEW, MANY = 200, 1000
ROUNDS = 3
LIMIT = 1.1
AT_ONCE = 8
CHANGED = "batch.size"
_WARM_UP = 30


@dataclass
class _Contest:
    """A real worker, and the ways to create `count` connectors in a state on it."""

    directory: Path
    url: str
    count: int
    state: str
    session: requests.Session = field(default_factory=requests.Session)

    def posts(self) -> float:
        """Only POSTs, up to the last answer."""
        return self._all(self._post)

    def seen(self) -> float:
        """Only POSTs, until every connector is seen in its state."""
        return self._all(self._post) + self._settled()

    def same(self) -> float:
        """The requests of gitops-connect."""
        return self._all(self._validate_and_post) + self._settled()

    def ours(self) -> float:
        """A reconciliation, from reading the repository to the last record."""
        with self._product() as (product, _):
            return _cycle(product, self.count)

    def changes(self) -> Iterator[tuple[float, float]]:
        """Reconciliations that change each config, and after each one eight PUTs at a time that change them again."""
        with self._product() as (product, workplace):
            _cycle(product, self.count)
            for turn in range(ROUNDS):
                workplace.declare(**{CHANGED: f"{1001 + turn}"})
                yield _cycle(product, self.count), self._all(self._put)

    def _all(self, send: Callable[[int], None]) -> float:
        began = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(send, range(self.count)))
        return time.monotonic() - began

    def _settled(self) -> float:
        began, tasks = time.monotonic(), [] if self.state == "stopped" else [self.state.upper()]
        while True:
            found = self.session.get(f"{self.url}/connectors?expand=status", timeout=100).json()
            states = [one["status"] for key, one in found.items() if not key.startswith("warm-up")]
            there = [one for one in states if one["connector"]["state"] == self.state.upper()]
            if sum([task["state"] for task in one["tasks"]] == tasks for one in there) == self.count:
                return time.monotonic() - began
            time.sleep(0.2)

    @contextmanager
    def _product(self) -> Iterator[tuple[Opened, Workplace]]:
        workplace = Workplace(self.directory / "workplace", self.count, Layout.FILE_EACH, self.state)
        workplace.create(self.url)
        with opened(workplace) as product:
            yield product, workplace

    def warm_up(self) -> None:
        for number in range(_WARM_UP):
            self._post(number, "warm-up")

    def _post(self, number: int, prefix: str = "orders") -> None:
        body = {"name": name(number, prefix), "config": config(number), "initial_state": self.state.upper()}
        self.session.post(f"{self.url}/connectors", json=body, timeout=100).raise_for_status()

    def _validate_and_post(self, number: int) -> None:
        declared = {**config(number), "name": name(number)}
        url = f"{self.url}/connector-plugins/{declared['connector.class']}/config/validate"
        self.session.put(url, json=declared, timeout=100).raise_for_status()
        self._post(number)
        self.session.get(f"{self.url}/connectors/{name(number)}/offsets", timeout=100)

    def _put(self, number: int) -> None:
        url = f"{self.url}/connectors/{name(number)}/config"
        self.session.put(url, json=config(number) | {CHANGED: "2000"}, timeout=100).raise_for_status()


def _cycle(product: Opened, count: int) -> float:
    began = time.monotonic()
    outcome = product.cycle()
    elapsed = time.monotonic() - began
    if [step.result for step in outcome.steps] != [Result.APPLIED] * count:
        raise NotMeasured(f"not all {count} were applied: {outcome.failed[:1]}")
    return elapsed


@contextmanager
def _contest(directory: Path, count: int, state: str) -> Iterator[_Contest]:
    with tempfile.TemporaryDirectory(dir=directory) as place:
        options = SandboxOptions(Path(place, "sandbox"), workers=1, exactly_once=ExpectedSupport.DISABLED, tied=True)
        try:
            sandbox = Sandbox.up(options)
        except SandboxFailed as error:
            raise NotMeasured(f"no sandbox: {error}") from error
        with sandbox:
            contest = _Contest(Path(place), sandbox.worker_urls[0], count, state)
            contest.warm_up()
            yield contest


_WAYS: dict[str, Callable[[_Contest], float]] = {
    f"{AT_ONCE} POSTs at a time": _Contest.posts,
    f"{AT_ONCE} POSTs at a time, until all are seen": _Contest.seen,
    f"the same requests, {AT_ONCE} at a time": _Contest.same,
    "ours": _Contest.ours,
}


def measure(directory: Path) -> Iterator[Figure]:
    """Raises NotMeasured if no real Connect can be started here."""
    directory.mkdir(parents=True, exist_ok=True)
    for count, state in ((FEW, "running"), (MANY, "stopped")):
        times: dict[str, list[float]] = {way: [] for way in _WAYS}
        for turn in range(ROUNDS):
            ways = list(_WAYS.items())
            for way, create in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                with _contest(directory, count, state) as contest:
                    times[way].append(create(contest))
        ours = times.pop("ours")
        for way, theirs in times.items():
            yield compared(Figure(f"{count} {state} connectors created", 0, "s", LIMIT), ours, way, theirs)
    with _contest(directory, FEW, "running") as contest:
        changed, puts = zip(*contest.changes(), strict=True)
    figure = Figure(f"configs of {FEW} running connectors changed", 0, "s", LIMIT)
    yield compared(figure, changed, f"{AT_ONCE} PUTs at a time", puts)
