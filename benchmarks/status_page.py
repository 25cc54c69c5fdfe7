"""The status page of 2,000 connectors: how long it takes to the last byte, and how large it is.

The program `python -m benchmarks.status_page COUNT` serves a made-up daemon of the tests, in another process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE, Popen

from benchmarks.figures import Figure, median
from gitops_connect.server.app import application

TITLE = "status page of 2,000 connectors"
ROOT = Path(__file__).parents[1]
COUNT = 2000
RUNS = 15


def measure(_directory: Path) -> Iterator[Figure]:
    """The elapsed time as a browser sees it, and the size as it is sent."""
    with _serving() as url:
        pages = [_fetch(f"{url}/") for _ in range(RUNS)]
        yield median(Figure("elapsed", 0, "s", 0.2), [seconds for seconds, _ in pages])
        yield Figure("compressed", pages[0][1] / 1000, "kB", 300)
        filtered = [_fetch(f"{url}/?attention=1") for _ in range(RUNS)]
        yield median(Figure("elapsed, only those that need attention", 0, "s"), [seconds for seconds, _ in filtered])
        metrics = [_fetch(f"{url}/metrics") for _ in range(RUNS)]
        yield median(Figure("elapsed, /metrics", 0, "s"), [seconds for seconds, _ in metrics])


def _fetch(url: str) -> tuple[float, int]:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip", "Accept": "text/html"})  # noqa: S310
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - the URL of our own process
        size = len(answer.read())
    return time.perf_counter() - began, size


@contextmanager
def _serving() -> Iterator[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-m", "benchmarks.status_page", str(COUNT)]
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        if process.stdout is None:
            raise AssertionError("it has just been started with pipes")
        yield process.stdout.readline().strip()
        process.communicate()


def _serve(count: int) -> None:
    from support.server.made_up import made_up_state, world, write_ledger  # noqa: PLC0415 - as below
    from support.server.running import served  # noqa: PLC0415 - only this process has the tests on its path

    with tempfile.TemporaryDirectory() as name:
        write_ledger(Path(name))
        with (
            world(Path(name), made_up_state(datetime.now(UTC), count)) as made,
            served(application(made.served)) as url,
        ):
            print(url, flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
