"""The holder of a lease: a process, identified so precisely that other processes can detect its end."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

_SAME_START = 2.0
"""Seconds. Linux derives a process's start from the time of boot, which moves a little when the clock is set."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `place` identifies the process namespace; `started` is in seconds since 1970.

    Two containers may share a host name and each have a process 7, so the name of the host is not enough. A missing
    process id means that the process has ended only if the place is also equal.
    """

    host: str
    place: str
    pid: int
    started: float

    @staticmethod
    def current() -> Process:
        """The current process."""
        return Process(socket.gethostname(), _place(), os.getpid(), psutil.Process().create_time())

    def is_here(self) -> bool:
        """Whether the process runs, or ran, where this process can see it."""
        return (self.host, self.place) == (socket.gethostname(), _place())

    def has_ended(self) -> bool:
        """True if the process has certainly ended; False if it runs, or cannot be seen from here."""
        if not self.is_here():
            return False
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            return abs(process.create_time() - self.started) > _SAME_START
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _place() -> str:
    """The boot id and the namespace of the process ids; empty if the system (not Linux) has neither."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
