"""Failures of tasks on a real worker, and what gitops-connect says about each: see `families/known_failures.toml`.

The clients of connectors log in (SASL/PLAIN) as the user `connector`. Everybody else is a superuser. The user may use
every resource that has no ACL.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contract.guarded import Guarded
from contract.under_test import TOPIC, Contract
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, OutcomeUnknown
from gitops_connect.families.health_rules import failures
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.sandbox.sandbox_state import HOST
from gitops_connect.settings.sections import ClusterSettings

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
NO_TOPIC = "a permission on a topic is missing"


class RestrictedConnectors(Contract):
    """A real worker, whose connectors may lack a permission."""

    guarded: Guarded
    login: dict[str, str]

    def own_client(self, *clients: str) -> dict[str, str]:
        """The config keys with which these clients of a connector are the user `connector`."""
        return {f"{one}.override.{key}": value for one in clients for key, value in self.login.items()}

    def lines(self, **more: str) -> dict[str, str]:
        """A source that copies a file."""
        file = self.directory / "lines.txt"
        file.write_text("line\n")
        return {**self.source(file=str(file)), **self.own_client("producer", "consumer", "admin"), **more}

    def two_tasks(self, **more: str) -> dict[str, str]:
        """A source with two tasks: Connect fences them before it starts others."""
        clusters = {f"{end}.cluster.bootstrap.servers": f"{HOST}:{self.guarded.broker}" for end in ("source", "target")}
        off = dict.fromkeys(("sync.topic.acls.enabled", "emit.offset-syncs.enabled"), "false")
        topics = {"topics": f"{TOPIC},connect-status", "replication.factor": "1", "tasks.max": "2"}
        return {**self.mirror(**clusters, **off, **topics), **self.own_client("admin"), **more}

    def rule(self, change: str, rule: str, user: str = "connector") -> None:
        """`--add` or `--remove` a rule, such as `deny Write topic t`, for the user."""
        kind, operation, resource, *name = rule.split(" ")
        who = (f"--{kind}-principal", f"User:{user}", "--operation", operation)
        force = ["--force"] if change == "--remove" else []
        self.guarded.acl_command(change, *force, *who, f"--{resource}", *name)

    def cause(self, name: ConnectorName) -> tuple[str, bool]:
        """Wait until a part of the connector is FAILED: its known cause, and whether a restart helps."""
        found = self.await_that(lambda: self.client.connectors()[0].get(name), lambda one: one and failures(one))
        known = failures(found)[0].known
        assert known is not None, found
        return known.cause, known.restart_helps

    def fence(self, transactional_id: str) -> None:
        """Use the id in another producer."""
        records = ("--topic", "others", "--num-records", "1", "--record-size", "1", "--throughput", "-1")
        server = ("--producer-props", f"bootstrap.servers={HOST}:{self.guarded.broker}")
        main = "org.apache.kafka.tools.ProducerPerformance"
        command = self.guarded.java(main, "--transactional-id", transactional_id, *records, *server)
        subprocess.run(command, check=True, capture_output=True)


def broker_config(guarded: Guarded, sasl: int) -> str:
    addresses = f"PLAINTEXT://{HOST}:{guarded.broker},SASL_PLAINTEXT://{HOST}:{sasl}"
    protocols = ",".join(f"{name}:{name}" for name in ("PLAINTEXT", "SASL_PLAINTEXT"))
    return (
        f"listeners={addresses},CONTROLLER://{HOST}:{guarded.controller}\nadvertised.listeners={addresses}\n"
        f"listener.security.protocol.map=CONTROLLER:PLAINTEXT,{protocols}\ninter.broker.listener.name=PLAINTEXT\n"
        "sasl.enabled.mechanisms=PLAIN\nsuper.users=User:ANONYMOUS\nallow.everyone.if.no.acl.found=true\n"
        f'listener.name.sasl_plaintext.plain.sasl.jaas.config={LOGIN} user_connector="connector";\n'
    )


@contextmanager
def restricted(directory: Path, support: str, *, is_restricted: bool = False) -> Iterator[RestrictedConnectors]:
    """A broker, and a worker with this support for exactly-once sources, which may log in as `connector` itself."""
    guarded = Guarded(directory)
    sasl = choose_port((), (guarded.broker, guarded.controller, guarded.worker))
    url = f"http://{HOST}:{guarded.worker}"
    login = {
        "bootstrap.servers": f"{HOST}:{sasl}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="connector" password="connector";',
    }
    worker = {"exactly.once.source.support": support, **(login if is_restricted else {})}
    with (
        guarded.broker_up(broker_config(guarded, sasl)),
        guarded.worker_up("".join(f"{key}={value}\n" for key, value in worker.items())),
        ConnectClient(ClusterSettings(ClusterName("guarded"), (url,)), SystemClock()) as client,
    ):
        connectors = RestrictedConnectors(client, url, directory)
        connectors.guarded, connectors.login = guarded, login
        yield connectors


def test_failures_of_exactly_once_workers(tmp_path: Path) -> None:
    with restricted(tmp_path, "enabled") as connectors:
        client = connectors.client
        fenced = connectors.running("fenced", connectors.lines())
        connectors.fence(f"connect-sandbox-{fenced}-0")
        with (tmp_path / "lines.txt").open("a") as out:
            out.write("another line\n")
        assert connectors.cause(fenced) == ("its producer was fenced", True)
        client.restart(fenced, include_tasks=True, only_failed=True)
        connectors.await_state(fenced, "RUNNING", ["RUNNING"])

        name = connectors.name("no-id")
        rule = f"deny Write transactional-id connect-sandbox-{name}-0"
        connectors.rule("--add", rule)
        client.create(name, connectors.lines(), None)
        assert connectors.cause(name) == ("a permission on a transactional id is missing", False)
        connectors.rule("--remove", rule)
        client.restart(name, include_tasks=True, only_failed=True)
        connectors.await_state(name, "RUNNING", ["RUNNING"])

        for operation in ("Read", "Write"):
            connectors.rule("--add", f"deny {operation} topic no-{operation}")
            own = connectors.create("own", connectors.lines(**{"offsets.storage.topic": f"no-{operation}"}))
            assert connectors.cause(own) == (NO_TOPIC, False), operation

        mirror = connectors.create("mirror", connectors.two_tasks())
        connectors.await_state(mirror, "RUNNING", ["RUNNING", "RUNNING"])
        connectors.rule("--add", f"deny Write transactional-id connect-sandbox-{mirror}-1")
        client.configure(mirror, connectors.two_tasks(**{"offset.lag.max": "7"}))
        assert connectors.cause(mirror) == ("Connect may not fence the producers of its earlier tasks", False)
        connectors.stop(mirror)
        with pytest.raises(ConnectUnavailable, match="nothing was changed: Connect could not fence the producers"):
            client.reset_offsets(mirror)


def test_a_leader_that_may_not_use_its_transactional_id(tmp_path: Path) -> None:
    with restricted(tmp_path, "preparing", is_restricted=True) as connectors:
        name = connectors.running("lines", connectors.lines())
        connectors.rule("--add", "deny Write transactional-id connect-cluster-connect-sandbox")
        with pytest.raises(OutcomeUnknown, match="lacks WRITE on the transactional id connect-cluster-GROUP"):
            connectors.client.configure(name, connectors.lines(topic="other"))


def test_failures_of_other_workers(tmp_path: Path) -> None:
    with restricted(tmp_path, "disabled") as connectors:
        connectors.rule("--add", "deny Write topic closed")
        assert connectors.cause(connectors.create("lines", connectors.lines(topic="closed"))) == (NO_TOPIC, False)

        name = connectors.name("copy")
        connectors.rule("--add", f"deny Read group connect-{name}")
        sink = {**connectors.sink(topics=TOPIC), **connectors.own_client("consumer")}
        connectors.client.create(name, sink, None)
        assert connectors.cause(name) == ("a permission on a consumer group is missing", False)

        connectors.running("open", connectors.lines(topic="open"))
        for rule in ("allow Describe topic *", "deny Write topic *", "deny IdempotentWrite cluster"):
            connectors.rule("--add", rule)
        config = connectors.lines(topic="open", **{"producer.override.enable.idempotence": "true"})
        idempotent = connectors.create("idempotent", config)
        assert connectors.cause(idempotent) == ("a permission on the Kafka cluster is missing", False)
