"""What servers of tests on 127.0.0.1 need: a thread, and certificates."""

from __future__ import annotations

import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def make_certificate(directory: Path, name: str) -> Path:
    """A self-signed certificate for 127.0.0.1, `NAME.pem`, with its key in `NAME.key`."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -addext"
    files = ("subjectAltName=IP:127.0.0.1", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    try:
        subprocess.run(["openssl", *words.split(), *files], cwd=directory, check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make a certificate here")
    return directory / f"{name}.pem"
