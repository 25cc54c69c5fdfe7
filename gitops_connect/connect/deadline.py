"""A time limit for one whole HTTP request: connection, headers and body.

The timeouts of `requests` limit each silence. A server that sends one byte a second could therefore block its client
without end. Here a timer shuts the socket down at the end of the time, even while the client reads.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

SLOWEST = 64 * 1024
"""Bytes a second. The timeout of a body is extended by one second for each so many bytes that have arrived."""

_request = threading.local()
"""The `Deadline` of the request that this thread sends, as `deadline`."""


class Deadline:
    """Limits one request, sent in this thread over a `DeadlineAdapter`. Use it as a context manager.

    The request may take `seconds`, and longer for a large body, but never longer than `most` seconds.
    """

    def __init__(self, seconds: float, most: float = math.inf) -> None:
        self.expired = False
        begin = time.monotonic()
        self._end = begin + most
        self._until = min(begin + seconds, self._end)
        self._lock = threading.Lock()  # a socket returns to its pool: it must not be shut down after the end
        self._is_over = False
        self._sock: socket.socket | None = None
        self._timer = self._start(self._until - begin)

    def __enter__(self) -> Deadline:
        _request.deadline = self
        return self

    def __exit__(self, *_: object) -> None:
        _request.deadline = None
        with self._lock:
            self._is_over = True
            self._timer.cancel()

    def received(self, size: int) -> None:
        """So many bytes of the body have arrived: extend the limit by one second for each `SLOWEST`, up to `most`."""
        self._until = min(self._until + size / SLOWEST, self._end)

    def watch(self, sock: socket.socket | None) -> None:
        """Use this socket for the request."""
        with self._lock:
            self._sock = sock
            if self.expired:
                self._cut()

    def _start(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._check)
        timer.daemon = True
        timer.start()
        return timer

    def _check(self) -> None:
        with self._lock:
            left = self._until - time.monotonic()
            if self._is_over:
                return
            if left > 0:
                self._timer = self._start(left)
                return
            self.expired = True
            self._cut()

    def _cut(self) -> None:
        if self._sock is not None:
            with suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # not SSLSocket's own: another thread reads


def _watch(connection: HTTPConnection) -> None:
    deadline = getattr(_request, "deadline", None)
    if deadline is not None:
        deadline.watch(connection.sock)


class _Connection(HTTPConnection):
    def request(self, *arguments: Any, **options: Any) -> None:
        super().request(*arguments, **options)
        _watch(self)


class _TlsConnection(HTTPSConnection):
    def request(self, *arguments: Any, **options: Any) -> None:
        super().request(*arguments, **options)
        _watch(self)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS = {"http": _Pool, "https": _TlsPool}


class DeadlineAdapter(HTTPAdapter):
    """Sends requests over connections that a `Deadline` of their thread can cut."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Called by the base class."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Called by the base class for each proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager
