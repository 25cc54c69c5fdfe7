"""The answers of Connect if its principal lacks an ACL. docs/reference/permissions.md lists the ACLs.

The broker has Kafka's authorizer and no authentication: all clients are `ANONYMOUS`, and may use every resource that
has no ACL.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from contract.under_test import DEADLINE, TOPIC, Contract, sink_entry
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, OffsetsNotChanged
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.jars import BROKER_RELEASE, fetch_jars, kafka
from gitops_connect.sandbox.java import find_java
from gitops_connect.sandbox.launch import (
    JAVA_OPTIONS,
    broker_answers,
    broker_config,
    choose_port,
    worker_answers,
    worker_config,
    write_loggers,
)
from gitops_connect.sandbox.sandbox_state import HOST, SandboxPart, State, new_id
from gitops_connect.settings.sections import ClusterSettings

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

AUTHORIZER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
"""
HINT = "an AuthorizationException there means a missing ACL"
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
        jars = fetch_jars(kafka(BROKER_RELEASE), self.found, os.environ, lambda *_: None)
        return [str(self.found.path), "-Xmx512m", *JAVA_OPTIONS, "-cp", f"{self.directory}:{jars}/*", main, *arguments]

    @contextmanager
    def running(self, name: str, main: str, text: str, answers: Callable[[], bool]) -> Iterator[None]:
        log = self.directory / f"{name}.log"
        command = ["sh", "-c", UNTIL_WE_END, "sh", *self.java(main, self.config(name, text))]
        with log.open("w") as out, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out) as process:
            until = time.monotonic() + DEADLINE
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
    def up(self) -> Iterator[None]:
        broker = broker_config(self.directory / "data", self.broker, self.controller) + AUTHORIZER
        format_ = self.java("kafka.tools.StorageTool", "format", "-t", new_id(), "-c", self.config("broker", broker))
        subprocess.run(format_, check=True, capture_output=True)
        state = State("", BROKER_RELEASE, 0, SandboxPart(0, self.broker), exactly_once=False)
        worker = worker_config(state, self.worker, (str(self.directory),))
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        with ExitStack() as stack:
            stack.enter_context(self.running("broker", "kafka.Kafka", broker, lambda: broker_answers(self.broker)))
            stack.enter_context(self.running("worker", main, worker, lambda: worker_answers(self.worker)))
            yield

    def allow(self, user: str, offset_change: str, *resource: str) -> None:
        """Add an ACL. From then on, only principals with an ACL may use this resource."""
        address = ("--bootstrap-server", f"{HOST}:{self.broker}")
        who = ("--allow-principal", f"User:{user}", "--operation", offset_change)
        command = self.java("org.apache.kafka.tools.AclCommand", *address, "--add", *who, *resource)
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    with guarded.up():
        yield guarded


def test_what_is_answered_if_an_acl_is_missing(guarded: Guarded, tmp_path: Path) -> None:
    url = f"http://{HOST}:{guarded.worker}"
    with ConnectClient(ClusterSettings(ClusterName("guarded"), (url,)), SystemClock()) as client:
        contract = Contract(client, url, tmp_path)
        other = contract.topic("1")
        name, closed = (contract.stopped(text, contract.sink(topics=TOPIC)) for text in ("read", "closed"))
        current = {**sink_entry(TOPIC, 1), **sink_entry(other, 1)}
        for sink in (name, closed):
            client.alter_offsets(sink, current)

        guarded.allow("ANONYMOUS", "Read", "--group", f"connect-{name}")
        with pytest.raises(OffsetsNotChanged, match=f"Failed to reset consumer group offsets .*{HINT}"):
            client.reset_offsets(name)
        assert client.offsets(name) == current
        with pytest.raises(OffsetsNotChanged, match=f"Failed to alter consumer group offsets .*{HINT}"):
            client.alter_offsets(name, {**sink_entry(TOPIC, 0), **sink_entry(other, None)})
        assert client.offsets(name) == {**sink_entry(TOPIC, 0), **sink_entry(other, 1)}, "half of it was done"

        guarded.allow("someone", "Read", "--group", f"connect-{closed}", "--topic", other)
        with pytest.raises(ConnectUnavailable, match=f"Failed to retrieve consumer group offsets .*{HINT}"):
            client.offsets(closed)
        assert client.offsets(name) == sink_entry(TOPIC, 0), "the others are left out, and nothing says so"

        guarded.allow("ANONYMOUS", "Delete", "--group", "connect-", "--resource-pattern-type", "prefixed")
        client.reset_offsets(name)
        client.reset_offsets(closed)
        assert client.offsets(name) == client.offsets(closed) == {}
