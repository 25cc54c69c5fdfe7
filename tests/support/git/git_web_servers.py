"""Web servers instead of a Git server: pages, endless lists of references, compressed answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from support.loopback import HttpHandler, http_server

SMART = {"Content-Type": "application/x-git-upload-pack-advertisement"}
"""The headers of Git's protocol."""

Parts = Callable[[], Iterator[bytes]]


@contextmanager
def web_server(headers: dict[str, str], parts: Parts) -> Iterator[str]:
    """Answer every request with these headers and parts, until the client disconnects."""

    def answer(request: HttpHandler) -> None:
        request.close_connection = True
        request.send_response(200)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        with suppress(OSError):
            for part in parts():
                request.wfile.write(part)

    with http_server(answer) as url:
        yield f"{url}/repository.git"


def pkt(line: bytes) -> bytes:
    return b"%04x%s" % (len(line) + 4, line)


def endless_references() -> Iterator[bytes]:
    yield pkt(b"# service=git-upload-pack\n") + b"0000"
    for number in itertools.count():
        names = (f"{number * 1000 + n:040x} refs/heads/b{number}-{n}\n".encode() for n in range(1000))
        yield b"".join(map(pkt, names))
