"""Web servers instead of a Git server: pages, endless lists of references, compressed answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.loopback import in_thread

SMART = {"Content-Type": "application/x-git-upload-pack-advertisement"}
"""The headers of Git's protocol."""

Parts = Callable[[], Iterator[bytes]]


@contextmanager
def web_server(headers: dict[str, str], parts: Parts) -> Iterator[str]:
    """Answer every request with these headers and parts, until the client disconnects."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                for part in parts():
                    self.wfile.write(part)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}/repository.git"


def pkt(line: bytes) -> bytes:
    return b"%04x%s" % (len(line) + 4, line)


def endless_references() -> Iterator[bytes]:
    yield pkt(b"# service=git-upload-pack\n") + b"0000"
    for number in itertools.count():
        names = (f"{number * 1000 + n:040x} refs/heads/b{number}-{n}\n".encode() for n in range(1000))
        yield b"".join(map(pkt, names))
