"""Whether the ACLs that `gitops-connect acls` lists are enough, and whether each of them is needed.

The broker has Kafka's authorizer, and allows nothing without an ACL. The worker itself and the producers, consumers
and admin clients of its connectors log in (SASL/PLAIN) as four users, so that a permission of the wrong client is
noticed. The ACLs are added with the command lines that the program prints. `acls --check` compares them with the list,
as another user.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from acceptance.workplace import Ran, run_here
from kip875.workbench import Workbench, lines
from support.loopback import make_certificate

from contract.guarded import Guarded
from contract.under_test import MIRROR, SINK, SOURCE, entry, sink_entry
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError, KafkaRefused
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offsets import OffsetPatch
from gitops_connect.runtime import SystemClock, fence
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.sandbox.sandbox_state import HOST
from gitops_connect.settings.sections import ClusterSettings
from gitops_connect.settings.settings_file import load_settings

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]

CLIENTS = ("worker", "producer", "consumer", "admin")
GITOPS = "gitops"
"""The user of gitops-connect itself, and its password."""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
TASK_0 = "transactional-id connect-sandbox-lines-0"
MIRROR_TASK = "transactional-id connect-sandbox-mirror-1"
LINES, COPY, MIRRORED = ConnectorName("lines"), ConnectorName("copy"), ConnectorName("mirror")
SETTINGS = """
[clusters.local]
url = ["http://127.0.0.1:1"]
exactly_once = "{support}"
[clusters.local.worker]
group_id = "connect-sandbox"
config_topic = "connect-configs"
offsets_topic = "connect-offsets"
status_topic = "connect-status"
principal = "User:worker"
producer_principal = "User:producer"
consumer_principal = "User:consumer"
admin_principal = "User:admin"
[clusters.local.kafka]
bootstrap_servers = ["{servers}"]
security_protocol = "sasl_plaintext"
sasl_mechanism = "PLAIN"
username = "gitops"
password = {{env = "KAFKA_PASSWORD"}}
timeout = "{timeout}"
"""
WRONG_PASSWORD = "hunter2-the-wrong-one"


class RestrictedConnectors:
    """A broker and a worker with exactly the ACLs of two connectors: a file, a topic, and a copy of the file."""

    def __init__(self, directory: Path, *, exactly_once: bool) -> None:
        self.guarded = Guarded(directory)
        self.exactly_once = exactly_once
        self.file, self.copied = directory / "in.txt", directory / "out.txt"
        self.file.write_text("line 0\n")
        mirror = {MIRRORED: self.mirror()} if exactly_once else {}
        self.configs = {LINES: self.source(), **mirror, COPY: self.sink()}
        self.count = 0
        self.bench: Workbench
        self.sasl = self.tls = 0

    def source(self) -> dict[str, str]:
        own = {} if self.exactly_once else {"offsets.storage.topic": "own-offsets"}
        creation = {f"topic.creation.default.{key}": "1" for key in ("replication.factor", "partitions")}
        return {"connector.class": SOURCE, "tasks.max": "1", "file": str(self.file), "topic": "t", **creation, **own}

    def sink(self) -> dict[str, str]:
        letters = {
            "errors.deadletterqueue.topic.name": "letters",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }
        return {"connector.class": SINK, "tasks.max": "1", "file": str(self.copied), "topics": "t", **letters}

    def mirror(self) -> dict[str, str]:
        """A source with two tasks: each copies a topic. The clients that it opens itself are those of a superuser."""
        clusters = {f"{end}.cluster.bootstrap.servers": f"{HOST}:{self.guarded.broker}" for end in ("source", "target")}
        disabled = dict.fromkeys(("sync.topic.acls.enabled", "emit.offset-syncs.enabled"), "false")
        aliases = {"source.cluster.alias": "eu", "target.cluster.alias": "us"}
        topics = {"topics": "t,connect-status", "replication.factor": "1"}
        return {"connector.class": MIRROR, "tasks.max": "2", **clusters, **aliases, **topics, **disabled}

    def acls(self, *options: str, timeout: str = "30s") -> Ran:
        """The command for documents of the connectors."""
        directory, support = self.guarded.directory, "enabled" if self.exactly_once else "disabled"
        settings = directory / "gitops-connect.toml"
        settings.write_text(SETTINGS.format(support=support, servers=f"{HOST}:{self.sasl}", timeout=timeout))
        documents = directory / "documents" / "clusters" / "local"
        documents.mkdir(parents=True, exist_ok=True)
        for name, config in self.configs.items():
            (documents / f"{name}.yaml").write_text(json.dumps(document(name, config)))
        return run_here("--config", str(settings), "acls", str(directory / "documents"), *options)

    def allow_gitops(self, *rule: str) -> None:
        self.guarded.acl_command("--add", "--allow-principal", f"User:{GITOPS}", *rule)

    def fence(self) -> None:
        settings = load_settings(self.guarded.directory / "gitops-connect.toml", {})
        fence(settings, ClusterName("local"), ["connect-sandbox-lines-0", "connect-sandbox-mirror-1"])

    def add_acls(self) -> None:
        """Run the printed commands, with a script in the place of Kafka's."""
        directory = self.guarded.directory / "bin"
        directory.mkdir()
        script, properties = directory / "kafka-acls.sh", directory / "admin.properties"
        script.write_text(
            f'#!/bin/sh\nexec {shlex.join(self.guarded.java("org.apache.kafka.tools.AclCommand"))} "$@"\n'
        )
        script.chmod(0o700)
        properties.write_text("")
        environment = {
            "PATH": f"{directory}:{os.environ['PATH']}",
            "BOOTSTRAP_SERVERS": f"{HOST}:{self.guarded.broker}",
            "COMMAND_CONFIG": str(properties),
        }
        command = ["sh", "-eu", "-c", self.acls("-o", "kafka-acls").expect(0).out]
        subprocess.run(command, check=True, capture_output=True, env=environment)

    def broker_config(self, sasl: int) -> str:
        """Whoever uses the first port is a superuser."""
        users = " ".join(f'user_{name}="{name}"' for name in (*CLIENTS, GITOPS))
        directory = self.guarded.directory
        certificates = make_certificate(directory, "broker").read_text(), make_certificate(directory, GITOPS).name
        (directory / "keystore.pem").write_text((directory / "broker.key").read_text() + certificates[0])
        clients = f"PLAINTEXT://{HOST}:{self.guarded.broker},SASL_PLAINTEXT://{HOST}:{sasl},SSL://{HOST}:{self.tls}"
        return (
            f"listeners={clients},CONTROLLER://{HOST}:{self.guarded.controller}\nadvertised.listeners={clients}\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL\n"
            "inter.broker.listener.name=PLAINTEXT\nsasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\n"
            f"super.users=User:ANONYMOUS\nlistener.name.sasl_plaintext.plain.sasl.jaas.config={LOGIN} {users};\n"
            f"listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config={SCRAM_LOGIN};\n"
            f"ssl.keystore.type=PEM\nssl.keystore.location={directory}/keystore.pem\nssl.client.auth=required\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={directory}/{certificates[1]}\n"
        )

    def worker_config(self, sasl: int) -> str:
        support = "enabled" if self.exactly_once else "disabled"
        found = f"bootstrap.servers={HOST}:{sasl}\nexactly.once.source.support={support}\n"
        for name in CLIENTS:
            prefix = "" if name == "worker" else f"{name}."
            login = f'{LOGIN} username="{name}" password="{name}";'
            found += f"{prefix}security.protocol=SASL_PLAINTEXT\n{prefix}sasl.mechanism=PLAIN\n"
            found += f"{prefix}sasl.jaas.config={login}\n"
        return found

    def start(self, stack: ExitStack) -> None:
        guarded = self.guarded
        self.sasl = sasl = choose_port((), (guarded.broker, guarded.controller, guarded.worker))
        self.tls = choose_port((), (guarded.broker, guarded.controller, guarded.worker, sasl))
        stack.enter_context(guarded.broker_up(self.broker_config(sasl)))
        self.add_acls()
        stack.enter_context(guarded.worker_up(self.worker_config(sasl)))
        url = f"http://{HOST}:{guarded.worker}"
        client = stack.enter_context(ConnectClient(ClusterSettings(ClusterName("local"), (url,)), SystemClock()))
        self.bench = Workbench(client, url, guarded.directory)
        client.create(LINES, self.configs[LINES], None)
        self.bench.await_offsets(LINES, self.end_of_file())  # now the topic exists
        for name in self.configs.keys() - {LINES}:
            client.create(name, self.configs[name], None)

    @contextmanager
    def without(self, acl: str) -> Iterator[None]:
        """Remove an ACL for a while. It must exist."""
        user, operation, resource, name = acl.split(" ")
        rule = ("--allow-principal", f"User:{user}", "--operation", operation, f"--{resource}", name)
        command, listing = self.guarded.acl_command, ("--list", f"--{resource}", name)
        shown = f"(principal=User:{user}, host=*, operation={operation.upper()}, permissionType=ALLOW)"
        assert shown in command(*listing), acl
        command("--remove", "--force", *rule)
        self.bench.await_that(lambda: command(*listing), lambda found: shown not in found)
        yield
        command("--add", *rule)
        self.bench.await_that(lambda: command(*listing), lambda found: shown in found)

    def run(self) -> None:
        """Start all, and wait until a new line arrives and its offset is stored. Fails if a task has failed instead."""
        for name in self.configs:
            self.bench.client.resume(name)
        self.count += 1
        with self.file.open("a") as out:
            out.write(f"line {self.count}\n")
        self.bench.await_that(self.running, lambda found: found == dict.fromkeys(self.configs, True))
        self.bench.await_that(self.last_line, lambda last: last == [f"line {self.count}"])
        self.bench.await_that(self.stored_offsets, lambda found: found == self.end_of_file())  # it is committed, too

    def running(self) -> dict[ConnectorName, bool]:
        """Whether each connector has all its tasks, and each of them runs."""
        found = self.bench.client.connectors()[0]
        for name, one in found.items():
            for part in (one, *one.tasks):
                assert part.state is not WorkerState.FAILED, f"{name}: {part.trace}"
        return {
            name: [task.state for task in one.tasks] == [WorkerState.RUNNING] * int(self.configs[name]["tasks.max"])
            for name, one in found.items()
        }

    def stored_offsets(self) -> OffsetPatch:
        self.running()
        return self.bench.client.offsets(LINES)

    def end_of_file(self) -> OffsetPatch:
        return entry({"filename": str(self.file)}, {"position": self.file.stat().st_size})

    def last_line(self) -> list[str]:
        self.running()
        return lines(self.copied)[-1:]

    def stop(self) -> None:
        for name in self.configs:
            self.bench.stop(name)

    def alter_source(self) -> None:
        self.bench.client.alter_offsets(LINES, entry({"filename": str(self.file)}, {"position": 0}))

    def alter_mirror(self) -> None:
        partition = {"cluster": "eu", "topic": "t", "partition": 0}
        self.bench.client.alter_offsets(MIRRORED, entry(partition, {"offset": 0}))

    def alter_sink(self) -> None:
        self.bench.client.alter_offsets(COPY, sink_entry("t", 0))

    def reset_source(self) -> None:
        self.bench.client.reset_offsets(LINES)

    def reset_sink(self) -> None:
        self.bench.client.reset_offsets(COPY)

    def works(self, attempt: Callable[[RestrictedConnectors], None]) -> None:
        """Try until it works: a worker rejects requests during a rebalance."""
        self.bench.await_that(lambda: self.failure_of(attempt), lambda found: found == "")

    def fails(self, attempt: Callable[[RestrictedConnectors], None], failure: str) -> None:
        """Try until it fails in this way."""

        def is_expected(found: str) -> bool:
            assert found, "it works"
            return re.search(failure, found, re.DOTALL) is not None

        self.bench.await_that(lambda: self.failure_of(attempt), is_expected)

    def failure_of(self, attempt: Callable[[RestrictedConnectors], None]) -> str:
        try:
            attempt(self)
        except (AssertionError, GitopsConnectError) as error:
            return str(error)
        return ""


RUN, ALTER_SOURCE, ALTER_SINK, RESET_SINK = (
    RestrictedConnectors.run,
    RestrictedConnectors.alter_source,
    RestrictedConnectors.alter_sink,
    RestrictedConnectors.reset_sink,
)
NEEDED: Mapping[bool, Sequence[tuple[str, Callable[[RestrictedConnectors], None], str]]] = {
    False: [
        ("producer Write topic t", RUN, "lines: .*TopicAuthorizationException"),
        ("producer Write topic own-offsets", ALTER_SOURCE, "Failed to modify offsets for source connector"),
        ("consumer Read topic t", RUN, "copy: .*TopicAuthorizationException"),
        ("consumer Read group connect-copy", RUN, "copy: .*GroupAuthorizationException"),
        ("admin Read group connect-copy", ALTER_SINK, "Failed to alter consumer group offsets"),
        ("admin Delete group connect-copy", RESET_SINK, "Failed to reset consumer group offsets"),
    ],
    True: [
        ("producer Write topic connect-offsets", RUN, "TopicAuthorizationException"),
        (f"producer Write {TASK_0}", RUN, "lines: .*TransactionalIdAuthorizationException"),
        (f"producer Write {TASK_0}", ALTER_SOURCE, "Failed to modify offsets for source connector"),
        (f"admin Write {TASK_0}", ALTER_SOURCE, "Failed to perform zombie fencing"),
        (f"producer Write {MIRROR_TASK}", RUN, "mirror: .*TransactionalIdAuthorizationException"),
        (f"admin Write {MIRROR_TASK}", RUN, "mirror: .*TransactionalIdAuthorizationException"),
        (f"admin Write {MIRROR_TASK}", RestrictedConnectors.alter_mirror, "Failed to perform zombie fencing"),
    ],
}
"""Which permission is missing, what is then tried, and how it fails; by the support for exactly-once sources."""


def document(name: str, config: dict[str, str]) -> dict[str, object]:
    rest = {key: value for key, value in config.items() if key not in ("connector.class", "tasks.max")}
    spec = {"class": config["connector.class"], "tasksMax": int(config["tasks.max"]), "config": rest}
    return {"apiVersion": "gitops-connect/v1", "kind": "Connector", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(params=[False, True], ids=["at-least-once", "exactly-once"])
def restricted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestrictedConnectors]:
    with ExitStack() as stack:
        restricted = RestrictedConnectors(tmp_path, exactly_once=request.param)
        restricted.start(stack)
        yield restricted


def check_needs_one_permission(restricted: RestrictedConnectors) -> None:
    """`acls --check` needs Describe on the Kafka cluster."""
    refused = "its principal needs Describe on the Kafka cluster"
    restricted.acls("--check").expect(1, out="", err=refused)
    restricted.allow_gitops("--operation", "Describe", "--cluster")
    restricted.bench.await_that(lambda: restricted.acls("--check"), lambda ran: ran.code != 1)
    restricted.acls("--check").expect(0, out="Nothing is missing: the brokers grant")


def check_logs_in(restricted: RestrictedConnectors, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SCRAM, and with a client certificate."""
    guarded, address = restricted.guarded, f"{HOST}:{restricted.guarded.broker}"
    user = ("--entity-type", "users", "--entity-name", GITOPS, "--add-config", f"SCRAM-SHA-512=[password={GITOPS}]")
    added = guarded.java("kafka.admin.ConfigCommand", "--bootstrap-server", address, "--alter", *user)
    subprocess.run(added, check=True, capture_output=True)
    guarded.allow(f"CN={GITOPS}", "Describe", "--cluster")
    files = {"CA_FILE": "broker.pem", "CLIENT_CERTIFICATE": f"{GITOPS}.pem", "CLIENT_KEY": f"{GITOPS}.key"}
    tls = {"BOOTSTRAP_SERVERS": f"{HOST}:{restricted.tls}", "SECURITY_PROTOCOL": "ssl", **files}
    for settings in ({"SASL_MECHANISM": "SCRAM-SHA-512"}, tls):
        with monkeypatch.context() as within:
            for name, value in settings.items():
                within.setenv(f"GITOPS_CONNECT_CLUSTERS__LOCAL__KAFKA__{name}", value)
            restricted.bench.await_that(lambda: restricted.acls("--check").code, lambda code: code == 0)


def fencing_needs_one_permission(restricted: RestrictedConnectors) -> None:
    """Write on the transactional ids. A task that ran now would fail."""
    with pytest.raises(KafkaRefused, match="connect-sandbox-lines-0 could not be fenced: its principal needs Write"):
        restricted.fence()
    id_rule = ("--operation", "Write", "--transactional-id", "connect-sandbox-", "--resource-pattern-type", "prefixed")
    restricted.allow_gitops(*id_rule)
    restricted.works(RestrictedConnectors.fence)


def check_names(restricted: RestrictedConnectors, acl: str) -> None:
    """`acls --check` finds the permission that was removed, and only that one."""
    user, operation, resource, name = acl.split(" ")
    ran = restricted.acls("--check", "-o", "json").expect(3, err="super.users")
    missing = [
        (one["principal"], one["operation"], one["resource"], one["name"]) for one in json.loads(ran.out)["missing"]
    ]
    assert missing == [(f"User:{user}", operation, resource, name)]
    restricted.acls("--check").expect(3, out=(name, "1 of", "required permissions missing"))


def test_the_acls_are_enough_and_each_is_needed(
    restricted: RestrictedConnectors, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", WRONG_PASSWORD)
    ran = restricted.acls("--check", timeout="3s").expect(1, out="", err="Authentication failed")
    assert WRONG_PASSWORD not in ran.err
    monkeypatch.setenv("KAFKA_PASSWORD", GITOPS)
    check_needs_one_permission(restricted)
    check_logs_in(restricted, monkeypatch)
    assert "rdkafka" not in capfd.readouterr().err
    restricted.run()
    if restricted.exactly_once:  # it stores offsets with the records that it has written
        restricted.bench.await_that(lambda: restricted.bench.client.offsets(MIRRORED), bool)
    restricted.stop()
    fencing_needs_one_permission(restricted)
    kind = RestrictedConnectors
    mirror = [kind.alter_mirror] if restricted.exactly_once else []
    for change in (kind.alter_source, kind.reset_source, *mirror, kind.alter_sink, kind.reset_sink):
        restricted.works(change)
    for acl, attempt, failure in NEEDED[restricted.exactly_once]:
        restricted.run()  # a worker fences tasks only once
        restricted.stop()
        with restricted.without(acl):
            check_names(restricted, acl)
            restricted.fails(attempt, failure)
        restricted.stop()
    restricted.run()
