"""A web server in this process that answers every request with what a function returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HttpAnswer = tuple[int, Mapping[str, str], bytes]
"""The status, the headers and the content."""


@dataclass(frozen=True)
class Asked:
    """A request; `target` is its path with its query."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def answering(answer: Callable[[Asked], HttpAnswer]) -> Iterator[str]:
    """Answer until the block ends. The value is the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, headers, content = answer(Asked(self.command, self.path, self.headers, body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are http.server's

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
