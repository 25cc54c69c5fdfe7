"""Checks whether a broker and a worker are ready: an open port is not enough."""

from __future__ import annotations

import http.client
import socket
import struct

from gitops_connect.sandbox.configs import HOST

_TIMEOUT = 5.0
"""Seconds for a connection, and for each answer."""
_METADATA, _METADATA_VERSION = 3, 4


def broker_answers(port: int) -> bool:
    """Whether the broker answers a Metadata request (version 4, for no topic) and counts itself among the brokers."""
    client = b"sandbox"
    request = struct.pack(">hhih", _METADATA, _METADATA_VERSION, 1, len(client)) + client + struct.pack(">ib", 0, 0)
    try:
        with socket.create_connection((HOST, port), timeout=_TIMEOUT) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                header = answer.read(16)
    except OSError:
        return False
    if len(header) < 16:
        return False
    _, correlation, _, brokers = struct.unpack(">iiii", header)
    return bool(correlation == 1 and brokers > 0)


def worker_answers(port: int) -> bool:
    """Whether the herder answers for a connector that does not exist: it does once it has read the config topic.

    The list of connectors is available earlier, and empty at first. Before that, Jetty answers 404 to every request.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/connectors/sandbox/config")
        answer = connection.getresponse()
        return answer.status in (200, 404) and "json" in answer.getheader("Content-Type", "")
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
