"""Communicates with the processes that the tests of the ledger start, one line at a time."""

from __future__ import annotations

import subprocess


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> str:
    """Kill a process, and return the rest of its output. `communicate` would skip what `line` has read in advance."""
    assert process.stdout
    process.kill()
    return process.stdout.read()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line continue."""
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
