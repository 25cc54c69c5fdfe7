"""Git's smart HTTP on 127.0.0.1: `git http-backend` behind `http.server`, with a login and injected faults."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.loopback import in_thread


@dataclass
class Behaviour:
    """How the server behaves from now on, and the requests that it received."""

    login: tuple[str, str] | None = None
    status: int | None = None
    """Answer everything with this status."""
    hangs: bool = False
    """Accept requests and never answer."""
    cut_after: int | None = None
    """Send that many bytes of each pack, then close the connection."""
    old_protocol: bool = False
    """Protocol version 0, which serves no object by its id."""
    redirect: str | None = None
    requests: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class GitServer:
    """A running server; `url` is the root of the repositories in its directory."""

    url: str
    port: int
    behaviour: Behaviour


@contextmanager
def serving(directory: Path, certificate: Path | None = None) -> Iterator[GitServer]:
    """Serve the repositories in a directory; over HTTPS if a certificate is given, whose key is next to it."""
    behaviour = Behaviour()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.directory, server.behaviour = directory, behaviour
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with in_thread(server):
        try:
            scheme = "https" if certificate else "http"
            yield GitServer(f"{scheme}://127.0.0.1:{server.server_port}", server.server_port, behaviour)
        finally:
            behaviour.released.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    directory: Path
    behaviour: Behaviour

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: some tests let a client disconnect in the middle of a response."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Write nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def _answer(self, body: bytes) -> None:
        behaviour = self.server.behaviour
        behaviour.requests.append(f"{self.command} {self.path}")
        behaviour.arrived.set()
        if behaviour.hangs:
            behaviour.released.wait(30)
        elif behaviour.status is not None:
            self._send(behaviour.status, {}, b"")
        elif behaviour.redirect is not None:
            self._send(302, {"Location": behaviour.redirect + self.path}, b"")
        elif not self._may_enter():
            self._send(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            self._serve(body)

    def _may_enter(self) -> bool:
        header = self.headers.get("Authorization", "")
        if header:
            self.server.behaviour.logins.append(base64.b64decode(header.removeprefix("Basic ")).decode())
        login = self.server.behaviour.login
        return login is None or self.server.behaviour.logins[-1:] == [":".join(login)]

    def _serve(self, body: bytes) -> None:
        head, _, content = self._backend(body).partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        cut = self.server.behaviour.cut_after
        if cut is None or b"PACK" not in content:
            self._send(status, headers, content)
            return
        self._send(status, headers, content, stop=cut)
        self.connection.shutdown(socket.SHUT_RDWR)

    def _backend(self, body: bytes) -> bytes:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROJECT_ROOT": str(self.server.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": "" if self.server.behaviour.old_protocol else self.headers.get("Git-Protocol", ""),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        return done.stdout

    def _send(self, status: int, headers: dict[str, str], content: bytes, stop: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:stop])
        self.wfile.flush()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body
