"""A real server next to a real daemon, over the fake Connect of the tests: webhooks, commands, and slow clients."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from acceptance.workplace import Workplace
from standin.connect import StandIn
from standin.fixtures import standin
from support.daemon_log import AsProcess, InThread
from support.workplaces import at

from gitops_connect.server.event_stream import MOST_STREAMS
from gitops_connect.server.listen_address import ListenAddress
from gitops_connect.server.serving import ConnectionLimits, serving

__all__ = ["at", "standin"]
pytestmark = pytest.mark.slow
TOKEN = "0123456789abcdef-token"
SECRET = "0123456789abcdef-secret"
ENVIRONMENT = {"GITOPS_CONNECT_SERVER__TOKEN": TOKEN, "GITOPS_CONNECT_SERVER__WEBHOOK_SECRET": SECRET}
HOURLY = {"GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h"}
LOCAL = ListenAddress("127.0.0.1", 0)
HEAD = b"POST /webhooks/github HTTP/1.1\r\nHost: localhost\r\n"
BODY = HEAD + b"Content-Length: 1000000\r\n\r\n"
GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def running(at: Workplace, limits: ConnectionLimits | None = None) -> Iterator[tuple[InThread, str]]:
    """A daemon that polls once an hour, and the URL of its server."""
    log = InThread(at, **HOURLY, **ENVIRONMENT)
    with serving(log.runtime, log.daemon, LOCAL, limits) as address, log:
        log.wait("reconciliation_finished")
        yield log, address.url


def push(url: str, body: bytes = b'{"ref": "refs/heads/main"}') -> requests.Response:
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={signed}"}
    return requests.post(f"{url}/webhooks/github", body, headers=headers, timeout=30)


def get(url: str) -> Any:
    with requests.get(url, timeout=30) as answer:
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_a_webhook_leads_to_an_effect_that_the_page_shows(at: Workplace) -> None:
    with running(at) as (log, url), requests.get(f"{url}/events", stream=True, timeout=30) as stream:
        at.commit("orders.yaml", at.source("orders"))
        assert push(url).json()["poll"] is True
        log.wait("step_applied", connector=at.name("orders"))
        log.wait("webhook_received", provider="github")
        events = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith(b"data: "))
        assert "number" in next(events), "the begin"
        told = next(one for one in events if "number" in one)
        assert told.get("clusters", ["local"]) == ["local"], "it names none if the commit changed in the same second"
        (connector,) = at.await_that(lambda: get(f"{url}/api/v1/connectors?sync=Synced")["connectors"], bool)
        assert connector["name"] == at.name("orders")
        (step,) = get(f"{url}/api/v1/journal")["steps"]
        assert (step["action"], step["commit"]) == ("create", at.git("rev-parse", "HEAD"))
        assert f"/clusters/local/connectors/{at.name('orders')}" in requests.get(f"{url}/connectors", timeout=30).text
        assert get(f"{url}/healthz") == {"alive": True}


def test_the_command_waits_for_the_result(at: Workplace) -> None:
    with running(at) as (log, url):
        at.settings(more=f'[server]\ntoken = "{TOKEN}"')
        at.commit("orders.yaml", at.source("orders"))
        at.run("reconcile", "--server", url).expect(
            0, out=(f"  + {at.name('orders')}: create applied after", at.git("rev-parse", "--short=7", "HEAD"))
        )
        assert at.run("reconcile", "--server", url, "--cluster", "local").out.startswith("cluster local: unchanged")
        for command, what in (("suspend", "is suspended"), ("resume", "is resumed")):
            at.settings(more=f'[server]\npublic_url = "{url}"\ntoken = "{TOKEN}"')
            at.run(command, "connector", at.name("orders"), "--wait").expect(0, out=(what, "cluster local: unchanged"))
        at.commit("empty.yaml", at.source("empty", streams='""'))
        at.run("reconcile", "--server", url).expect(
            6, out=("cluster local: unconfirmed", "create unconfirmed: it runs without")
        )
        at.run("reconcile", "--server", url).expect(0)
        at.run("restart", "connector", at.name("empty")).expect(
            6, err="was restarted; not confirmed yet: it runs without"
        )
        at.commit("more.yaml", "apiVersion: gitops-connect/v1\nkind: Connector\n")
        assert at.run("reconcile", "--server", url).code == 4, "as apply: a document has errors"
        at.commit("more.yaml", at.mirror("more"))
        at.run("reconcile", "--server", url).expect(1, out="create failed")
        at.repository.rename(at.directory / "aside")
        at.run("reconcile", "--server", url).expect(1, err="the repository cannot be read")
        assert at.run("reconcile", "--server", url, "--cluster", "nowhere").code == 64
        assert "The daemon reconciles now." in at.run("reconcile", "--server", url, "--no-wait").out
        at.settings(more='[server]\ntoken = "another-0123456789"')
        at.run("reconcile", "--server", url).expect(err="rejected the request (401): expected the token")
        log.await_state(lambda now: bool(now.repository.error))


def test_the_command_without_a_daemon(at: Workplace, standin: StandIn) -> None:
    at.run("reconcile").expect(err="[server] token is not set")
    at.run("suspend", "cluster", "local", "--wait").expect(64, err="[server] token is not set")
    assert "suspended" not in at.run("plan").out, "nothing is recorded"
    at.settings(more=f'[server]\ntoken = "{TOKEN}"')
    assert "no daemon is configured" in at.run("reconcile").err
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    at.settings(more=f'[server]\nlisten = "127.0.0.1:{port}"\ntoken = "{TOKEN}"')
    at.run("reconcile").expect(1, err=f"no daemon answers at http://127.0.0.1:{port}: Connection refused")
    other = at.run("reconcile", "--server", standin.url)
    assert f"{standin.url} is no daemon of gitops-connect: it answered 404" in other.err


def test_a_body_of_50_mb_is_not_read(at: Workplace) -> None:
    with running(at) as (_, url):
        for length in (b"Content-Length: %d" % (50 * 2**20), b"Transfer-Encoding: chunked"):
            with connected(url) as connection:
                connection.sendall(HEAD + length + b"\r\n\r\n")
                assert _sent_until_answer(connection, is_chunked=b"chunked" in length) < 20
        assert get(f"{url}/readyz") == {"ready": True}


def _sent_until_answer(connection: socket.socket, *, is_chunked: bool) -> int:
    """Send 50 MiB, and return how many MiB were sent until the server answered 413."""
    connection.settimeout(0.2)
    piece = b"x" * 2**20
    data = b"100000\r\n" + piece + b"\r\n" if is_chunked else piece
    for count in range(50):
        try:
            connection.sendall(data)
        except OSError:  # closed by the server, or it reads no more
            return count
        try:
            if connection.recv(4096).startswith(b"HTTP/1.1 413"):
                return count
        except TimeoutError:
            continue
    return 50


def test_the_process_starts_and_ends_with_its_server(at: Workplace) -> None:
    at.settings(more='[server]\nlisten = "127.0.0.1:0"')
    with AsProcess(at) as daemon:
        url = daemon.wait("server_started")["url"]
        daemon.wait("reconciliation_finished")
        with requests.get(f"{url}/events", stream=True, timeout=30) as stream:
            daemon.process.terminate()
            assert daemon.code() == 0
            assert b"event: change" in b"\n".join(stream.iter_lines())
        assert daemon.all("daemon_stopped")
        assert not daemon.all("library")


def test_a_port_in_use_ends_the_program_before_the_daemon_starts(at: Workplace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at.settings(more=f'[server]\nlisten = "127.0.0.1:{taken.getsockname()[1]}"')
        ran = at.run("run").expect(64)
        assert re.search("cannot listen on 127.0.0.1.*Address already in use", ran.err)
        assert "daemon_started" not in ran.err
    at.settings(more='[server]\nlisten = "0.0.0.0:0"')
    assert "set read_token" in at.run("run").err


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def is_closed(connection: socket.socket, drip: bytes = b"") -> bool:
    """Whether the server closes the connection, to which a byte of `drip` is sent 20 times a second."""
    for index in range(600):
        try:
            if select.select([connection], [], [], 0.05)[0] and not connection.recv(65536):
                return True
            connection.sendall(drip[index % len(drip) :][:1] if drip else b"")
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(HEAD, b"X: ", id="a slow head"),
        pytest.param(BODY, b"", id="no body"),
        pytest.param(BODY, b"x", id="a slow body"),
        pytest.param(GET % b"healthz", b"GET", id="a slow second request"),
        pytest.param(GET % b"events", b"", id="a page that is open too long"),
    ],
)
def test_a_slow_client_is_closed(at: Workplace, sent: bytes, drip: bytes) -> None:
    limits = ConnectionLimits(head=1, body=1, stream=1)
    with running(at, limits) as (log, url), connected(url) as connection:
        connection.sendall(sent)
        assert is_closed(connection, drip)
        assert get(f"{url}/healthz") == {"alive": True}
        assert not log.all("library")


def test_a_client_that_does_not_read_is_closed(at: Workplace) -> None:
    with running(at, ConnectionLimits(answer=1)) as (_, url), connected(url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(100_000 * (GET % b"static/page.js"))


@contextmanager
def many(url: str, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """That many connections, on each of which this was sent."""
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(url)) for _ in range(count)]
        for one in opened:
            one.sendall(sent)
        yield opened


@pytest.mark.parametrize("sent", [b"", HEAD, BODY], ids=["nothing", "a part of the head", "no body"])
def test_probes_and_webhooks_among_idle_connections(at: Workplace, sent: bytes) -> None:
    limits = ConnectionLimits(20, head=600, body=600)
    with running(at, limits) as (_, url), many(url, 100, sent) as idle:
        assert get(f"{url}/healthz") == {"alive": True}
        assert get(f"{url}/readyz") == {"ready": True}
        assert push(url).status_code == 202
        closed = select.select(idle, [], [], 0)[0]
        assert len(closed) >= 80
        if sent != BODY:  # one that has sent its head is closed after those that have not, even if it is older
            assert idle[0] in closed, "the one that was open longest"


@pytest.mark.thorough
def test_a_thousand_connections_and_too_many_open_pages(at: Workplace) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    at.settings(more='[server]\nlisten = "127.0.0.1:0"')
    try:
        with AsProcess(at, environment=ENVIRONMENT) as daemon, ExitStack() as stack:
            url = daemon.wait("server_started")["url"]
            daemon.wait("reconciliation_finished")
            pages = stack.enter_context(many(url, MOST_STREAMS + 50, GET % b"events"))
            answers = [one.recv(65536) for one in pages]
            assert sum(b" 200 OK" in answer for answer in answers) >= MOST_STREAMS
            stack.enter_context(many(url, 1000, b""))
            assert get(f"{url}/healthz") == {"alive": True}
            assert push(url).status_code == 202
            descriptors = len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))
            assert descriptors < 600, descriptors
            open_pages = [one for one in pages if not select.select([one], [], [], 0)[0]]
            assert len(open_pages) <= MOST_STREAMS
            assert not re.search("Traceback|library", str(daemon.lines))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
