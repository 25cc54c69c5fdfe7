"""Workers that are down, hang, lose answers or are not Connect: over real sockets."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from standin.cluster import Cluster
from standin.connect import StandIn
from standin.fixtures import MakeClient
from standin.raw_answers import whole, worker
from support.cluster.manual_clock import ManualClock
from support.loopback import HttpHandler, http_server, make_certificate

from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exchanges import Exchange, noted_in
from gitops_connect.connect.responses import ConnectRequest
from gitops_connect.connect.transport import RETRY, RebalanceWait, check_addresses, check_authentication, identify
from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    LedgerBusy,
    OutcomeUnknown,
    RebalanceInProgress,
    Unauthorized,
    UsageError,
)
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ConnectVersion
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ClusterSettings

pytestmark = pytest.mark.slow

NAME = ConnectorName("orders")
CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
ANY = Credential(value="any")
EXPECTED = "Request cannot be completed because a rebalance is expected"


@pytest.fixture
def down() -> str:
    """The address of a worker that does not run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def pair() -> Iterator[tuple[StandIn, StandIn]]:
    """Two workers of one cluster."""
    cluster = Cluster()
    with StandIn(cluster) as one, StandIn(cluster) as two:
        yield one, two


def test_the_next_worker_is_asked_and_remembered(down: str, standin: StandIn, make_client: MakeClient) -> None:
    client = make_client(down, standin.url)
    client.create(NAME, CONFIG)
    client.stop(NAME)
    assert standin.count() == 2
    assert client.names() == {NAME}


def test_nobody_there(down: str, make_client: MakeClient, clock: ManualClock) -> None:
    with pytest.raises(ConnectUnavailable, match=f"no worker answered: {down} cannot be reached: Connection refused"):
        make_client(down).create(NAME, CONFIG)
    assert clock.slept == []


def test_each_try_of_a_write_needs_a_permit_and_reads_need_none(
    down: str, standin: StandIn, make_client: MakeClient
) -> None:
    """The connection is made first: for a worker that is down, the permit is not even asked for."""
    seen: list[int] = []

    def permit() -> float:
        seen.append(standin.count())
        return 60

    client = make_client(down, standin.url).guarded_by(permit)
    standin.refuse("POST", "/connectors", 409, EXPECTED, times=2)
    client.create(NAME, CONFIG)
    assert client.names() == {NAME}
    assert seen == [0, 1, 2], "before each try arrives"


def test_each_request_with_an_effect_is_noted_with_its_answer_and_without_secrets(
    standin: StandIn, make_client: MakeClient
) -> None:
    client, secret = make_client(standin.url), {**CONFIG, "database.password": "hunter2-secret"}
    client.create(NAME, CONFIG)
    found = list[Exchange]()
    with noted_in(found):
        client.names()
        standin.refuse("PUT", "/connectors/orders/stop", 409, EXPECTED, times=1)
        client.stop(NAME)
        standin.refuse("PUT", "/connectors/orders/config", 400, "hunter2-secret is no password", times=1)
        with pytest.raises(ConnectRefused):
            client.configure(NAME, secret)
        standin.drop("PUT", "/connectors/orders/resume", times=1)
        with pytest.raises(OutcomeUnknown):
            client.resume(NAME)
    client.pause(NAME)
    assert [one.request for one in found] == [
        *["PUT /connectors/orders/stop"] * 2,
        "PUT /connectors/orders/config",
        "PUT /connectors/orders/resume",
    ]
    refused, stopped, rejected, lost = (one.answer for one in found)
    assert refused.startswith(f"{EXPECTED} ")
    assert stopped == "HTTP 204"
    assert rejected.startswith("*** is no password (HTTP 400 from ")
    assert lost.startswith(f"no answer: {standin.url} ")
    assert "hunter2" not in str(found)


def test_a_write_without_a_permit_is_not_sent(standin: StandIn, make_client: MakeClient) -> None:
    def refuse() -> float:
        raise LedgerBusy("the lease was lost")

    client = make_client(standin.url)
    guarded = client.guarded_by(refuse)
    for write in (lambda: guarded.create(NAME, CONFIG), lambda: guarded.alter_offsets(NAME, {})):
        with pytest.raises(LedgerBusy, match=r"^the lease was lost$"):
            write()
    late = client.guarded_by(lambda: 0)
    with pytest.raises(LedgerBusy, match=r"suspended for longer than its lease lasts; the request was not sent"):
        late.create(NAME, CONFIG)
    assert standin.count() == 0
    client.create(NAME, CONFIG)
    assert standin.count() == 1


def test_a_read_whose_answer_is_lost_is_asked_of_the_next_worker(
    pair: tuple[StandIn, StandIn], make_client: MakeClient
) -> None:
    pair[0].drop("GET", "/connectors")
    assert make_client(pair[0].url, pair[1].url).names() == frozenset()
    assert (pair[0].count(), pair[1].count()) == (1, 1)


@pytest.mark.parametrize("effect", [True, False])
def test_a_write_whose_answer_is_lost_is_sent_to_nobody_else(
    pair: tuple[StandIn, StandIn], make_client: MakeClient, effect: bool
) -> None:
    pair[0].drop("POST", "/connectors", effect=effect)
    client = make_client(pair[0].url, pair[1].url)
    lost = r"closed the connection before the answer was complete.*the change may have been made anyway"
    with pytest.raises(OutcomeUnknown, match=lost):
        client.create(NAME, CONFIG)
    assert pair[0].count("POST") + pair[1].count("POST") == 1
    assert client.names() == (frozenset({NAME}) if effect else frozenset())


def test_half_an_answer_is_none(standin: StandIn, client: ConnectClient) -> None:
    standin.truncate("POST|GET", ".*", times=2)
    with pytest.raises(OutcomeUnknown):
        client.create(NAME, CONFIG)
    with pytest.raises(ConnectUnavailable, match="closed the connection before the answer was complete"):
        client.plugins()
    assert client.names() == {NAME}


def test_a_worker_that_hangs_is_left_for_the_next(pair: tuple[StandIn, StandIn], make_client: MakeClient) -> None:
    pair[0].hang("GET", "/")
    client = make_client(pair[0].url, pair[1].url, timeout=0.2)
    assert client.info().reported == "4.3.1"
    assert client.names() == frozenset()
    assert pair[1].count() == 2


def test_all_other_workers_are_asked_at_the_same_time(down: str, standin: StandIn, make_client: MakeClient) -> None:
    """Each answers only once both were asked."""
    both = threading.Barrier(2)

    def answer(version: str) -> Iterator[bytes]:
        both.wait(30)
        yield from whole(json.dumps({"version": version, "commit": "", "kafka_cluster_id": ""}).encode())()

    with worker(partial(answer, "3.9.1")) as one, worker(partial(answer, "4.0.0")) as two:
        found = make_client(standin.url, one, down, two).other_versions()
    assert found == {ConnectVersion(3, 9, 1), ConnectVersion(4, 0)}


def test_a_write_to_a_worker_that_hangs_may_have_happened(standin: StandIn, make_client: MakeClient) -> None:
    standin.hang("PUT", ".*")
    with pytest.raises(OutcomeUnknown, match=r"sent to .*, which did not answer within 0\.2 s"):
        make_client(standin.url, timeout=0.2).stop(NAME)


@pytest.mark.parametrize(
    "message", [EXPECTED, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"]
)
def test_a_rebalance_is_waited_for_by_reads_and_writes(
    standin: StandIn, client: ConnectClient, clock: ManualClock, message: str
) -> None:
    standin.refuse("POST|GET", "/connectors", 409 if "conflict" in message else 500, message, times=3)
    client.create(NAME, CONFIG)
    assert clock.slept == [0.25, 0.5, 1.0]
    assert client.names() == {NAME}


def test_a_rebalance_costs_all_requests_one_wait(clock: ManualClock) -> None:
    wait, write = RebalanceWait(clock), ConnectRequest("POST", "/connectors", effect=True)
    for pause in (0.25, 0.5):
        sent = clock.monotonic()
        assert {wait.refused(sent) for _ in range(8)} == {sent + pause}
        for _ in range(8):
            wait.wait(write)
    wait.over()
    wait.refused(clock.monotonic())
    wait.wait(ConnectRequest("GET", "/connectors"))  # the lists of connectors do not need the group
    wait.wait(write)
    assert clock.slept == [0.25, 0.5, 0.25]


def test_what_comes_after_a_refused_request_is_sent_at_the_next_try(
    standin: StandIn, client: ConnectClient, clock: ManualClock
) -> None:
    standin.refuse("POST", "/connectors", 409, EXPECTED, times=8)
    with pytest.raises(RebalanceInProgress):
        client.create(NAME, CONFIG)
    client.create(NAME, CONFIG)
    assert clock.slept == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    assert standin.count("POST") == 9


def test_a_rebalance_that_does_not_end_is_reported(standin: StandIn, client: ConnectClient, clock: ManualClock) -> None:
    standin.refuse("GET", "/connectors.*", 500, EXPECTED, times=100)
    with pytest.raises(RebalanceInProgress, match=f"connect cluster local: GET /connectors: {EXPECTED}"):
        client.names()
    assert clock.slept == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_a_hiccup_is_asked_again_and_elsewhere(
    pair: tuple[StandIn, StandIn], make_client: MakeClient, clock: ManualClock
) -> None:
    pair[0].answer("GET", "/connectors", 502, "<html>Bad Gateway</html>", times=9)
    assert make_client(pair[0].url, pair[1].url).names() == frozenset()
    assert clock.slept == [RETRY.first]


def test_a_worker_that_is_starting_makes_nothing_absent(pair: tuple[StandIn, StandIn], make_client: MakeClient) -> None:
    """The worker answers 404 to a DELETE, which must not be taken for a completed deletion."""
    client = make_client(pair[0].url, pair[1].url)
    client.create(NAME, CONFIG)
    pair[0].starting = True
    with pytest.raises(ConnectUnavailable, match="the worker is still starting"):
        make_client(pair[0].url).delete(NAME)
    client.delete(NAME)
    assert client.names() == frozenset()
    assert pair[1].count("DELETE") == 1


def test_a_redirection_gets_no_credentials(standin: StandIn, make_client: MakeClient) -> None:
    with StandIn() as other:
        standin.answer("GET", "/", 302, "", headers={"Location": other.url})
        with pytest.raises(ConnectRefused, match="redirects to"):
            make_client(standin.url, token=Credential(value="t0ken")).info()
        assert other.count() == 0


def test_credentials_are_sent_and_shown_nowhere(standin: StandIn, make_client: MakeClient) -> None:
    standin.authorization = "Bearer t0ken"
    assert make_client(standin.url, token=Credential(value="t0ken")).names() == frozenset()
    with pytest.raises(Unauthorized, match="HTTP 401") as caught:
        make_client(standin.url, token=Credential(value="wr0ng")).names()
    assert "wr0ng" not in str(caught.value)
    standin.refuse("GET", "/", 403, "Bearer t0ken is not allowed here")
    with pytest.raises(Unauthorized, match=r"Bearer \*\*\* is not allowed here"):
        make_client(standin.url, token=Credential(value="t0ken")).info()


def test_the_users_netrc_is_left_alone(
    standin: StandIn, make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password s3cret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    make_client(standin.url).info()
    assert "Authorization" not in standin.calls[0].headers


def test_a_proxy_of_the_environment_is_used(
    standin: StandIn, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", standin.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(ConnectRefused):
        make_client("http://connect.invalid:8083").info()
    assert standin.calls[0].path == "http://connect.invalid:8083/"


def test_something_that_is_not_connect(standin: StandIn, client: ConnectClient) -> None:
    standin.answer("GET", "/", 200, {"status": "ok"})
    with pytest.raises(ConnectRefused, match="not an answer of Kafka Connect: the answer contains no version"):
        client.info()
    standin.answer("GET", "/", 200, "<html>welcome</html>", times=9)
    with pytest.raises(ConnectUnavailable, match="its answer is not Connect's JSON"):
        client.info()


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"", "closed the connection before the answer was complete"),
        (b"220 mail.example.org ESMTP\r\n", r"sent an answer that is not valid HTTP \(BadStatusLine\)"),
    ],
)
def test_something_that_does_not_speak_http(make_client: MakeClient, answer: bytes, found: str) -> None:
    with worker(lambda: iter([answer])) as url, pytest.raises(ConnectUnavailable, match=found):
        make_client(url).info()


def test_many_threads_share_one_client(standin: StandIn, make_client: MakeClient) -> None:
    client = make_client(standin.url, parallelism=4)
    names = [ConnectorName(f"c{number}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: client.create(name, CONFIG), names))
    assert client.names() == set(names)


class TestTls:
    @pytest.fixture
    def certificates(self, tmp_path: Path) -> Path:
        for name in ("server", "client"):
            make_certificate(tmp_path, name)
        return tmp_path

    @pytest.fixture
    def secure(self, certificates: Path) -> Iterator[StandIn]:
        """A worker that uses TLS and requires a client certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        context.load_verify_locations(certificates / "client.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        with StandIn(tls=context) as standin:
            yield standin

    def test_both_sides_show_certificates(self, secure: StandIn, certificates: Path, make_client: MakeClient) -> None:
        with pytest.raises(ConnectRefused, match=r"certificate verify failed.*check ca_file"):
            make_client(secure.url).create(NAME, CONFIG)
        ours = {"client_certificate": certificates / "client.pem", "client_key": certificates / "client.key"}
        with pytest.raises((ConnectRefused, OutcomeUnknown)):
            make_client(secure.url, ca_file=certificates / "server.pem").create(NAME, CONFIG)
        assert secure.count() == 0
        client = make_client(secure.url, ca_file=certificates / "server.pem", **ours)
        client.create(NAME, CONFIG)
        assert client.names() == {NAME}

    def test_a_proxy_with_tls_a_login_and_a_path(
        self, certificates: Path, standin: StandIn, make_client: MakeClient
    ) -> None:
        login = b"Basic " + base64.b64encode(b"avnadmin:s3cret")

        def forward(request: HttpHandler) -> None:
            path = request.path.removeprefix("/kafka/connect")
            if request.headers["Authorization"] != login.decode() or path == request.path:
                request.send(401, {"WWW-Authenticate": "Basic"}, b"<html>Authorization Required</html>")
            else:
                answer = requests.request(request.command, standin.url + path, data=request.body(), timeout=60)
                request.send(answer.status_code, {}, answer.content)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
        with http_server(forward, context) as url:
            open_with = partial(
                make_client, f"{url}/kafka/connect/", ca_file=certificates / "server.pem", username="avnadmin"
            )
            client = open_with(password=Credential(value="s3cret"))
            client.create(NAME, CONFIG)
            assert client.names() == {NAME}
            before = standin.count()
            with pytest.raises(Unauthorized, match="HTTP 401") as caught:
                open_with(password=Credential(value="wr0ng")).names()
            assert "wr0ng" not in str(caught.value)
            assert standin.count() == before

    def test_tls_spoken_to_a_worker_without(self, standin: StandIn, make_client: MakeClient) -> None:
        with pytest.raises(ConnectRefused, match="failed the TLS handshake"):
            make_client(standin.url.replace("http", "https")).info()

    def test_a_file_that_is_not_there(self, standin: StandIn, make_client: MakeClient, tmp_path: Path) -> None:
        client = make_client(standin.url.replace("http", "https"), ca_file=tmp_path / "none.pem")
        with pytest.raises(UsageError, match=r"\[clusters.local\]: its TLS files cannot be used"):
            client.info()


def settings(*urls: str, **more: Any) -> ClusterSettings:
    return ClusterSettings(ClusterName("local"), urls or ("http://h:8083",), **more)


def test_credentials_become_headers_and_a_file_is_read_at_each_use(tmp_path: Path) -> None:
    identity = identify(settings(username="jürgen", password=Credential(value="pä:ss")))
    pair = base64.b64encode("jürgen:pä:ss".encode())
    assert identity.headers == {"Authorization": b"Basic " + pair}
    assert identity.secrets == {"pä:ss", pair.decode()}
    assert "pä:ss" not in repr(identity)
    file = tmp_path / "token"
    rotated = settings(token=Credential(file=file), headers={"X-Key": Credential(value="k3y")})
    for token in ("first", "second"):
        file.write_text(token + "\n")
        identity = identify(rotated)
        assert identity.headers == {"X-Key": b"k3y", "Authorization": f"Bearer {token}".encode()}
        assert identity.secrets == {token, "k3y"}


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "a\r", "a\x00b"])
def test_a_value_that_no_header_can_have_is_refused_and_not_shown(value: str) -> None:
    text = r"\[clusters.local\] headers.X: the value cannot be sent: it is empty, or contains"
    with pytest.raises(UsageError, match=text) as caught:
        identify(settings(headers={"X": Credential(value=f"s3cret{value}" if value.strip() else value)}))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"username": "u", "token": ANY}, "username and token cannot be combined"),
        ({"token": ANY, "headers": {"authorization": ANY}}, "token and headers.Authorization cannot be combined"),
        ({"password": ANY}, "password is set, but username is not"),
        ({"client_key": Path("k")}, "client_key is set, but client_certificate is not"),
    ],
)
def test_settings_that_contradict_one_another(more: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        check_authentication(settings(**more))


def test_addresses_lose_the_slash_at_their_end_and_may_have_no_credentials() -> None:
    assert check_addresses(settings("http://a:1/", "https://b/connect")) == ("http://a:1", "https://b/connect")
    for url in ("a:8083", "ftp://a", "http://", "http://a:99999", "http://a?x=1", "http://a#x", "http://[::1"):
        with pytest.raises(UsageError, match=r"\[clusters.local\] url: "):
            check_addresses(settings(url))
    with pytest.raises(UsageError, match="and set username and password instead") as caught:
        check_addresses(settings("http://me:s3cret@h:8083"))
    assert "s3cret" not in str(caught.value)
