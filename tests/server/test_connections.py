"""Clients that open connections and send or read slowly, or nothing: they are closed, and others are served."""

from __future__ import annotations

import re
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from server.test_serving import ENVIRONMENT, at, get, push, running, standin
from support.daemon_log import AsProcess

from gitops_connect.server.event_stream import MOST_STREAMS
from gitops_connect.server.serving import ConnectionLimits

__all__ = ["at", "standin"]
pytestmark = pytest.mark.slow
HEAD = b"POST /webhooks/github HTTP/1.1\r\nHost: localhost\r\n"
BODY = HEAD + b"Content-Length: 1000000\r\n\r\n"
GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"


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
