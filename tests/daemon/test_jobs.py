"""The jobs of the daemon: when they begin, whatever happens to the clock of the machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gitops_connect.daemon.jobs import Jobs

HOUR = 3600.0


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    ended, changed = threading.Event(), threading.Condition()
    jobs = Jobs(2, ended, changed)
    jobs.start()
    yield jobs
    with changed:
        ended.set()
    jobs.end()
    assert not jobs.is_alive


def test_a_job_begins_at_its_time_and_a_hurried_one_at_once(jobs: Jobs) -> None:
    order, done = list[str](), threading.Event()
    jobs.schedule("late", lambda: (order.append("late"), done.set())[0], HOUR)
    jobs.schedule("soon", lambda: (order.append("soon"), jobs.hurry("late"))[0], 0.01)
    assert done.wait(30)
    assert order == ["soon", "late"]


def test_a_job_that_is_hurried_while_it_runs_runs_once_more_without_a_wait(jobs: Jobs) -> None:
    runs, again = list[int](), threading.Event()

    def work() -> None:
        runs.append(1)
        if len(runs) == 1:
            jobs.hurry("job")
            jobs.schedule("job", work, HOUR)
        else:
            jobs.schedule("job", again.set, HOUR)
            jobs.hurry("other")
            jobs.hurry("job")

    jobs.schedule("job", work, 0)
    assert again.wait(30)
    assert len(runs) == 2


def test_a_hurried_job_runs_and_not_what_would_run_instead_of_it(jobs: Jobs) -> None:
    order, done = list[str](), threading.Event()
    jobs.schedule("other", done.set, HOUR)

    def look() -> None:
        order.append("look")
        jobs.hurry("job")
        jobs.schedule("job", lambda: (order.append("work"), jobs.hurry("other"))[0], HOUR, look)

    jobs.schedule("job", lambda: order.append("too early"), 0, look)
    assert done.wait(30)
    assert order == ["look", "work"]


def test_the_other_job_of_a_name_replaces_the_one_that_waits(jobs: Jobs) -> None:
    first, second = threading.Event(), threading.Event()
    jobs.schedule("job", first.set, HOUR)
    jobs.schedule("job", second.set, 0)
    assert second.wait(30)
    jobs.hurry("job")
    assert not first.is_set()
