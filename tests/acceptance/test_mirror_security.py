"""The annotations of a `KafkaMirrorMaker2` between two real brokers: one with client certificates, one with SCRAM."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from contract.guarded import Guarded
from support.files.tables import read_yaml
from support.loopback import make_certificate

from acceptance.test_mirror_maker import KEPT, RECORDS, resource
from acceptance.workplace import Workplace
from gitops_connect.sandbox.console_clients import ConsumeOptions, consume_arguments, java_command, produce_arguments
from gitops_connect.sandbox.jars import BROKER_RELEASE
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.sandbox.sandbox_state import HOST, SandboxPart, State

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]

SOURCE, CHECKPOINT, HEARTBEAT = (f"src->dst.Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat"))
TOPIC, MIRRORED, GROUP = "orders", "src.orders", "team"
PASSWORD = "not-in-any-output"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
LISTENERS = """\
listeners=PLAINTEXT://{host}:{plain},CONTROLLER://{host}:{controller},{protocol}://{host}:{port}
advertised.listeners=PLAINTEXT://{host}:{plain},{protocol}://{host}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{protocol}:{protocol}
inter.broker.listener.name=PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={secrets}/broker.pem
super.users=User:ANONYMOUS;User:mirror;User:CN=mirror
"""
"""The test uses the listener without security, and everything of the mirrors the other one."""
CLIENT_CERTIFICATES = (
    "ssl.client.auth=required\nssl.truststore.type=PEM\nssl.truststore.location={secrets}/mirror.pem\n"
)
PASSWORDS = f"sasl.enabled.mechanisms=SCRAM-SHA-512\nlistener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={SCRAM};\n"


class SecuredBroker:
    """A broker whose second listener has TLS, and Kafka's console clients for its first one."""

    def __init__(self, directory: Path, protocol: str) -> None:
        directory.mkdir()
        self.guarded, self.protocol = Guarded(directory), protocol
        taken = (self.guarded.broker, self.guarded.controller, self.guarded.worker)
        self.port = choose_port((), taken)
        self.certificate = make_certificate(directory, "broker")
        with self.certificate.open("a") as file:
            file.write((directory / "broker.key").read_text())
        self.state = State("", BROKER_RELEASE, 0, SandboxPart(0, self.guarded.broker))

    def config(self, more: str) -> str:
        ports = {"plain": self.guarded.broker, "controller": self.guarded.controller, "port": self.port}
        return LISTENERS.format(host=HOST, protocol=self.protocol, secrets=self.guarded.directory, **ports) + more

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    def client(self, arguments: tuple[str, ...], given: str = "") -> list[str]:
        (self.guarded.directory / "conf").mkdir(exist_ok=True)
        command = java_command(self.guarded.directory, self.state, os.environ, lambda *_: None)
        done = subprocess.run([*command, *arguments], input=given, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def consume(self, topic: str, at_least: int, *more: str) -> list[str]:
        options = ConsumeOptions(from_beginning=True, max_messages=at_least, timeout_ms=60_000)
        return self.client((*consume_arguments(self.state, topic, options), *more))


class SecuredMirrors:
    """Two resources between the brokers: one with a source and a checkpoint connector, one with heartbeats."""

    def __init__(self, directory: Path, source: SecuredBroker, target: SecuredBroker) -> None:
        self.source, self.target, self.secrets = source, target, directory / "secrets"
        self.place = Workplace(directory, (f"http://{HOST}:{target.guarded.worker}",))
        cluster = 'strimzi = ["my-mirrors", "my-heartbeats"]'
        strimzi = f"""[strimzi]
output = "repository/offsets"
[strimzi.placeholders]
"strimzisecrets:kafka/" = "directory:{self.secrets}/"
"strimzidir:/opt/kafka/mm2-password/dst/" = "directory:{self.secrets}/"
"strimzienv:" = "directory:{self.secrets}/store:"
"""
        self.place.settings(cluster, strimzi)

    def write(self, file: str, content: str) -> None:
        path = self.secrets / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def write_secrets(self, client: Path) -> None:
        """The files of each Secret, as Kubernetes mounts them: the worker reads them, and gitops-connect does not."""
        trusted = "my-mirrors-connect-tls-trusted-certs"
        self.write("mirror/password", PASSWORD)
        self.write("mirror/user.crt", client.read_text())
        self.write("mirror/user.key", client.with_suffix(".key").read_text())
        self.write(f"{trusted}/src-ca.crt", self.source.certificate.read_text())
        self.write(f"{trusted}/dst-ca.crt", self.target.certificate.read_text())
        self.write("store/MIRRORMAKER_2_CERTS_STORE_PASSWORD", PASSWORD)
        keytool = shutil.which("keytool") or pytest.skip("keytool is missing")
        store = ("-keystore", self.secrets / "store" / "target.p12", "-storepass", PASSWORD, "-storetype", "PKCS12")
        command = [keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", self.target.certificate, *store]
        subprocess.run(command, check=True, capture_output=True)

    def deploy(
        self,
        state: str = "running",
        mirrors: Mapping[str, str] | None = None,
        heartbeats: Mapping[str, str] | None = None,
    ) -> None:
        """Apply the resources with these annotations. The next plan is empty."""
        values = {
            "source": "src",
            "target": "dst",
            "state": state,
            "secrets": str(self.secrets),
            "source_servers": self.source.servers,
            "target_servers": self.target.servers,
        }
        for name, chosen in (("over_tls", mirrors), ("heartbeats", heartbeats)):
            text = resource(name, annotations=json.dumps(chosen or {}), **values)
            self.place.commit(f"{name}.yaml", text)
        ran = self.place.apply()
        planned = self.place.run("plan").expect(0, out="No changes.")
        output = ran.out + ran.err + planned.out + planned.err
        assert PASSWORD not in output
        assert "warning" not in output

    def request(self, action: str, state: str = "running") -> None:
        """Annotate both resources with this action on the offsets of their connectors."""
        for_each = [
            {"strimzi.io/connector-offsets": action, "strimzi.io/mirrormaker-connector": names}
            for names in (f"{SOURCE}, {CHECKPOINT}", HEARTBEAT)
        ]
        self.deploy(state, *for_each)

    def offsets(self, connector: str) -> Any:
        return self.place.rest("GET", f"/connectors/{quote(connector, safe='')}/offsets")["offsets"]

    def every_offset(self) -> list[list[Any]]:
        return [self.offsets(connector) for connector in (SOURCE, CHECKPOINT, HEARTBEAT)]

    def require_mirrored(self, *records: str) -> None:
        """The target has these records and no others, and each connector has offsets again."""
        assert self.target.consume(MIRRORED, len(records)) == [*records]
        self.place.await_that(self.every_offset, all)
        self.place.await_that(self.offset, lambda last: last == len(RECORDS) - 1)
        options = ConsumeOptions(from_beginning=True, timeout_ms=5000)
        assert self.target.client(consume_arguments(self.target.state, MIRRORED, options)) == [*records]

    def offset(self) -> int:
        ((partition, offset),) = ((one["partition"], one["offset"]) for one in self.offsets(SOURCE))
        assert partition == {"cluster": "src", "partition": 0, "topic": TOPIC}
        found: int = offset["offset"]
        return found

    def starts(self) -> list[int]:
        """How often the worker has started the source connector, its task, and the task with the heartbeats."""
        log = (self.target.guarded.directory / "worker.log").read_text()
        texts = (f"Creating connector {SOURCE} of type", f"Creating task {SOURCE}-0", f"Creating task {HEARTBEAT}-0")
        return [log.count(text) for text in texts]

    def edit(self, changed: Mapping[str, Any]) -> None:
        """Change the offset of the one partition of each entry in the ConfigMap that a list has written."""
        path = self.place.repository / "offsets" / "kafka" / "found.yaml"
        config_map = read_yaml(path)
        assert config_map["data"].keys() == {entry_of(connector) for connector in changed}
        for connector, offset in changed.items():
            (entry,) = json.loads(config_map["data"][entry_of(connector)])["offsets"]
            assert entry == self.offsets(connector)[0]
            entries = [{"partition": entry["partition"], "offset": offset}]
            config_map["data"][entry_of(connector)] = json.dumps({"offsets": entries})
        path.write_text(yaml.safe_dump(config_map))


def entry_of(connector: str) -> str:
    return f"{connector.replace('->', '--')}.json"


def worker_config(target: SecuredBroker, certificate: Path) -> str:
    """The worker and its connectors' clients use TLS and a password, too."""
    login = f'{SCRAM} username="mirror" password="{PASSWORD}";'
    keys = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": login,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate),
    }
    clients = [
        f"{client}{key}={value}" for client in ("", "producer.", "consumer.", "admin.") for key, value in keys.items()
    ]
    provider = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    providers = ["config.providers=directory", f"config.providers.directory.class={provider}"]
    return "\n".join([f"bootstrap.servers={target.servers}", *clients, *providers, ""])


@pytest.fixture
def mirrors(tmp_path: Path) -> Iterator[SecuredMirrors]:
    source, target = SecuredBroker(tmp_path / "src", "SSL"), SecuredBroker(tmp_path / "dst", "SASL_SSL")
    client = make_certificate(source.guarded.directory, "mirror")
    found = SecuredMirrors(tmp_path, source, target)
    found.write_secrets(client)
    certificates = CLIENT_CERTIFICATES.format(secrets=source.guarded.directory)
    scram = ("--add-scram", f"SCRAM-SHA-512=[name=mirror,password={PASSWORD}]")
    with ExitStack() as stack:
        stack.enter_context(source.guarded.broker_up(source.config(certificates)))
        stack.enter_context(target.guarded.broker_up(target.config(PASSWORDS), *scram))
        stack.enter_context(target.guarded.worker_up(worker_config(target, target.certificate)))
        yield found


def test_annotations_list_alter_reset_and_restart_every_connector_of_mirrors_over_tls(mirrors: SecuredMirrors) -> None:
    mirrors.source.client(produce_arguments(mirrors.source.state, TOPIC, None), "".join(f"{one}\n" for one in RECORDS))
    mirrors.source.consume(TOPIC, len(RECORDS), "--group", GROUP)
    mirrors.deploy()
    mirrors.require_mirrored(*RECORDS)

    mirrors.request("list")
    mirrors.edit({SOURCE: {"offset": KEPT - 1}, CHECKPOINT: None, HEARTBEAT: None})
    mirrors.request("alter", "stopped")
    assert (mirrors.offset(), mirrors.every_offset()[1:]) == (KEPT - 1, [[], []])
    mirrors.deploy()
    mirrors.require_mirrored(*RECORDS, *RECORDS[KEPT:])

    mirrors.request("reset", "stopped")
    assert mirrors.every_offset() == [[], [], []]
    mirrors.deploy()
    mirrors.require_mirrored(*RECORDS, *RECORDS[KEPT:], *RECORDS)

    before = mirrors.starts()
    restarts = {"strimzi.io/restart-connector": SOURCE, "strimzi.io/restart-connector-task": f"{CHECKPOINT}:0"}
    mirrors.deploy("running", restarts, {"strimzi.io/restart-connector-task": f"{HEARTBEAT}:0"})
    assert [after - at_first for after, at_first in zip(mirrors.starts(), before, strict=True)] == [1, 0, 1]
    mirrors.require_mirrored(*RECORDS, *RECORDS[KEPT:], *RECORDS)
