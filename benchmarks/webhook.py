"""From a signed webhook to its effect: a running daemon polls, plans, and sends the changed config to Connect.

The daemon and the fake Connect of the tests are other processes. The repository has 100 connectors.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import requests

from benchmarks.documents import Layout, Workplace, name
from benchmarks.figures import Figure, median
from benchmarks.planning import PROGRAM
from benchmarks.server import serving

TITLE = "a webhook and its effect"
COUNT = 100
RUNS = 10
SECRET = "0123456789abcdef"  # noqa: S105 - of a daemon that nobody else reaches
_PUSH = b'{"ref": "refs/heads/main"}'
_PAUSE = 0.005
"""Seconds between two requests that look for the effect."""
_REST = 1.0
"""Seconds between two runs: after a reconciliation with steps, the daemon reads the cluster once more."""


def measure(directory: Path) -> Iterator[Figure]:
    """The time from the request of the webhook until Connect has the changed config."""
    with serving(COUNT) as connect:
        workplace = Workplace(directory / "webhook", COUNT, Layout.FILE_EACH)
        workplace.create(connect.url)
        with _daemon(workplace) as (url, events):
            times = []
            for turn in range(RUNS):
                workplace.change(turn)
                times.append(_once(connect.url, url, turn))
                next(one for one in events if one == "reconciliation_finished")
                time.sleep(_REST)
            yield median(Figure("elapsed", 0, "s", 1), times)


def _once(connect: str, url: str, turn: int) -> float:
    signature = hmac.new(SECRET.encode(), _PUSH, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={signature}"}
    with requests.Session() as session:
        began = time.perf_counter()
        session.post(f"{url}/webhooks/github", _PUSH, headers=headers, timeout=60).raise_for_status()
        while session.get(f"{connect}/connectors/{name(0)}/config", timeout=60).json()["batch.size"] != str(
            2000 + turn
        ):
            time.sleep(_PAUSE)
        return time.perf_counter() - began


@contextmanager
def _daemon(workplace: Workplace) -> Iterator[tuple[str, Iterator[str]]]:
    """The URL of a daemon that has reconciled once and polls only once an hour, and the names of its log events."""
    variables = {
        "GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h",
        "GITOPS_CONNECT_SERVER__LISTEN": "127.0.0.1:0",
        "GITOPS_CONNECT_SERVER__WEBHOOK_SECRET": SECRET,
    }
    command = [PROGRAM, "--config", str(workplace.settings), "run"]
    with Popen(command, env={**os.environ, **variables}, stderr=PIPE, text=True) as process:
        if process.stderr is None:
            raise AssertionError("it has just been started with a pipe")
        try:
            lines = (json.loads(line) for line in process.stderr)
            url = next(line["url"] for line in lines if line["event"] == "server_started")
            events = (str(line["event"]) for line in lines)
            next(one for one in events if one == "reconciliation_finished")
            yield url, events
        finally:
            process.terminate()
            process.communicate()
