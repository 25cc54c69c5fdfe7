"""The daily clean-up of the ledger by the daemon that is the leader."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from support.cluster.manual_clock import ManualClock
from support.planner.offset_change_values import LOCAL, SKIP, offsets

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.jobs import Jobs
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.outcomes import Actor, ActorKind, ManualAction, by_hand
from gitops_connect.runtime import Runtime, open_runtime
from gitops_connect.settings.sections import ClusterSettings, Duration, Settings, StateSettings
from gitops_connect.source.checkout import Source

DAY = 24 * 3600.0


class WaitingJobs:
    """`Jobs` that nobody starts."""

    def __init__(self, *_: object) -> None:
        self.waiting: dict[str, tuple[Callable[[], None], float]] = {}
        self.running = 0

    def schedule(self, name: str, work: Callable[[], None], wait: float, _: object = None) -> None:
        self.waiting[name] = work, wait

    def start(self) -> None:
        """Nothing begins."""


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    settings = Settings(
        tmp_path,
        clusters={LOCAL: ClusterSettings(LOCAL, ("http://127.0.0.1:9",))},
        state=StateSettings(keep_offsets=Duration(7 * DAY), keep_history=Duration(30 * DAY)),
    )
    with closing(open_runtime(settings)) as opened:
        yield replace(opened, clock=ManualClock())


def clean_up_of(runtime: Runtime, *, is_leader: bool) -> tuple[WaitingJobs, str]:
    """The jobs of a daemon, and the name of the one that cleans up."""
    made: list[WaitingJobs] = []

    def jobs(*_: object) -> Jobs:
        made.append(WaitingJobs())
        return cast(Jobs, made[0])

    daemon = Daemon(runtime, cast(Source, None), jobs=jobs)
    daemon.begin()
    daemon.leadership.end()
    daemon.state.set_leader(is_leader=is_leader)
    (name,) = (one for one in made[0].waiting if "offsets" in one)
    return made[0], name


def apply_skip(ledger: Ledger, clock: ManualClock) -> None:
    ledger.offset_changes.begin(LOCAL, SKIP, offsets(1), clock.now())
    ledger.offset_changes.settle(LOCAL, SKIP.name, offsets(1), "", clock.now())


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    names = ("old_offsets_removed", "old_steps_removed", "clean_up_failed")
    return [record.__dict__["fields"] for record in caplog.records if record.getMessage() in names]


def test_the_leader_removes_offsets_after_the_time_of_the_settings(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    clock = cast(ManualClock, runtime.clock)
    apply_skip(runtime.ledger, clock)
    jobs, name = clean_up_of(runtime, is_leader=True)
    work, wait = jobs.waiting[name]
    assert wait == 15 * 60
    for days, removed in ((6, 0), (2, 1), (1, 1)):
        clock.seconds += timedelta(days=days).total_seconds()
        with caplog.at_level(logging.INFO):
            work()
        assert len(events(caplog)) == removed
        assert jobs.waiting[name][1] == DAY
    assert events(caplog) == [{"cluster": LOCAL, "offset_changes": 1}]
    assert runtime.ledger.offset_changes.snapshot(LOCAL, SKIP.name) is None


def test_the_leader_removes_steps_of_the_history_after_the_time_of_the_settings(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    clock = cast(ManualClock, runtime.clock)
    ana = Actor(ActorKind.COMMAND, "ana@ops-1")
    for days in (0, 2):
        clock.seconds += days * DAY
        step = by_hand(ana, (LOCAL, SKIP.connector), ManualAction.SUSPEND, clock.now(), "")
        runtime.ledger.status.record_steps(LOCAL, [step])
    clock.seconds += 29 * DAY
    jobs, name = clean_up_of(runtime, is_leader=True)
    with caplog.at_level(logging.INFO):
        jobs.waiting[name][0]()
    assert events(caplog) == [{"steps": 1}]
    assert [one.at for one in runtime.ledger.status.steps()] == [clock.now() - timedelta(days=29)]


def test_a_follower_removes_nothing(runtime: Runtime) -> None:
    clock = cast(ManualClock, runtime.clock)
    apply_skip(runtime.ledger, clock)
    jobs, name = clean_up_of(runtime, is_leader=False)
    clock.seconds += 30 * DAY
    jobs.waiting[name][0]()
    assert runtime.ledger.offset_changes.snapshot(LOCAL, SKIP.name) == offsets(1)


def test_a_ledger_that_cannot_be_used_is_cleaned_up_the_next_day(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, name = clean_up_of(runtime, is_leader=True)
    file = Path(runtime.ledger.place)
    with closing(file.open("r+b")) as opened:
        opened.write(b"no database " * 100)  # as by a disk that fails
    jobs.waiting[name][0]()
    (said,) = events(caplog)
    assert said["reason"] == "LedgerUnusable"
    assert jobs.waiting[name][1] == DAY
