"""What servers of tests on 127.0.0.1 need: a thread, HTTP, and certificates."""

from __future__ import annotations

import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def in_thread(server: socketserver.BaseServer) -> Iterator[None]:
    """Serve in another thread; at the end, wait for it, and close the server."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class HttpServer(ThreadingHTTPServer):
    """A server on a free port."""

    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of a bug. Clients that disconnect are part of the tests."""
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)


class HttpHandler(BaseHTTPRequestHandler):
    """One connection; `answer` is called for each of its requests, of any method."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are http.server's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Write nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, headers: Mapping[str, str], content: bytes, stop: int | None = None) -> None:
        """Send an answer; with `stop`, only that many bytes of its content, and then the connection ends."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:stop])
        self.close_connection |= stop is not None


@contextmanager
def http_server(answer: Callable[[HttpHandler], None], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Answer every request with this function, until the block ends. The value is the URL."""

    class Handler(HttpHandler):
        def answer(self) -> None:
            answer(self)

    server = HttpServer(Handler, tls)
    with in_thread(server):
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"


def make_certificate(directory: Path, name: str) -> Path:
    """A self-signed certificate for 127.0.0.1, `NAME.pem`, with its key in `NAME.key`."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -addext"
    files = ("subjectAltName=IP:127.0.0.1", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    try:
        subprocess.run(["openssl", *words.split(), *files], cwd=directory, check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make a certificate here")
    return directory / f"{name}.pem"
