"""Who holds a lease: a process, known so well that its death can be told from here."""

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
    """One process. `place` says whose process ids these are; `started` is in seconds since 1970.

    Two containers may share a host name and each have a process 7, so the host's name is not enough: only where the
    place is the same, too, does a missing process id mean that the process has ended.
    """

    host: str
    place: str
    pid: int
    started: float

    @staticmethod
    def current() -> Process:
        """The process that asks."""
        return Process(socket.gethostname(), _place(), os.getpid(), psutil.Process().create_time())

    def has_ended(self) -> bool:
        """True where it certainly runs no more; False where it runs, or cannot be seen from here."""
        if (self.host, self.place) != (socket.gethostname(), _place()):
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
    """The boot and the namespace that process ids are counted in; empty where the system (not Linux) has neither."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
