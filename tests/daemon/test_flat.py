"""A daemon that runs for months: its memory and its open files do not grow."""

from __future__ import annotations

import time

import psutil
import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import AsProcess

RECONCILIATIONS = 5000
REQUESTS = 2
"""Requests of a reconciliation in which nothing has changed."""


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_memory_and_open_files_are_the_same_after_5000_reconciliations(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", *(at.source(f"orders{number}") for number in range(20)))
    with AsProcess(at, environment={"GITOPS_CONNECT_REPOSITORY__INTERVAL": "0.001"}) as daemon:
        process = psutil.Process(daemon.process.pid)

        def open_files() -> int:
            """The fewest of a second: those of a request or a git process are closed meanwhile."""
            found = []
            for _ in range(50):
                found.append(process.num_fds())
                time.sleep(0.02)
            return min(found)

        def measure(reconciliations: int) -> tuple[float, int]:
            requests = standin.count("GET") + reconciliations * REQUESTS
            while standin.count("GET") < requests:
                assert process.is_running()
                time.sleep(0.2)
            return process.memory_info().rss / 2**20, open_files()

        early, early_files = measure(RECONCILIATIONS // 10)
        late, late_files = measure(RECONCILIATIONS)
    assert late < early * 1.05, f"{early:.1f} MiB, then {late:.1f} MiB"
    assert late_files <= early_files + 4, "requests or git processes stay open"
