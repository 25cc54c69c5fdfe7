"""When the daemon waits, and how long."""

from __future__ import annotations

from pathlib import Path

from gitops_connect.daemon.jobs import PollSchedule
from gitops_connect.errors import ConnectUnavailable, LedgerBusy, LedgerUnusable, Unauthorized
from gitops_connect.safe_files import without_space

STEADY = PollSchedule(interval=60, retry=10, longest=300, jitter=0)


def test_waits_double_up_to_the_longest() -> None:
    error = ConnectUnavailable("no worker answered")
    assert [STEADY.after(error, failures) for failures in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]
    assert STEADY.after(error, 100_000) == 300, "and no number grows too large"
    assert STEADY.after(None, 2) == 20, "a step has failed"
    assert STEADY.after(Unauthorized("401"), 1) == 300, "waiting does not help"
    full = without_space(LedgerUnusable, "the ledger cannot grow", Path("/"))
    assert STEADY.after(full, 1) == 10, "there may be more space later"


def test_a_cluster_that_another_process_holds_is_tried_again_soon() -> None:
    """A lease of a killed leader expires after 10 seconds."""
    assert STEADY.after(LedgerBusy("in use"), 0) == 2
    assert PollSchedule(interval=1, retry=10, longest=300, jitter=0).after(LedgerBusy("in use"), 0) == 1


def test_jitter_is_added_and_spreads() -> None:
    cadence = PollSchedule(interval=60, retry=10, longest=300, jitter=5)
    waits = {cadence.usual() for _ in range(50)}
    assert len(waits) > 1
    assert all(60 <= wait <= 65 for wait in waits)


def test_a_poll_that_failed_is_repeated_earlier_and_never_later() -> None:
    assert [STEADY.next(failures) for failures in range(6)] == [60, 10, 20, 40, 60, 60]
