"""Free TCP ports on the loopback address."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable

from gitops_connect.sandbox.configs import HOST


def is_free(port: int) -> bool:
    """Whether a server could listen on the port. Binds and connects: macOS allows two binds, one to all addresses."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((HOST, port))
        except OSError:
            return False
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((HOST, port)) != 0


def choose_port(preferred: Iterable[int], taken: Collection[int]) -> int:
    """The first of `preferred` that is free and not in `taken`, else any that the kernel knows to be free."""
    for port in preferred:
        if port not in taken and is_free(port):
            return port
    while True:
        with socket.socket() as server:
            server.bind((HOST, 0))
            port = int(server.getsockname()[1])
        if port not in taken:
            return port
