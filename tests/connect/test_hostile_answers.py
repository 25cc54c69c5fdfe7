"""Endless, slow, compressed or deeply nested answers: a worker may send anything, and no client breaks."""

from __future__ import annotations

import gzip
import itertools
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from standin.connect import StandIn
from standin.faults import Parts
from standin.fixtures import MakeClient
from standin.raw_answers import drops, endless, head, whole, worker
from support.files.tables import rows
from support.loopback import in_thread

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectRefused, ConnectUnavailable, OutcomeUnknown, RebalanceInProgress
from gitops_connect.model.names import ConnectorName

pytestmark = pytest.mark.slow

NAME = ConnectorName("orders")
MOST = 1024 * 1024
"""`max_answer` in these tests, in bytes."""


def test_an_endless_answer_is_read_up_to_the_limit(make_client: MakeClient) -> None:
    with worker(endless) as url:
        client = make_client(url, max_answer=MOST)
        with pytest.raises(ConnectRefused, match=r"larger than 1,048,576 bytes.*max_answer"):
            client.names()
        with pytest.raises(OutcomeUnknown, match=r"larger than .*the change may have been made anyway"):
            client.stop(NAME)
    with worker(lambda: endless(500)) as url, pytest.raises(ConnectUnavailable, match="not Connect's JSON"):
        make_client(url, max_answer=MOST).names()


@pytest.mark.parametrize("status", [200, 500])
def test_what_is_packed_is_measured_unpacked(make_client: MakeClient, status: int) -> None:
    bomb = gzip.compress(bytes(64 * MOST))
    with (
        worker(whole(bomb, status, "Content-Encoding: gzip")) as url,
        pytest.raises((ConnectRefused, ConnectUnavailable), match=r"larger than 1,048,576|not Connect's JSON"),
    ):
        make_client(url, max_answer=MOST).names()


def test_an_answer_at_the_limit_is_read(make_client: MakeClient) -> None:
    body = json.dumps(["a"]).encode().ljust(MOST)
    with worker(whole(body)) as url:
        assert make_client(url, max_answer=MOST).names() == {"a"}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(lambda: drops(b"HTTP/1.1 200 OK\r\n", b"X: "), id="headers"),
        pytest.param(lambda: drops(head(200, "Content-Length: 100000")), id="body"),
        pytest.param(lambda: drops(head(200)), id="body without a length"),
        pytest.param(lambda: drops(head(200, "Transfer-Encoding: chunked"), b"1"), id="length of a chunk"),
    ],
)
def test_a_byte_now_and_then_is_no_answer(make_client: MakeClient, parts: Parts) -> None:
    """Each pause is far shorter than the timeout; the complete answer is not."""
    with worker(parts, pause=0.02) as url, pytest.raises(ConnectUnavailable, match=r"did not answer within 0\.3 s"):
        make_client(url, timeout=0.3).names()


def test_what_arrives_quickly_does_not_move_the_limit_of_a_validation(make_client: MakeClient) -> None:
    """Without `within`, each part would extend the timeout by another second."""

    def verdict() -> Iterator[bytes]:
        yield head()
        yield from itertools.repeat(b" " * 65536)

    with worker(verdict, pause=0.02) as url, pytest.raises(ConnectUnavailable, match=r"did not answer|was over"):
        make_client(url).validate("a.B", {}, within=0.3)


def test_a_validation_is_not_tried_again_when_its_time_would_be_over(standin: StandIn, client: ConnectClient) -> None:
    standin.refuse("PUT", ".*", 500, "a rebalance is expected", times=99)
    with pytest.raises(RebalanceInProgress):
        client.validate("a.B", {}, within=1.0)
    assert standin.count("PUT") == 3, "at 0 s, 0.25 s and 0.75 s; the next would be at 1.75 s"


def test_offsets_that_go_into_a_file_are_bounded_too(make_client: MakeClient, tmp_path: Path) -> None:
    entry = b'{"partition":{"filename":"a"},"offset":{"position":1}},'

    def offsets() -> Iterator[bytes]:
        yield head()
        yield b'{"offsets":['
        yield from itertools.repeat(entry * 1000)

    with worker(offsets) as url, pytest.raises(ConnectRefused, match="larger than 65,536 bytes"):
        make_client(url, max_answer=1024).save_offsets(NAME, tmp_path / "offsets.jsonl", 100)
    assert not (tmp_path / "offsets.jsonl").exists()


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 100_000], ids=["lists", "objects"])
@pytest.mark.parametrize("status", [200, 500])
def test_deep_nesting_is_no_answer_of_connect(make_client: MakeClient, deep: bytes, status: int) -> None:
    with worker(whole(deep, status)) as url, pytest.raises(ConnectUnavailable, match="not Connect's JSON"):
        make_client(url).names()


@pytest.mark.usefixtures("without_collection")
def test_deep_offsets_are_no_answer_of_connect(make_client: MakeClient, tmp_path: Path) -> None:
    body = b'{"offsets":[{"partition":' + b'{"a":' * 100_000
    with worker(whole(body)) as url, pytest.raises((ConnectRefused, ConnectUnavailable), match="not"):
        make_client(url).save_offsets(NAME, tmp_path / "offsets.jsonl", 100)


@pytest.mark.parametrize("target", ["http://[", "http://a:b/", "\x01\x02", "http://\xff/", "//", "http:///x?\x1b[31m"])
def test_a_redirect_to_nowhere_is_named(make_client: MakeClient, target: str) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode("latin-1")
    with worker(lambda: iter([answer])) as url, pytest.raises(ConnectRefused, match="redirects to"):
        make_client(url).names()


@pytest.mark.parametrize("body", rows(__file__, "validations"))
def test_a_validation_of_wrong_types_is_no_answer_of_connect(make_client: MakeClient, body: str) -> None:
    with worker(whole(body.encode())) as url, pytest.raises(ConnectRefused, match="not an answer of Kafka Connect"):
        make_client(url).validate("a.B", {})


@pytest.mark.parametrize("version", [f"{'9' * 5000}.0.0", "\ud800", "", "3." + "9" * 400])
def test_a_version_that_is_none_is_older_than_all(make_client: MakeClient, version: str) -> None:
    with worker(whole(json.dumps({"version": version}).encode())) as url:
        assert make_client(url).info().version.major < 4


def test_half_a_character_can_be_printed(make_client: MakeClient) -> None:
    with worker(whole(b'["a\\ud800b", "\\ud83d\\ude00"]')) as url:
        assert make_client(url).names() == {"a\ufffdb", "\U0001f600"}


def test_a_proxy_that_never_ends_its_answer_is_cut(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It connects to a worker with TLS, and sends a byte now and then: no pause is as long as the timeout."""
    with dripping(b"HTTP/1.1 200 ", pause=0.02) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(ConnectUnavailable, match=r"did not answer within 0\.3 s"):
            make_client("https://worker.example:8083", timeout=0.3).names()


@contextmanager
def dripping(begin: bytes, pause: float) -> Iterator[int]:
    """The port of a server that sends `begin` to each connection, and then one byte after each `pause`."""
    ended = threading.Event()

    class Drip(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.sendall(begin)
                while not ended.wait(pause):
                    self.request.sendall(b"x")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip)
    with in_thread(server):
        try:
            yield server.server_address[1]
        finally:
            ended.set()
