"""Starts and ends processes that outlive this one, and never confuses them with other processes.

Only this module uses psutil. A process is identified by its pid *and* its start time, because pids are reused. In
addition, every Java of a sandbox has the sandbox's id on its command line. So a process is found and ended even if its
starter was killed before it could record the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_SAME_START = 1.0
"""Seconds. The kernel's boot time, from which a start is computed, moves a little when the clock is set."""
_AFTER_KILL = 10.0


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, identified permanently: its pid, and when it was started (seconds since the epoch)."""

    pid: int
    started: float


def start(command: Sequence[str], log: Path, environment: Mapping[str, str], stdin: int | None = None) -> ProcessId:
    """Start a process in its own session, out of reach of Ctrl-C; it writes to `log` (the previous log is kept).

    `posix_spawn` and not `subprocess`: a Popen expects to see its process end, and this process may outlive its parent.
    """
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    log.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    source = (
        (os.POSIX_SPAWN_DUP2, stdin, 0) if stdin is not None else (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    )
    redirect = [source, (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawn(command[0], list(command), environment, file_actions=redirect, setsid=True)
    return ProcessId(pid, _started(pid))


def _started(pid: int) -> float:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return 0.0


def is_running(process: ProcessId) -> bool:
    """Whether exactly that process runs. A zombie does not run, unless it has threads left, which hold its ports."""
    return _find(process) is not None


def _find(process: ProcessId) -> psutil.Process | None:
    """The process, if it runs. An ended child of this process is reaped, so that it does not stay a zombie."""
    try:
        found = psutil.Process(process.pid)
        if abs(found.create_time() - process.started) > _SAME_START:
            return None
        if found.status() != psutil.STATUS_ZOMBIE or found.num_threads() > 1:
            return found
        with contextlib.suppress(ChildProcessError):  # other processes reap their own children
            os.waitpid(process.pid, os.WNOHANG)
    except psutil.NoSuchProcess:
        pass
    return None


def kill(process: ProcessId) -> None:
    """Kill it at once, as `kill -9` does, and wait until it is gone."""
    end((process,), grace=0)


def end(processes: Iterable[ProcessId], grace: float) -> None:
    """Request the processes to end, wait up to `grace` seconds, then kill the rest. Ended processes are no error."""
    found = [alive for alive in map(_find, processes) if alive is not None]
    if grace > 0:
        _each(found, psutil.Process.terminate)
        _, found = psutil.wait_procs(found, timeout=grace)
    _each(found, psutil.Process.kill)
    psutil.wait_procs(found, timeout=_AFTER_KILL)


def _each(found: Iterable[psutil.Process], signal: Callable[[psutil.Process], None]) -> None:
    for process in found:
        try:
            signal(process)
        except psutil.NoSuchProcess:
            continue  # it has already ended


def marked(argument: str) -> tuple[ProcessId, ...]:
    found = psutil.process_iter(["pid", "create_time", "cmdline"])
    return tuple(
        ProcessId(process.info["pid"], process.info["create_time"])
        for process in found
        if argument in (process.info["cmdline"] or ())
    )


@dataclass(frozen=True, slots=True)
class Leash:
    """This process's end of a pipe, and the process that stops the sandbox at the other end (`cluster.watch`).

    The kernel closes the pipe at any end of this process, even by `kill -9`, so nothing is polled, no pid can be
    confused, and it works on every system with pipes. `PR_SET_PDEATHSIG` is Linux only, and is sent when the *thread*
    that started a child ends.
    """

    descriptor: int
    watcher: ProcessId

    def drop(self) -> None:
        """End the watcher before it stops the sandbox, and close the pipe."""
        kill(self.watcher)
        os.close(self.descriptor)


def tie(directory: Path, environment: Mapping[str, str]) -> Leash:
    """From now on, the sandbox in the directory is stopped when this process ends."""
    reading, writing = os.pipe()
    try:
        command = (sys.executable, "-m", "gitops_connect.sandbox.cluster", str(directory))
        watcher = start(command, directory / "logs" / "watch.log", environment, stdin=reading)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return Leash(writing, watcher)
