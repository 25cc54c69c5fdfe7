"""A proxy in front of a worker, which reports each complete PATCH request without waiting for its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from support.loopback import in_thread


@contextmanager
def gate(url: str, passed: Callable[[], None]) -> Iterator[str]:
    """The URL of a proxy of the worker at `url`. Calls `passed` when it has forwarded a complete PATCH request."""
    worker = urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with closing(HTTPConnection(worker)) as connection:
                try:
                    connection.request(self.command, self.path, body, dict(self.headers))
                    if self.command == "PATCH":
                        passed()
                    answer = connection.getresponse()
                    content = answer.read()
                except (OSError, HTTPException):  # the worker was killed: the client gets no answer either
                    self.close_connection = True
                    return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are BaseHTTPRequestHandler's

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"
