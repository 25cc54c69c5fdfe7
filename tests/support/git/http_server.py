"""Git's smart HTTP on 127.0.0.1: `git http-backend` behind `http.server`, with a login and injected faults."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.loopback import HttpHandler, http_server


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


@dataclass
class GitServer:
    """A server of the repositories in a directory; `url` is their root."""

    directory: Path
    behaviour: Behaviour = field(default_factory=Behaviour)
    url: str = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def answer(self, request: HttpHandler) -> None:
        behaviour, body = self.behaviour, request.body()
        behaviour.requests.append(f"{request.command} {request.path}")
        behaviour.arrived.set()
        if behaviour.hangs:
            behaviour.released.wait(30)
            request.close_connection = True
        elif behaviour.status is not None:
            request.send(behaviour.status, {}, b"")
        elif behaviour.redirect is not None:
            request.send(302, {"Location": behaviour.redirect + request.path}, b"")
        elif not self._may_enter(request.headers.get("Authorization", "")):
            request.send(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            self._serve(request, body)

    def _may_enter(self, header: str) -> bool:
        if header:
            self.behaviour.logins.append(base64.b64decode(header.removeprefix("Basic ")).decode())
        login = self.behaviour.login
        return login is None or self.behaviour.logins[-1:] == [":".join(login)]

    def _serve(self, request: HttpHandler, body: bytes) -> None:
        head, _, content = self._backend(request, body).partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        cut = self.behaviour.cut_after if b"PACK" in content else None
        request.send(status, headers, content, cut)
        request.close_connection = cut is not None

    def _backend(self, request: HttpHandler, body: bytes) -> bytes:
        path, _, query = request.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": "" if self.behaviour.old_protocol else request.headers.get("Git-Protocol", ""),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        return done.stdout


@contextmanager
def serving(directory: Path, certificate: Path | None = None) -> Iterator[GitServer]:
    """Serve the repositories in a directory; over HTTPS if a certificate is given, whose key is next to it."""
    server, tls = GitServer(directory), None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
    with http_server(server.answer, tls) as server.url:
        yield server
        server.behaviour.released.set()
