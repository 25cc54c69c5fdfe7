"""`gitops-connect acls`: its settings, its errors and its exit codes."""

from __future__ import annotations

import json
import socketserver
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from acceptance.workplace import Ran, run_here
from support.files.tables import rows
from support.loopback import in_thread

from gitops_connect.errors import UsageError
from gitops_connect.runtime import require_extras
from gitops_connect.settings.settings_file import load_settings

pytestmark = pytest.mark.slow

WORKER = {
    "group_id": "G",
    "config_topic": "configs",
    "offsets_topic": "offsets",
    "status_topic": "status",
    "principal": "User:connect",
}
SINK = """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: orders-sink}
spec: {class: com.example.Sink, config: {topics: orders, consumer.override.sasl.jaas.config: "${env:JAAS}"}}
"""


def acls(
    directory: Path,
    *options: str,
    worker: dict[str, object] | None = None,
    more: str = "",
    exactly_once: str = "disabled",
) -> Ran:
    """Run the command for one document; `worker` are the settings of its cluster."""
    settings, documents = directory / "gitops-connect.toml", directory / "documents"
    values = "".join(f"{key} = {json.dumps(value)}\n" for key, value in (worker or WORKER).items())
    support = f'exactly_once = "{exactly_once}"\n' if exactly_once else ""
    cluster = f'[clusters.local]\nurl = ["http://127.0.0.1:1"]\n{support}[clusters.local.worker]\n{values}'
    settings.write_text(cluster + more)
    (documents / "clusters" / "local").mkdir(parents=True, exist_ok=True)
    file = documents / "clusters" / "local" / "sink.yaml"
    if not file.exists():
        file.write_text(SINK)
    return run_here("--config", str(settings), "acls", str(documents), *options)


def test_a_connector_with_credentials_of_its_own_needs_a_principal_in_the_settings(tmp_path: Path) -> None:
    note = (
        "note: connector orders-sink: its consumer has a principal of its own (consumer.override.*), which the setting"
    )
    ran = acls(tmp_path, "-o", "json").expect(0, err=note)
    assert "JAAS" not in ran.out + ran.err
    found = json.loads(ran.out)
    assert len(found["notes"]) == 1
    assert {one["principal"] for one in found["acls"]} == {"User:connect"}
    more = '[clusters.local.worker.principals]\norders-sink = "User:orders"\n'
    found = json.loads(acls(tmp_path, "-o", "json", more=more).expect(0, err="").out)
    assert [
        (one["resource"], one["name"], one["operation"]) for one in found["acls"] if "orders" in one["principal"]
    ] == [
        ("group", "connect-orders-sink", "Read"),
        ("topic", "orders", "Read"),
    ]


@pytest.mark.parametrize(("settings", "error"), rows(__file__, "wrong_settings"))
def test_wrong_settings(tmp_path: Path, settings: dict[str, object], error: str) -> None:
    changed = {key: value for key, value in (WORKER | settings).items() if value is not None}
    assert acls(tmp_path, worker=changed).expect(64, out="").err.endswith(f"{error}\n")


def test_without_the_setting_the_workers_are_expected_to_support_no_exactly_once_sources(tmp_path: Path) -> None:
    note = "note: [clusters.local] exactly_once is not set: the permissions are for workers that do not support"
    without = acls(tmp_path, exactly_once="").expect(0, err=note)
    disabled = acls(tmp_path)
    assert without.out == disabled.out
    assert note not in disabled.err
    acls(tmp_path, exactly_once="preparing").expect(0, out="connect-cluster-G")


def test_the_name_of_the_kafka_resource_is_needed_for_strimzi(tmp_path: Path) -> None:
    acls(tmp_path, "-o", "strimzi-user").expect(64, out="", err="give it with --kafka-cluster NAME")
    acls(tmp_path, "-o", "strimzi-user", "--kafka-cluster", "main").expect(0, out="strimzi.io/cluster: main\n")


def test_one_of_several_clusters_has_to_be_chosen(tmp_path: Path) -> None:
    more = '[clusters.other]\nurl = ["http://127.0.0.1:2"]\n'
    acls(tmp_path, more=more).expect(64, out="", err="choose one of local, other with --cluster")
    acls(tmp_path, "--cluster", "other", more=more).expect(64, out="", err="[clusters.other.worker]: missing group_id")
    acls(tmp_path, "--cluster", "local", more=more).expect(0)


def test_documents_with_errors_are_reported_and_the_other_permissions_are_printed(tmp_path: Path) -> None:
    acls(tmp_path)
    (tmp_path / "documents" / "clusters" / "local" / "broken.yaml").write_text(
        SINK.replace("orders-sink", "x").replace("class", "clas")
    )
    ran = acls(tmp_path).expect(4, err="broken.yaml")
    assert "connect-orders-sink" in ran.out
    assert "connect-x" not in ran.out


def kafka(port: int) -> str:
    """Settings with a broker at this port."""
    return (
        f'[clusters.local.kafka]\nbootstrap_servers = "127.0.0.1:{port}"\ntimeout = "1s"\nusername = "u"\n'
        'password = "hunter2-of-kafka"\nsecurity_protocol = "sasl_plaintext"\nsasl_mechanism = "PLAIN"\n'
    )


@pytest.mark.parametrize(("options", "settings", "error"), rows(__file__, "no_check"))
def test_a_check_needs_settings(tmp_path: Path, options: list[str], settings: str, error: str) -> None:
    pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
    acls(tmp_path, "--check", *options, more=settings).expect(64, out="", err=error)


def test_without_the_client_of_kafka_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gitops_connect.kafka_client", raising=False)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    found = ("[clusters.NAME.kafka] needs another package", "run pip install 'gitops-connect[kafka]'")
    acls(tmp_path, "--check", more=kafka(1)).expect(64, out="", err=found)
    acls(tmp_path, more=kafka(1)).expect(0)
    other = kafka(1).replace("[clusters.local.kafka]", "[clusters.local.kafka_clusters.eu]")
    acls(tmp_path, more=other).expect(0)
    with pytest.raises(UsageError, match=r"kafka_clusters\] needs another package: .*pip install"):
        require_extras(load_settings(tmp_path / "gitops-connect.toml", {}))


class Endless(socketserver.BaseRequestHandler):
    """Answers a request with what is no answer of Kafka, and does not stop."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            self.request.recv(1)
            while True:
                self.request.sendall(b"\xff" * 65536)


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_is_no_broker(tmp_path: Path, capfd: pytest.CaptureFixture[str], answers: bool) -> None:
    """It ends with the timeout, the password is in no message, and the library prints nothing itself."""
    pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
    with in_thread(server := socketserver.ThreadingTCPServer(("127.0.0.1", 0), Endless)):
        port = server.server_address[1] if answers else 1
        why = "Invalid response size" if answers else "Connection refused"
        ran = acls(tmp_path, "--check", more=kafka(port)).expect(1, out="", err=("ACLs could not be read", why))
    assert "hunter2" not in ran.err + capfd.readouterr().err
    assert ran.err.count("\n") == 1
