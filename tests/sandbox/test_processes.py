import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gitops_connect.sandbox import processes
from gitops_connect.sandbox.processes import ProcessId

pytestmark = pytest.mark.slow

SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPS

HALF_DEAD = f"""
import ctypes, threading
threading.Thread(target=lambda: exec({SLEEPS!r})).start()
ctypes.CDLL(None).pthread_exit(None)
"""
"""Its first thread has ended, so it is a zombie; another thread lives on, as while the kernel ends a killed Java."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ProcessId]]:
    """Start Python with this program and arguments; wait until it says that it is ready."""
    started: list[ProcessId] = []

    def go(program: str, *arguments: str) -> ProcessId:
        log = tmp_path / f"{len(started)}.log"
        started.append(processes.start((sys.executable, "-c", program, *arguments), log, dict(os.environ)))
        until(lambda: "ready" in log.read_text() if log.exists() else False)
        return started[-1]

    yield go
    processes.end(started, grace=0)


def until(condition: Callable[[], bool]) -> None:
    """Poll until the condition holds; pytest's timeout is the deadline."""
    while not condition():
        os.sched_yield()


def test_a_process_is_in_a_session_of_its_own_until_it_is_killed(start: Callable[..., ProcessId]) -> None:
    process = start(SLEEPS)
    assert processes.is_running(process)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not processes.is_running(process))
    assert not psutil.pid_exists(process.pid), "a child of ours leaves no zombie"


def test_a_pid_that_was_given_to_another_is_never_touched(start: Callable[..., ProcessId]) -> None:
    process = start(SLEEPS)
    stranger = ProcessId(process.pid, process.started - 60)
    assert not processes.is_running(stranger)
    processes.end([stranger], grace=1)
    processes.kill(stranger)
    assert processes.is_running(process)


@pytest.mark.skipif(sys.platform != "linux", reason="another system has no such zombies")
def test_a_zombie_with_a_thread_left_still_runs(start: Callable[..., ProcessId]) -> None:
    """It still listens on its ports. A killed broker was started on another port once, because of that."""
    process = start(HALF_DEAD)
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    assert processes.is_running(process)
    processes.kill(process)
    assert not processes.is_running(process)


def test_one_that_does_not_want_to_end_is_killed_and_buried(start: Callable[..., ProcessId]) -> None:
    gentle, stubborn = start(SLEEPS), start(STUBBORN)
    processes.end([gentle, stubborn], grace=0.5)
    assert not psutil.pid_exists(gentle.pid)
    assert not psutil.pid_exists(stubborn.pid)
    processes.end([gentle, stubborn], grace=1)


def test_a_mark_finds_its_processes_and_no_others(start: Callable[..., ProcessId]) -> None:
    marked = start(SLEEPS, "-Dmark=AbC")
    start(SLEEPS, "-Dmark=AbCd")
    assert [process.pid for process in processes.marked("-Dmark=AbC")] == [marked.pid]


def test_the_log_before_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    for word in ("first", "second"):
        process = processes.start((sys.executable, "-c", f"print('{word}')"), log, dict(os.environ))
        until(lambda process=process: not processes.is_running(process))
    assert log.read_text() == "second\n"
    assert (tmp_path / "part.previous.log").read_text() == "first\n"
