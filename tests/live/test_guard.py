"""No database server outlives the tests, however they end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

GUARD = Path(__file__).with_name("guard.py")
SERVER = "import os, pathlib, time; pathlib.Path('../pid').write_text(str(os.getpid())); time.sleep(600)"
"""Used instead of a database server: a process that only a signal ends."""
HOLDER = """
import subprocess, sys, time
subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
time.sleep(600)
"""
DEADLINE = 30.0

pytestmark = pytest.mark.slow


def guard_of(tmp_path: Path) -> tuple[Path, list[str]]:
    """The directory of the data, and the command of the guard."""
    directory = tmp_path / "data"
    directory.mkdir()
    return directory, [sys.executable, str(GUARD), "", str(directory), sys.executable, "-c", SERVER]


def await_pid(file: Path) -> int:
    until = time.monotonic() + DEADLINE
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until, "the server was not started"
        time.sleep(0.02)
    return int(file.read_text())


def await_gone(directory: Path, server: int) -> None:
    until = time.monotonic() + DEADLINE
    while psutil.pid_exists(server) or directory.exists():
        assert time.monotonic() < until, f"left behind: {directory} or the process {server}"
        time.sleep(0.02)


def test_a_holder_that_is_killed_leaves_neither_server_nor_data(tmp_path: Path) -> None:
    directory, guard = guard_of(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, *guard]) as holder:
        server = await_pid(tmp_path / "pid")
        holder.kill()
    await_gone(directory, server)


def test_a_server_that_is_stopped_keeps_its_data(tmp_path: Path) -> None:
    directory, command = guard_of(tmp_path)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as guard:
        server = await_pid(tmp_path / "pid")
        guard.send_signal(signal.SIGTERM)
        guard.wait(DEADLINE)
    assert not psutil.pid_exists(server)
    assert directory.exists()
