"""How gitops-connect logs in to brokers and which ACLs it needs to read logs; and brokers that die meanwhile."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.loopback import HttpHandler, http_server, make_certificate
from support.waiting import await_that

from contract.guarded import AUTHORIZER, Guarded
from gitops_connect.errors import KafkaUnavailable
from gitops_connect.model.clock import Duration
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.sandbox.launch import broker_answers, broker_config, choose_port
from gitops_connect.sandbox.sandbox_state import HOST
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import KafkaSettings, SaslMechanism, SecurityProtocol

pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from support.cluster.kafka_topics import Topics

from gitops_connect.kafka_log_reader import KafkaLogs

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]

SECRET = "hunter2-of-gitops"
WHERE = "[clusters.c.kafka]"
ORDERS = KafkaPartition("orders", 0)
START = 1_700_000_000_000
LOGIN = "org.apache.kafka.common.security"


class Brokers:
    """A broker with Kafka's authorizer. Whoever uses its first port is a superuser."""

    def __init__(self, directory: Path) -> None:
        self.guarded = Guarded(directory)
        taken = {self.guarded.broker, self.guarded.controller}
        self.sasl = choose_port((), taken)
        self.tls = choose_port((), taken | {self.sasl})
        self.topics: Topics

    def config(self) -> str:
        directory, broker = self.guarded.directory, self.guarded.broker
        certificate, client = make_certificate(directory, "broker"), make_certificate(directory, "gitops")
        (directory / "keystore.pem").write_text((directory / "broker.key").read_text() + certificate.read_text())
        clients = f"PLAINTEXT://{HOST}:{broker},SASL_PLAINTEXT://{HOST}:{self.sasl},SSL://{HOST}:{self.tls}"
        sasl = "listener.name.sasl_plaintext"
        return (
            f"listeners={clients},CONTROLLER://{HOST}:{self.guarded.controller}\nadvertised.listeners={clients}\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL\n"
            "inter.broker.listener.name=PLAINTEXT\nsasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER\n"
            f"super.users=User:ANONYMOUS\n"
            f'{sasl}.plain.sasl.jaas.config={LOGIN}.plain.PlainLoginModule required user_gitops="{SECRET}";\n'
            f"{sasl}.scram-sha-256.sasl.jaas.config={LOGIN}.scram.ScramLoginModule required;\n"
            f"{sasl}.scram-sha-512.sasl.jaas.config={LOGIN}.scram.ScramLoginModule required;\n"
            f"{sasl}.oauthbearer.sasl.jaas.config={LOGIN}.oauthbearer.OAuthBearerLoginModule required"
            ' unsecuredLoginStringClaim_sub="broker";\n'
            f"ssl.keystore.type=PEM\nssl.keystore.location={directory}/keystore.pem\nssl.client.auth=required\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={client}\n"
        )

    def start(self, stack: ExitStack) -> None:
        stack.enter_context(self.guarded.broker_up(self.config()))
        self.topics = Topics(f"{HOST}:{self.guarded.broker}")
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion("gitops", ScramCredentialInfo(mechanism, 4096), SECRET.encode())
            self.topics.admin.alter_user_scram_credentials([user])["gitops"].result()
        self.topics.create("orders")
        self.topics.write("orders", [START, START + 60_000])

    def allow(self, kind: ResourceType, name: str, user: str = "gitops") -> None:
        binding = AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation.DESCRIBE, ALLOW)
        self.topics.admin.create_acls([binding])[binding].result()

    def forbid_all(self) -> None:
        any_pattern = (ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)
        every = AclBindingFilter(ResourceType.ANY, None, *any_pattern)
        self.topics.admin.delete_acls([every])[every].result()

    def logs(self, mechanism: SaslMechanism = SaslMechanism.PLAIN, timeout: float = 10, **more: Any) -> KafkaLogs:
        password = Credential(value=more.pop("password", SECRET))
        address, protocol = (f"{HOST}:{self.sasl}",), SecurityProtocol.SASL_PLAINTEXT
        return KafkaLogs(
            KafkaSettings(address, protocol, mechanism, "gitops", password, timeout=Duration(timeout), **more), WHERE
        )


ALLOW = AclPermissionType.ALLOW


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with ExitStack() as stack:
        brokers = Brokers(tmp_path_factory.mktemp("brokers"))
        brokers.start(stack)
        yield brokers


@pytest.fixture
def brokers(started: Brokers) -> Brokers:
    """Without ACLs."""
    started.forbid_all()
    return started


def reads_the_log(logs: KafkaLogs) -> bool:
    return logs.ranges([ORDERS]) == ({ORDERS: LogRange(0, 2)}, {})


def test_to_read_a_log_is_to_describe_its_topic(brokers: Brokers) -> None:
    logs, missing = brokers.logs(), {ORDERS: "its principal needs Describe on the topic"}
    assert logs.partitions(["orders"]) == logs.partitions(None) == logs.times({ORDERS: 1}) == {}
    await_that(lambda: logs.ranges([ORDERS]) == logs.at({ORDERS: 0}) == ({}, missing))
    brokers.allow(ResourceType.TOPIC, "orders")
    await_that(lambda: reads_the_log(logs))
    assert logs.partitions(["orders"]) == logs.partitions(None) == {"orders": 1}
    assert logs.ranges([ORDERS], committed_only=True) == ({ORDERS: LogRange(0, 2)}, {})
    assert logs.at({ORDERS: START + 1}) == ({ORDERS: LoggedRecord(1, START + 60_000)}, {})
    assert logs.times({ORDERS: 0}) == {ORDERS: START}


class TokenServer:
    """Gives tokens that the broker accepts without a signature, to the client that knows the secret."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def answer(self, handler: HttpHandler) -> None:
        self.requests.append(handler.body().decode())
        login = base64.b64decode(handler.headers["Authorization"].removeprefix("Basic ")).decode()
        known, now = login == f"gitops:{SECRET}", int(time.time())
        claims = {"sub": "gitops", "iat": now, "exp": now + 300}
        token = ".".join([*map(encoded, ({"alg": "none"}, claims)), ""])
        refused = {"error": "invalid_client", "error_description": f"no client has the login {login}"}
        found = {"access_token": token, "token_type": "Bearer", "expires_in": 300} if known else refused
        content = json.dumps(found).encode()
        handler.send(200 if known else 401, {"Content-Type": "application/json"}, content)


def encoded(claims: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("mechanism", SaslMechanism)
def test_login(brokers: Brokers, mechanism: SaslMechanism, capfd: pytest.CaptureFixture[str]) -> None:
    brokers.allow(ResourceType.TOPIC, "orders")
    server = TokenServer()
    with http_server(server.answer) as url:
        oauth = {"token_url": f"{url}/token", "scope": "kafka"} if mechanism is SaslMechanism.OAUTHBEARER else {}
        logs = brokers.logs(mechanism, **oauth)
        await_that(lambda: reads_the_log(logs))
        wrong = brokers.logs(mechanism, timeout=2, password="hunter2-the-wrong-one", **oauth)
        with pytest.raises(KafkaUnavailable) as failed:
            wrong.ranges([ORDERS])
    assert "hunter2" not in str(failed.value)
    assert str(failed.value).startswith(f"{WHERE}: its topics could not be read: ")
    assert ("invalid_client" if oauth else "Authentication failed") in str(failed.value)
    assert all("scope=kafka" in one for one in server.requests)
    assert capfd.readouterr().err == ""


def test_login_with_a_certificate(brokers: Brokers, capfd: pytest.CaptureFixture[str]) -> None:
    brokers.allow(ResourceType.TOPIC, "orders", "CN=gitops")
    directory, address = brokers.guarded.directory, (f"{HOST}:{brokers.tls}",)
    files = {"client_certificate": directory / "gitops.pem", "client_key": directory / "gitops.key"}
    ssl = SecurityProtocol.SSL
    trusted = KafkaLogs(KafkaSettings(address, ssl, ca_file=directory / "broker.pem", **files), WHERE)
    await_that(lambda: reads_the_log(trusted))
    unknown = KafkaSettings(address, ssl, ca_file=directory / "gitops.pem", timeout=Duration(2), **files)
    with pytest.raises(KafkaUnavailable, match=r"certificate verif"):
        KafkaLogs(unknown, WHERE).ranges([ORDERS])
    assert capfd.readouterr().err == ""


def test_leaders_that_move_because_a_broker_dies(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path)
    second = choose_port((), (guarded.broker, guarded.controller))
    partitions = [KafkaPartition("orders", number) for number in range(6)]
    with ExitStack() as stack:
        stack.enter_context(guarded.broker_up("super.users=User:ANONYMOUS\n"))
        dying = stack.enter_context(ExitStack())
        text = broker_config(tmp_path / "data-2", second, guarded.controller)
        text = text.replace("process.roles=broker,controller", "process.roles=broker").replace("node.id=1", "node.id=2")
        text = text.replace(f",CONTROLLER://{HOST}:{guarded.controller}\nadvertised", "\nadvertised")
        more = f"{AUTHORIZER}super.users=User:ANONYMOUS\n"
        meta = (tmp_path / "data" / "meta.properties").read_text()
        cluster = next(line.removeprefix("cluster.id=") for line in meta.splitlines() if "cluster.id" in line)
        config = guarded.config("broker-2", text + more)
        subprocess.run(
            guarded.java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", config),
            check=True,
            capture_output=True,
        )
        dying.enter_context(guarded.running("broker-2", "kafka.Kafka", text + more, lambda: broker_answers(second)))
        topics = Topics(f"{HOST}:{guarded.broker}")
        await_that(lambda: len(topics.admin.list_topics(timeout=10).brokers) == 2)
        topics.create("orders", 6, 2)
        logs = KafkaLogs(KafkaSettings((f"{HOST}:{guarded.broker}", f"{HOST}:{second}")), WHERE)
        expected = dict.fromkeys(partitions, LogRange(0, 0)), {}
        assert logs.ranges(partitions) == expected
        leaders = topics.admin.list_topics("orders", timeout=10).topics["orders"].partitions.values()
        assert {one.leader for one in leaders} == {1, 2}
        dying.close()
        assert logs.ranges(partitions) == expected
