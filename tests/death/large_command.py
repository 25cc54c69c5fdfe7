"""A command line with a fault at the `nth` call of a method: its process dies before it, or Spark's Java during it.

The fault is given as JSON, before the arguments of the command line. Each chunk that the ledger records as sent is also
printed to stderr, because the progress display may leave out some chunks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from death.watched import watch_method
from gitops_connect.cli.main import run_command
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.offset_change_store import OffsetChangeStore
from gitops_connect.offset_changes.manifest_source import SparkChecks
from gitops_connect.offset_changes.planned_changes import LargeOffsetChange

_AT_WORK = 5
"""In clock ticks: about 50 ms of processor time."""
_LOOK = 0.005


def main(fault: dict[str, Any], arguments: list[str]) -> int:
    watch_method(OffsetChangeStore, "sent", lambda _, *marked: sys.stderr.write(f"marked {marked[-1]}\n"))
    if fault:
        owner = next(
            one
            for one in (OffsetChangeStore, ConnectClient, LargeOffsetChange, SparkChecks)
            if hasattr(one, fault["method"])
        )
        happen, numbers = _die if fault["who"] == "self" else _kill_java_at_work, count(1)
        watch_method(owner, fault["method"], lambda *_: happen() if next(numbers) == fault["nth"] else None)
    return run_command(arguments)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_java_at_work() -> None:
    """Kill Java as soon as one of its Python workers has used some processor time from now on."""
    before = {pid: _ticks(pid) for java in javas(os.getpid()) for pid in _below(java)}

    def look() -> None:
        while True:
            for java in javas(os.getpid()):
                if any(_ticks(pid) - before.get(pid, 0) >= _AT_WORK for pid in _below(java)):
                    os.kill(java, signal.SIGKILL)
                    return
            time.sleep(_LOOK)

    threading.Thread(target=look, daemon=True).start()


def javas(parent: int) -> list[int]:
    """The Java processes of the Spark sessions of the process `parent`: a child of it has started each of them."""
    return [pid for session in _children(parent) for pid in _children(session) if _stat(pid)[0] == "java"]


def _below(java: int) -> Iterator[int]:
    """The Python workers of a Java process: its child processes fork them."""
    for daemon in _children(java):
        yield from _children(daemon)


def _children(parent: int) -> list[int]:
    found = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
    return [pid for pid in found if _stat(pid)[1] == parent]


def _ticks(pid: int) -> int:
    return _stat(pid)[2]


def _stat(pid: int) -> tuple[str, int, int]:
    """The name, parent and clock ticks of a process; an empty name and zeros if it has ended."""
    try:
        before, _, after = (Path("/proc") / f"{pid}" / "stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return "", 0, 0
    fields = after.split()
    return before.partition("(")[2], int(fields[1]), int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
