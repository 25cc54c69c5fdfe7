"""The daemon under test, in a thread or in a separate process, and its log as it is written."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from acceptance.workplace import Workplace
from standin.connect import StandIn

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.daemon.state import Snapshot
from gitops_connect.runtime import Runtime, open_runtime, open_source
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings

DEADLINE = 30.0
FOR_EVER = 10**9
QUICK = {
    "GITOPS_CONNECT_REPOSITORY__INTERVAL": "0.05",
    "GITOPS_CONNECT_DAEMON__JITTER": "0",
    "GITOPS_CONNECT_DAEMON__RETRY_INTERVAL": "0.05",
}
PROGRAM = (sys.executable, "-m", "gitops_connect.cli.main")
Line = dict[str, Any]


def release(standin: StandIn) -> None:
    """Complete all pending transitions, and let all later ones take effect at once."""
    with standin.cluster.lock:
        standin.cluster.delay = 0
        standin.cluster.catch_up(math.inf)


def poll_again(at: Workplace, standin: StandIn) -> None:
    """Wait until the daemon has read the cluster several times more."""
    before = standin.count("GET")
    at.await_that(lambda: standin.count("GET"), lambda count: count > before + 8)


class Log:
    """The log lines so far, each as a mapping of its fields."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._changed = threading.Condition()

    def add(self, line: Line) -> None:
        with self._changed:
            self.lines.append(line)
            self._changed.notify_all()

    def all(self, event: str, **fields: Any) -> list[Line]:
        """The lines of that event with these fields."""
        wanted = {"event": event, **fields}
        return [line for line in [*self.lines] if wanted.items() <= line.items()]

    def steps(self) -> list[Line]:
        """The lines of all steps that have ended, whatever their result."""
        return [line for line in [*self.lines] if line["event"].startswith("step_")]

    def wait(self, event: str, count: int = 1, **fields: Any) -> Line:
        """Wait for the `count`th line of that event with these fields, and return it."""
        until = time.monotonic() + DEADLINE
        with self._changed:
            while len(found := self.all(event, **fields)) < count:
                left = until - time.monotonic()
                assert left > 0, f"never logged: {event} {fields}; but {self.lines}"
                self._changed.wait(left)
        return found[count - 1]


class InThread(Log, logging.Handler):
    """A daemon in a thread of this process, over a user's directory; `change` may replace parts of its `Runtime`."""

    def __init__(self, at: Workplace, change: Callable[[Runtime], Runtime] | None = None, **environment: str) -> None:
        logging.Handler.__init__(self)
        Log.__init__(self)

        def load() -> Settings:
            return load_settings(at.directory / "gitops-connect.toml", {**QUICK, **environment})

        settings = load()
        self.runtime = replace(open_runtime(settings), environment=environment)
        self._source = open_source(settings, None)
        self._running = change(self.runtime) if change else self.runtime
        self.daemon = Daemon(self._running, self._source, load=load)
        self._thread = threading.Thread(target=self.daemon.run)
        self._logger = logging.getLogger("gitops_connect")

    def emit(self, record: logging.LogRecord) -> None:
        self.add({"event": record.getMessage(), "level": record.levelname, **record.fields, "error": record.exc_info})

    def await_state(self, is_reached: Callable[[Snapshot], bool]) -> Snapshot:
        """Wait for a state of the daemon, and return it."""
        until, now = time.monotonic() + DEADLINE, self.daemon.state.snapshot
        while not is_reached(now):
            assert time.monotonic() < until, f"never reached; the last state is {now}"
            now = self.daemon.state.wait(now.number, 1)
        return now

    def stop(self) -> None:
        """Stop the daemon, and wait until it has ended."""
        self.daemon.stop()
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        self._level = self._logger.level
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)
        self._running.close()
        self.runtime.close()
        self._source.close()


class AsProcess(Log):
    """`gitops-connect run` in a separate process."""

    def __init__(self, at: Workplace, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        super().__init__()
        variables = {**os.environ, **QUICK, **(environment or {})}
        command = at.command("run", *arguments)
        self.process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.add(json.loads(line))

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the signal. Returns the exit code."""
        self.send(number)
        return self.code()

    def code(self) -> int:
        """The exit code, after the process has ended by itself and its whole log has been read."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.code()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def run_once(at: Workplace) -> list[tuple[str, str]]:
    """`gitops-connect run --once`. Returns the action and the event of each step."""
    with AsProcess(at, "--once") as daemon:
        assert daemon.code() == 0, daemon.lines
        return [(line["action"], line["event"]) for line in daemon.steps()]
