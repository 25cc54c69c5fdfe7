"""A real server next to a real daemon, over the fake Connect of the tests: from a webhook to an effect."""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from acceptance.workplace import Workplace
from standin.connect import StandIn
from standin.fixtures import standin
from support.daemon_log import AsProcess, InThread
from support.workplaces import at

from gitops_connect.server.listen_address import ListenAddress
from gitops_connect.server.serving import ConnectionLimits, serving

__all__ = ["at", "standin"]
pytestmark = pytest.mark.slow
TOKEN = "0123456789abcdef-token"
SECRET = "0123456789abcdef-secret"
ENVIRONMENT = {"GITOPS_CONNECT_SERVER__TOKEN": TOKEN, "GITOPS_CONNECT_SERVER__WEBHOOK_SECRET": SECRET}
HOURLY = {"GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h"}
LOCAL = ListenAddress("127.0.0.1", 0)


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
        state = log.await_state(lambda now: any(view.connectors for view in now.clusters.values()))
        lines = stream.iter_lines()
        while next(lines) != f"data: {state.number}".encode():
            assert not state.clusters["local"].error  # type: ignore[index]
        (connector,) = at.await_that(lambda: get(f"{url}/api/v1/connectors?sync=Synced")["connectors"], bool)
        assert connector["name"] == at.name("orders")
        (step,) = get(f"{url}/api/v1/journal")["steps"]
        assert (step["action"], step["commit"]) == ("create", at.git("rev-parse", "HEAD"))
        assert f"/clusters/local/connectors/{at.name('orders')}" in requests.get(url, timeout=30).text
        assert get(f"{url}/healthz") == {"alive": True}


def test_the_command_waits_for_the_result(at: Workplace) -> None:
    with running(at) as (log, url):
        at.settings(more=f'[server]\ntoken = "{TOKEN}"')
        at.commit("orders.yaml", at.source("orders"))
        ran = at.run("reconcile", "--server", url)
        assert ran.code == 0, ran
        assert f"  + {at.name('orders')}: create applied after" in ran.out
        assert at.git("rev-parse", "--short=7", "HEAD") in ran.out
        assert at.run("reconcile", "--server", url, "--cluster", "local").out.startswith("cluster local: unchanged")
        at.commit("more.yaml", "apiVersion: gitops-connect/v1\nkind: Connector\n")
        assert at.run("reconcile", "--server", url).code == 4, "as apply: a document has errors"
        at.commit("more.yaml", at.mirror("more"))
        failed = at.run("reconcile", "--server", url)
        assert (failed.code, "create failed" in failed.out) == (1, True)
        at.repository.rename(at.directory / "aside")
        away = at.run("reconcile", "--server", url)
        assert (away.code, "the repository cannot be read" in away.err) == (1, True)
        assert at.run("reconcile", "--server", url, "--cluster", "nowhere").code == 64
        assert "The daemon reconciles now." in at.run("reconcile", "--server", url, "--no-wait").out
        at.settings(more='[server]\ntoken = "another-0123456789"')
        rejected = at.run("reconcile", "--server", url)
        assert "rejected the request (401): expected the token" in rejected.err
        log.await_state(lambda now: bool(now.repository.error))


def test_the_command_without_a_daemon(at: Workplace, standin: StandIn) -> None:
    assert "[server] token is not set" in at.run("reconcile").err
    at.settings(more=f'[server]\ntoken = "{TOKEN}"')
    assert "no daemon is configured" in at.run("reconcile").err
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    at.settings(more=f'[server]\nlisten = "127.0.0.1:{port}"\ntoken = "{TOKEN}"')
    ran = at.run("reconcile")
    assert ran.code == 1
    assert f"no daemon answers at http://127.0.0.1:{port}: Connection refused" in ran.err
    other = at.run("reconcile", "--server", standin.url)
    assert f"{standin.url} is no daemon of gitops-connect: it answered 404" in other.err


def test_a_body_of_50_mb_is_not_read(at: Workplace) -> None:
    with running(at) as (_, url):
        host, port = url.removeprefix("http://").split(":")
        for length in (f"Content-Length: {50 * 2**20}", "Transfer-Encoding: chunked"):
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(f"POST /webhooks/github HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n".encode())
                assert _sent_until_answer(connection, is_chunked="chunked" in length) < 20
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
        ran = at.run("run")
        assert ran.code == 64
        assert re.search("cannot listen on 127.0.0.1.*Address already in use", ran.err)
        assert "daemon_started" not in ran.err
    at.settings(more='[server]\nlisten = "0.0.0.0:0"')
    assert "set read_token" in at.run("run").err
