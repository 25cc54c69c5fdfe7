"""The leader of two daemons is killed: the time until the other one has reconciled the cluster.

The ledger is a real PostgreSQL. Its lease names another host, so that the follower cannot see that the process is gone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.daemons import Daemon, running
from benchmarks.documents import Layout, Workplace
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.server import ROOT, serving

TITLE = "A leader that was killed"
COUNT = 100
RUNS = 5
_KEY = "0123456789abcdef0123456789abcdef"
_REST = 3.0
"""Seconds after which the follower has read everything, and the leader has renewed its lease."""


def measure(directory: Path) -> Iterator[Figure]:
    """The time from `kill -9` until the other daemon has taken over and reconciled."""
    sys.path.append(str(ROOT / "tests"))
    from live.databases import start_postgres  # noqa: PLC0415
    from support.ledger.ledger_places import postgres_place  # noqa: PLC0415 - a part of the tests

    try:
        server = start_postgres()
    except AssertionError as error:
        raise NotMeasured(f"PostgreSQL is not installed: {error}") from error
    try:
        place = postgres_place(server, directory)
        workplace = Workplace(directory / "failover", COUNT, Layout.FILE_EACH)
        with serving(COUNT) as connect:
            workplace.create(connect.url)
            ledger = {"GITOPS_CONNECT_STATE__URL": place.url, "GITOPS_CONNECT_STATE__KEY": _KEY}
            seconds = []
            for _ in range(RUNS):
                with running(workplace, **ledger) as leader:
                    leader.wait("reconciliation_finished")
                    with running(workplace, **ledger) as follower:
                        follower.wait("revision_changed")
                        time.sleep(_REST)
                        place.move_leases()
                        seconds.append(_kill(leader, follower))
            yield median(Figure("elapsed", 0, "s", 15), seconds)
    finally:
        server.remove()


def _kill(leader: Daemon, follower: Daemon) -> float:
    began = time.monotonic()
    leader.process.kill()
    follower.wait("leader_elected")
    follower.wait("reconciliation_finished")
    return time.monotonic() - began
