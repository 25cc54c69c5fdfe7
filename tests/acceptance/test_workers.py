"""Workers that die or join while a plan is applied: only real workers can show this."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
COUNT = 24


@pytest.fixture
def two_workers(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    sandbox.start_worker()
    workplace = Workplace(tmp_path, sandbox.worker_urls)
    yield workplace
    workplace.urls = tuple(
        part.address for part in sandbox.status() if part.answers and part.address.startswith("http")
    )
    workplace.clean()


def begin_apply(at: Workplace) -> subprocess.Popen[str]:
    """Start `apply` in a new process."""
    return subprocess.Popen(at.command("apply", "--yes"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def await_some(at: Workplace, process: subprocess.Popen[str]) -> None:
    """Wait until `apply` has created the first connectors, and still runs."""
    at.await_that(lambda: process.poll() is not None or at.states(), bool)
    assert process.poll() is None, process.communicate()


def declare_many(at: Workplace) -> None:
    at.commit("many.yaml", *(at.source(f"c{number:02}", f"state: {state(number)}") for number in range(COUNT)))


def state(number: int) -> str:
    return ("running", "paused", "stopped")[number % 3]


def apply_while(at: Workplace, *disturbances: Callable[[], object]) -> int:
    """Apply many connectors, and disturb the workers in the middle of it. Returns the exit code.

    A request that a killed worker had accepted may be lost. `apply` reports it, and the next `apply` fixes it.
    """
    declare_many(at)
    with begin_apply(at) as process:
        await_some(at, process)
        for disturb in disturbances:
            disturb()
        out, _ = process.communicate(timeout=240)
    assert process.returncode == 0 or "failed" in out, out
    return process.returncode


def require_all(at: Workplace) -> None:
    at.await_states(**{f"c{number:02}": state(number).upper() for number in range(COUNT)})
    at.run("plan", "--detailed-exitcode").expect(0)


def test_a_worker_killed_in_the_middle_of_an_apply_loses_nothing(sandbox: Sandbox, two_workers: Workplace) -> None:
    code = apply_while(two_workers, lambda: sandbox.kill_worker(1))
    two_workers.urls = two_workers.urls[1:]
    if code != 0:
        two_workers.apply()
    require_all(two_workers)


@pytest.mark.thorough
def test_the_only_worker_killed_and_started_again(sandbox: Sandbox, tmp_path: Path) -> None:
    at = Workplace(tmp_path, sandbox.worker_urls[:1])
    if apply_while(at, lambda: sandbox.kill_worker(1), sandbox.start_worker) != 0:
        at.apply()
    require_all(at)
    at.clean()


@pytest.mark.thorough
def test_a_worker_that_joins_in_the_middle_rebalances_and_nothing_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    at = Workplace(tmp_path, sandbox.worker_urls[:1])
    assert apply_while(at, sandbox.start_worker) == 0
    require_all(at)
    at.clean()


@pytest.mark.thorough
def test_during_a_rebalance_nothing_is_taken_for_absent(sandbox: Sandbox, two_workers: Workplace) -> None:
    """Plans that are made while a worker leaves never propose to create a connector again."""
    at = two_workers
    declare_many(at)
    assert at.run("apply", "--yes").code in (0, 6), "the worker that joined rebalances: tasks may come later"
    require_all(at)
    sandbox.kill_worker(2)
    until = time.monotonic() + 12
    answered = 0
    while time.monotonic() < until:
        planned = at.run("plan")
        assert "+ create" not in planned.out, planned.out
        answered += planned.code == 0
    assert answered
