"""What the tests kill: for each order on its input a process that goes through one cycle, and dies before a step of it.

It forks those processes, as each would otherwise take half a second to start. An order is a line of JSON: the `folder`
with the settings and the repository, `die_at` (or null), and `hasty` where nothing real has to be waited for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from death.watched import watch
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.names import ClusterName
from gitops_connect.reconcile import Conduct, Memory, declare, reconcile
from gitops_connect.settings.load import load_settings
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.world import open_world

LOCAL = ClusterName("local")
HASTE = 40


class HastyClock:
    """Runs that many times as fast, for a stand-in that needs no time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * HASTE

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / HASTE)


class Mortal:
    """Counts events and writes each down; at the one that is named, the process kills itself."""

    def __init__(self, log: Path, die_at: int | None) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._die_at = die_at
        self._count = 0
        self._lock = Lock()

    def tell(self, event: str) -> None:
        with self._lock:
            os.write(self._log, f"{event}\n".encode())
            if self._count == self._die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self._count += 1


def live(order: dict[str, Any]) -> dict[str, Any]:
    folder = Path(order["folder"])
    settings = load_settings(folder / "gitops-connect.toml", {})
    world = watch(open_world(settings), Mortal(folder / "events", order["die_at"]).tell)
    if order["hasty"]:
        world = type(world)(world.settings, world.ledger, world.clients, world.environment, HastyClock())
    declared = declare(WorkingTree(folder / "repository"), settings.clusters, Memory())
    try:
        outcome = reconcile(world, declared, LOCAL, Conduct())
    except GitopsConnectError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    steps = [[one.step.connector, one.step.action.value, one.result.value, one.message] for one in outcome.steps]
    diagnostics = [f"{one.rule}: {one.summary}" for one in outcome.diagnostics]
    return {"steps": steps, "diagnostics": diagnostics, "planned": len(outcome.plan.steps)}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        told = Path(order["folder"]) / "told.json"
        told.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            try:
                told.write_text(json.dumps(live(order)))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(70)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
