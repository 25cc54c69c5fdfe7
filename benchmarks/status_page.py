"""The status page of 100,000 connectors: how large each page is, and how long the server takes for it.

The last figures are of a real daemon: how far open pages slow down a reconciliation in which everything changes.

The program `python -m benchmarks.status_page COUNT` serves a made-up daemon of the tests in another process. It answers
two words on its standard input: `change` changes a connector, `cpu` prints the processor time of the process.
"""

from __future__ import annotations

import gzip
import http.client
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE, Popen

import psutil
import requests

from benchmarks.daemons import Daemon, running
from benchmarks.documents import Layout, Workplace, name
from benchmarks.figures import Figure, compared, median
from benchmarks.open_pages import PAUSE, opened
from benchmarks.server import serving
from benchmarks.webhook import VARIABLES, push
from gitops_connect.server.app import application

TITLE = "status page of 100,000 connectors"
ROOT = Path(__file__).parents[1]
COUNT = 100_000
RUNS = 40
READERS, STREAMS = 10, 100
QUIET = 20.0
"""Seconds for which nothing changes while many pages are open."""
CHANGED, ROUNDS = 200, 5
"""Connectors that a reconciliation changes, with and without open pages."""
_REST = 2.0
"""Seconds between two reconciliations with steps: after one, the daemon reads the cluster once more."""
PAGES = {
    "first page": "/",
    "list": "/connectors?size=100",
    "cluster": "/clusters/local",
    "connector": "/clusters/local/connectors/failed",
}
SEARCHES = {"search": "/connectors?q=db-7", "group": "/connectors?group=class", "sort": "/connectors?sort=since"}


def measure(directory: Path) -> Iterator[Figure]:
    """The goals are those of the specification of the page."""
    yield from _large_pages()
    yield from _while_everything_changes(directory)


def _large_pages() -> Iterator[Figure]:
    with _serving() as server:
        yield Figure("first request: the index is built", server.fetch("/connectors")[0], "s", 1)
        server.ask("change")
        yield Figure("first request after a change", server.fetch("/connectors")[0], "s", 1)
        for name, path in PAGES.items():
            pages = [server.fetch(path) for _ in range(RUNS)]
            yield _percentile(Figure(f"{name}, 95th percentile", 0, "s", 0.03), [seconds for seconds, _ in pages])
            body = pages[0][1]
            yield Figure(f"{name}, HTML", len(body) / 1000, "kB", 150)
            yield Figure(f"{name}, compressed", len(gzip.compress(body, 5)) / 1000, "kB", 20)
            yield Figure(f"{name}, elements", body.count(b"<") - body.count(b"</"), "", 3000)
        for name, path in SEARCHES.items():
            found = [server.fetch(path)[0] for _ in range(RUNS // 4)]
            yield _percentile(Figure(f"{name}, 95th percentile", 0, "s", 0.15), found)
        with ThreadPoolExecutor(READERS) as readers:
            many = list(readers.map(lambda _: server.fetch("/connectors")[0], range(READERS * RUNS // 4)))
        yield _percentile(Figure(f"list, {READERS} readers, 95th percentile", 0, "s", 0.1), many)
        assets = [server.fetch(f"/static/{name}")[1] for name in ("style.css", "page.js")]
        yield Figure(
            "stylesheet and script, compressed", sum(len(gzip.compress(one)) for one in assets) / 1000, "kB", 12
        )
        with ExitStack() as stack:
            for _ in range(STREAMS):
                stack.enter_context(server.stream())
            before = float(server.ask("cpu"))
            time.sleep(QUIET)
            used = float(server.ask("cpu")) - before
        yield Figure(f"{STREAMS} open pages, nothing changes", 100 * used / QUIET, "% of a core", 5)


def _while_everything_changes(directory: Path) -> Iterator[Figure]:
    """The status page of a real daemon while one reconciliation changes the config of every connector."""
    workplace = Workplace(directory / "status-page", CHANGED, Layout.FILE_EACH)
    with serving(CHANGED) as connect, requests.Session() as session:
        workplace.create(connect.url)
        with running(workplace, **VARIABLES) as daemon:
            url = str(daemon.wait("server_started")["url"])
            daemon.wait("reconciliation_finished")
            alone, watched, updates = [], [], []
            paths = ["/", "/connectors", "/clusters/local", f"/clusters/local/connectors/{name(0)}"]
            for turn in range(ROUNDS):
                workplace.declare(**{"batch.size": f"{3000 + turn}"})
                alone.append(_reconciled(daemon, session, url))
                workplace.declare(**{"batch.size": f"{4000 + turn}"})
                with opened(url.removeprefix("http://"), STREAMS // len(paths) * paths) as pages:
                    watched.append(_reconciled(daemon, session, url))
                updates.append(pages)
    what = f"reconciliation that changes {CHANGED} connectors, {STREAMS} open pages"
    (times, used), (times_alone, used_alone) = (zip(*each, strict=True) for each in (watched, alone))
    yield compared(Figure(what, 0, "s", 1.1), times, "no open page", times_alone)
    count = sum(one.count for one in updates)
    yield Figure("updates of the pages in that time", count / ROUNDS)
    share = (sum(used) - sum(used_alone)) / count / PAUSE
    yield Figure(f"updates of {STREAMS} pages each {PAUSE:.0f} s, processor time", 100 * STREAMS * share, "% of a core")
    size = sum(one.bytes for one in updates) / count
    yield Figure("mean size of an update, compressed", size / 1000, "kB", 10)


def _reconciled(daemon: Daemon, session: requests.Session, url: str) -> tuple[float, float]:
    """The seconds of the reconciliation that a push leads to, and the processor time of the daemon."""
    before = _used(daemon)
    push(session, url)
    event = daemon.wait("reconciliation_finished")
    if event["applied"] != CHANGED:
        raise AssertionError(f"not all were changed: {event}")
    time.sleep(_REST)
    return float(event["seconds"]), _used(daemon) - before


def _used(daemon: Daemon) -> float:
    return sum(psutil.Process(daemon.process.pid).cpu_times()[:2])


def _percentile(figure: Figure, values: Sequence[float]) -> Figure:
    return replace(median(figure, values), measured=sorted(values)[int(0.95 * (len(values) - 1))])


@dataclass(frozen=True)
class _Server:
    address: str
    process: Popen[str]

    def ask(self, word: str) -> str:
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError("it has just been started with pipes")
        print(word, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def fetch(self, path: str) -> tuple[float, bytes]:
        """The seconds to the last byte, and the page."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        began = time.perf_counter()
        connection.request("GET", path, headers={"Accept": "text/html"})
        body = connection.getresponse().read()
        seconds = time.perf_counter() - began
        connection.close()
        return seconds, body

    @contextmanager
    def stream(self) -> Iterator[None]:
        """An open page: it has asked for events, and hears them."""
        host, _, port = self.address.partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"GET /events HTTP/1.1\r\nHost: {self.address}\r\n\r\n".encode())
            yield


@contextmanager
def _serving() -> Iterator[_Server]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-m", "benchmarks.status_page", str(COUNT)]
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        if process.stdout is None:
            raise AssertionError("it has just been started with pipes")
        yield _Server(process.stdout.readline().strip().removeprefix("http://"), process)
        process.communicate()


def _serve(count: int) -> None:
    from support.server.made_up import made_up_state, world, write_ledger  # noqa: PLC0415 - as below
    from support.server.running import served  # noqa: PLC0415 - only this process has the tests on its path

    with tempfile.TemporaryDirectory() as directory:
        write_ledger(Path(directory))
        state = made_up_state(datetime.now(UTC), count)
        with world(Path(directory), state) as made, served(application(made.served)) as url:
            print(url, flush=True)
            for line in sys.stdin:
                if line.strip() == "change":
                    cluster, view = next(iter(state.snapshot.clusters.items()))
                    first, *others = view.connectors
                    state.update_cluster(cluster, connectors=(replace(first, state="PAUSED"), *others))
                print(time.process_time(), flush=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
