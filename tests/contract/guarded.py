"""A broker with Kafka's authorizer and a worker, each a child process with a config of the test."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_connect.sandbox.jars import BROKER_RELEASE, fetch_jars, kafka
from gitops_connect.sandbox.java import find_java
from gitops_connect.sandbox.launch import (
    JAVA_OPTIONS,
    READY_TIMEOUT,
    broker_answers,
    broker_config,
    choose_port,
    worker_answers,
    worker_config,
    write_loggers,
)
from gitops_connect.sandbox.sandbox_state import HOST, SandboxPart, State, new_id

AUTHORIZER = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
# The shell kills its child when this process ends or closes the shell's stdin. Otherwise the child would not end.
UNTIL_WE_END = '"$@" </dev/null & read -r _; kill -9 $!'


class Guarded:
    """A broker with ACLs, and a worker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found = find_java(os.environ)
        self.broker = choose_port((), ())
        self.controller = choose_port((), (self.broker,))
        self.worker = choose_port((), (self.broker, self.controller))
        write_loggers(directory)

    def java(self, main: str, *arguments: str) -> list[str]:
        jars = fetch_jars(kafka(BROKER_RELEASE), os.environ, lambda *_: None)
        return [str(self.found.path), "-Xmx512m", *JAVA_OPTIONS, "-cp", f"{self.directory}:{jars}/*", main, *arguments]

    @contextmanager
    def running(self, name: str, main: str, text: str, answers: Callable[[], bool]) -> Iterator[None]:
        log = self.directory / f"{name}.log"
        command = ["sh", "-c", UNTIL_WE_END, "sh", *self.java(main, self.config(name, text))]
        with log.open("w") as out, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out) as process:
            until = time.monotonic() + READY_TIMEOUT
            while not answers():
                assert time.monotonic() < until, log.read_text()[-5000:]
                assert process.poll() is None
                time.sleep(0.05)
            yield

    def config(self, name: str, text: str) -> str:
        file = self.directory / f"{name}.properties"
        file.write_text(text)
        return str(file)

    @contextmanager
    def broker_up(self, more: str, *format_options: str) -> Iterator[None]:
        """Run the broker, with more lines in its config. Later lines replace earlier ones."""
        broker = broker_config(self.directory / "data", self.broker, self.controller) + AUTHORIZER + more
        format_ = self.java("kafka.tools.StorageTool", "format", "-t", new_id(), "-c", self.config("broker", broker))
        subprocess.run([*format_, *format_options], check=True, capture_output=True)
        with self.running("broker", "kafka.Kafka", broker, lambda: broker_answers(self.broker)):
            yield

    @contextmanager
    def worker_up(self, more: str) -> Iterator[None]:
        """Run the worker, with more lines in its config."""
        state = State("", BROKER_RELEASE, 0, SandboxPart(0, self.broker))
        worker = worker_config(state, self.worker, (str(self.directory),))
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        with self.running("worker", main, worker + more, lambda: worker_answers(self.worker)):
            yield

    def acl_command(self, *arguments: str) -> str:
        """Run Kafka's tool for ACLs, and return its output."""
        address = ("--bootstrap-server", f"{HOST}:{self.broker}")
        command = self.java("org.apache.kafka.tools.AclCommand", *address, *arguments)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def allow(self, user: str, offset_change: str, *resource: str) -> None:
        """Add an ACL."""
        self.acl_command("--add", "--allow-principal", f"User:{user}", "--operation", offset_change, *resource)
