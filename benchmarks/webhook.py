"""From a signed webhook to its effect: a running daemon polls, plans, and sends the changed config to Connect.

The daemon and the fake Connect of the tests are other processes. The repository has 100 connectors.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator
from pathlib import Path

import requests

from benchmarks.daemons import running
from benchmarks.documents import Layout, Workplace, name
from benchmarks.figures import Figure, median
from benchmarks.server import serving

TITLE = "a webhook and its effect"
COUNT = 100
RUNS = 10
SECRET = "0123456789abcdef"  # noqa: S105 - of a daemon that nobody else reaches
VARIABLES = {
    "GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h",
    "GITOPS_CONNECT_SERVER__LISTEN": "127.0.0.1:0",
    "GITOPS_CONNECT_SERVER__WEBHOOK_SECRET": SECRET,
}
"""Of a daemon that reconciles only after a webhook."""
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
        with running(workplace, **VARIABLES) as daemon:
            url = str(daemon.wait("server_started")["url"])
            daemon.wait("reconciliation_finished")
            times = []
            for turn in range(RUNS):
                workplace.change(turn)
                times.append(_once(connect.url, url, turn))
                daemon.wait("reconciliation_finished")
                time.sleep(_REST)
            yield median(Figure("elapsed", 0, "s", 1), times)


def push(session: requests.Session, url: str) -> None:
    """Send the webhook of a push, with its signature."""
    signature = hmac.new(SECRET.encode(), _PUSH, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={signature}"}
    session.post(f"{url}/webhooks/github", _PUSH, headers=headers, timeout=60).raise_for_status()


def _once(connect: str, url: str, turn: int) -> float:
    with requests.Session() as session:
        began = time.perf_counter()
        push(session, url)
        while session.get(f"{connect}/connectors/{name(0)}/config", timeout=60).json()["batch.size"] != str(
            2000 + turn
        ):
            time.sleep(_PAUSE)
        return time.perf_counter() - began
