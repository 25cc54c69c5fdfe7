"""The program that tests kill: for each order, a process runs one reconciliation, and dies before one of its steps.

The program forks these processes, because each would otherwise take half a second to start. An order is a line of JSON
on standard input: the `directory` with the settings and the repository, `hasty` if the clock may run faster than real
time, and the faults (`Fate`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from support.cluster.memory_journal import reconcile_options

from death.watched import watch
from gitops_connect.declare import Caches, declare
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.names import ClusterName
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import SystemClock, open_runtime
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.working_tree import WorkingTree

LOCAL = ClusterName("local")
HASTE = 40


Life = Callable[[dict[str, Any], Callable[[str, Any], None]], dict[str, Any]]
"""Takes an order and a callback for each step, and returns the result."""


class HastyClock:
    """Runs HASTE times as fast as real time, for a stand-in that answers at once."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * HASTE

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / HASTE)

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        """Leases expire by `now`, which is not faster."""
        return SystemClock().repeat(work, wait, name)


class Fate:
    """Reports each step before it begins, and causes the fault that the order has for its number or name."""

    def __init__(self, order: dict[str, Any], say: Callable[[str, Any], None]) -> None:
        self._order = order
        self._say = say
        self._count = 0
        self._lock = Lock()

    def tell(self, step: str) -> None:
        with self._lock:
            self._say("step", step)
            if self._count == self._order.get("die_at"):
                os.kill(os.getpid(), signal.SIGKILL)
            self._count += 1
            if step == self._order.get("lose_at"):
                for file in Path(self._order["directory"]).glob("state.db*"):
                    file.unlink()


def current(order: dict[str, Any], say: Callable[[str, Any], None]) -> dict[str, Any]:
    directory = Path(order["directory"])
    settings = load_settings(directory / "gitops-connect.toml", {})
    runtime = watch(open_runtime(settings), Fate(order, say).tell)
    if order["hasty"]:
        runtime = replace(runtime, clock=HastyClock())
    declared = declare(WorkingTree(directory / "repository"), settings.clusters, Caches())
    try:
        outcome = reconcile(runtime, declared, LOCAL, reconcile_options())
    except GitopsConnectError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    steps = [[one.step.connector, one.step.action.value, one.result.value, one.message] for one in outcome.steps]
    diagnostics = [f"{one.rule}: {one.summary}" for one in outcome.diagnostics]
    return {"steps": steps, "diagnostics": diagnostics, "planned": len(outcome.plan.steps)}


def live_or_die(order: dict[str, Any], pipe: int, life: Life) -> NoReturn:
    """Run an order in a forked process. Its messages go through the pipe, and arrive even if it is killed."""

    def say(kind: str, what: Any) -> None:
        os.write(pipe, json.dumps([kind, what]).encode() + b"\n")

    try:
        say("result", life(order, say))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(70)
    os._exit(0)


def main(life: Life = current) -> None:
    """Fork one process for each order."""
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            live_or_die(json.loads(line), writing, life)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = [json.loads(one) for one in pipe]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(json.dumps({"code": code, "said": said}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
