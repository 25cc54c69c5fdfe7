"""Detects workers that are gone. Connect's REST API does not list its workers.

A worker that has ended keeps its tasks for some minutes: Connect reports them as RUNNING on that worker until it
assigns them to another one (KIP-415). The id of a worker is the host and port of its REST listener
(`rest.advertised.host.name`). It may not be reachable from here, for example behind a load balancer. So only a worker
that was reached before, or that the settings name, counts as gone when it no longer accepts a connection.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

TIMEOUT = 1.0
"""Seconds until a worker that does not accept the connection is given up."""


class WorkerProbe:
    """Remembers the workers of one cluster that could be reached."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._reached = {urlsplit(url).netloc.rpartition("@")[2] for url in urls}

    def gone(self, workers: Collection[str]) -> frozenset[str]:
        """Those of the workers that could be reached before, and do not accept a connection now.

        Nothing is sent: the names come from answers of Connect, and must not get any credentials.
        """
        answering = {worker for worker in workers if _accepts(worker)}
        self._reached |= answering
        return frozenset(worker for worker in workers if worker in self._reached) - answering


def _accepts(worker: str) -> bool:
    host, _, port = worker.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), TIMEOUT).close()
    except (OSError, UnicodeError):  # UnicodeError: a host name that no resolver accepts
        return False
    return True
