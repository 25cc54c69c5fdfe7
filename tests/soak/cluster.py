"""The processes of a soak: a Kafka sandbox, a Git server and the daemon. Each can be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import requests

from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.console_clients import ConsumeOptions, consume_arguments, java_command
from gitops_connect.sandbox.launch import choose_port

WORKERS = 2
GIT, DAEMON, BROKER = "git server", "daemon", "broker"
PARTS = (GIT, DAEMON, BROKER, *(f"worker-{index}" for index in range(1, WORKERS + 1)))
_SETTINGS = """\
[repository]
url = "git://127.0.0.1:{git}/desired.git"
interval = "2s"
[daemon]
retry_interval = "1s"
[server]
listen = "127.0.0.1:{server}"
[clusters.local]
url = [{workers}]
min_running = "1s"
"""


class SoakCluster:
    """All processes. They end when this object is closed, and the sandbox even if this process is killed."""

    def __init__(self, directory: Path) -> None:
        self.repository, self.logs = directory / "repository", directory / "logs"
        self._directory = directory
        self.logs.mkdir()
        options = SandboxOptions(directory=directory / "sandbox", workers=WORKERS, heap=512, tied=True)
        self._sandbox = Sandbox.up(options)
        self._git_port, self._server_port = choose_port((), ()), choose_port((), ())
        self._create_repository()
        urls = ", ".join(f'"{url}"' for url in self._sandbox.worker_urls)
        settings = _SETTINGS.format(git=self._git_port, server=self._server_port, workers=urls)
        (directory / "gitops-connect.toml").write_text(settings)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.start(GIT)
        self.start(DAEMON)

    def close(self) -> None:
        for part in [*self._running]:
            self.kill(part)
        self._sandbox.down()

    def kill(self, part: str) -> None:
        if part in self._running:
            process = self._running.pop(part)
            os.killpg(process.pid, signal.SIGKILL)  # `git daemon` serves each connection with a child process
            process.wait()
        else:
            pid = next(one.pid for one in self._sandbox.status() if one.name == part)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)

    def start(self, part: str) -> None:
        """Start a killed part, and wait until it answers. With the broker or a worker, all workers are started."""
        if part in (GIT, DAEMON):
            with (self.logs / f"{part}.log").open("ab") as log:
                self._running[part] = subprocess.Popen(self._command(part), stderr=log, start_new_session=True)
        else:
            Sandbox.up(SandboxOptions(directory=self._sandbox.directory))

    def _command(self, part: str) -> list[str]:
        if part == DAEMON:
            return self._program("run")
        base = self._directory / "git"
        return [
            *("git", "daemon", "--listen=127.0.0.1", f"--port={self._git_port}", "--reuseaddr", "--export-all"),
            *(f"--base-path={base}", str(base)),
        ]

    def _program(self, *arguments: str) -> list[str]:
        settings = str(self._directory / "gitops-connect.toml")
        return [sys.executable, "-m", "gitops_connect.cli.main", "--config", settings, *arguments]

    def _create_repository(self) -> None:
        bare = self._directory / "git" / "desired.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
        subprocess.run(["git", "clone", "--quiet", str(bare), str(self.repository)], check=True, capture_output=True)
        for name, value in (("user.name", "Soak"), ("user.email", "soak@example.org")):
            self.git("config", name, value)
        self.git("switch", "--quiet", "--create", "main")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.repository, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def push(self, message: str) -> None:
        """Commit and push everything, directly to the files of the server, so that its failures do not matter here."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        self.git("push", "--quiet", "origin", "main")

    def connect(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request to the first worker that answers; None if no worker does, or if Connect rejects it."""
        for url in self._sandbox.worker_urls:
            answer = _ask(method, url + path, body)
            if answer is not None:
                return answer
        return None

    def api(self, path: str) -> Any:
        """Read the API of the daemon; None if it does not answer."""
        return _ask("GET", f"http://127.0.0.1:{self._server_port}/api/v1/{path}", None)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self._program(*arguments), capture_output=True, text=True, check=False)

    def records(self, topic: str) -> list[str]:
        """The values of the committed records of a topic."""
        state = self._sandbox.state()
        java = java_command(self._sandbox.directory, state, os.environ, lambda *_: None)
        options = consume_arguments(state, topic, ConsumeOptions(from_beginning=True, timeout_ms=10_000))
        command = [*java, *options, "--isolation-level", "read_committed"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def wait_until(is_reached: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition becomes true within the time."""
    until = time.monotonic() + seconds
    while not is_reached():
        if time.monotonic() > until:
            return False
        time.sleep(1)
    return True


def _ask(method: str, url: str, body: Mapping[str, Any] | None) -> Any:
    try:
        with closing(requests.request(method, url, json=body, timeout=5)) as answer:
            return answer.json() if answer.ok and answer.content else {} if answer.ok else None
    except requests.RequestException:
        return None
