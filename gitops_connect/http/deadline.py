"""A time limit for one whole HTTP request: connection, headers and body.

The timeouts of `requests` limit each silence. A server that sends one byte a second could therefore block its client
without end. Here a timer shuts the socket down at the end of the time, even while the client reads.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from gitops_connect.errors import LedgerBusy

SLOWEST = 64 * 1024
"""Bytes a second. The timeout of a body is extended by one second for each so many bytes that have arrived."""

_request = threading.local()
"""The `Deadline` of the request that this thread sends, as `deadline`."""


class Deadline:
    """Limits one request, sent in this thread over a `DeadlineAdapter`. Use it as a context manager.

    The request may take `seconds`, and longer for a large body, but never longer than `most` seconds. Once the
    connection is made, `permit` is called before the request is sent. It prevents that by an exception, or returns for
    how many seconds the request may be sent.
    """

    def __init__(self, seconds: float, most: float = math.inf, permit: Callable[[], float] | None = None) -> None:
        self.expired = False
        self._permit = permit
        self._permitted_until = math.inf
        begin = time.monotonic()
        self._end = begin + most
        self._until = min(begin + seconds, self._end)
        self._lock = threading.Lock()  # a socket returns to its pool: it must not be shut down after the end
        self._is_over = False
        self._sock: socket.socket | None = None
        self._copy: socket.socket | None = None
        self._is_sent = False
        self._timer = self._start(self._until - begin)

    def __enter__(self) -> Deadline:
        _request.deadline = self
        return self

    def __exit__(self, *_: object) -> None:
        _request.deadline = None
        with self._lock:
            self._is_over = True
            self._timer.cancel()
            if self._copy is not None:
                self._copy.close()

    def received(self, size: int) -> None:
        """So many bytes of the body have arrived: extend the limit by one second for each `SLOWEST`, up to `most`."""
        self._until = min(self._until + size / SLOWEST, self._end)

    def await_permit(self, connection: HTTPConnection) -> None:
        """Ask for the permit. The connection is made first, because that may take long."""
        if self._permit is not None:
            if connection.sock is None:
                connection.connect()
            began = time.monotonic()
            self._permitted_until = began + self._permit()

    def timeout(self, error: Exception) -> requests.Timeout:
        """The error of a request whose limit is over: a ConnectTimeout if nothing of it was sent."""
        return requests.ReadTimeout(error) if self._is_sent else requests.ConnectTimeout(error)

    def require_permit(self) -> None:
        """Raise LedgerBusy if the process was suspended since the permit: another process may have the lease."""
        self._is_sent = True
        if time.monotonic() >= self._permitted_until:
            raise LedgerBusy("this process was suspended for longer than its lease lasts; the request was not sent")

    def watch_handshake(self, sock: socket.socket) -> None:
        """Use a copy of this socket, until the connection is complete: TLS takes the socket itself away."""
        self._copy = sock.dup()
        self.watch(self._copy)

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


def _deadline() -> Deadline | None:
    return getattr(_request, "deadline", None)


class _Guarded(HTTPConnection):
    """Sends a request only with the permit of its `Deadline`, which can cut the connection at any time."""

    def _new_conn(self) -> socket.socket:
        """Called by the base class before the answer of a proxy, which may be slow."""
        sock = super()._new_conn()
        deadline = _deadline()
        if deadline is not None:
            deadline.watch_handshake(sock)
        return sock

    def _tunnel(self) -> None:
        """Called by the base class to read the answer of a proxy. A part of an answer may look like all of it."""
        super()._tunnel()
        deadline = _deadline()
        if deadline is not None and deadline.expired:
            raise TimeoutError

    def request(self, *arguments: Any, **options: Any) -> None:
        deadline = _deadline()
        if deadline is not None:
            deadline.await_permit(self)
        super().request(*arguments, **options)
        if deadline is not None:
            deadline.watch(self.sock)

    def send(self, data: Any) -> None:
        """Called by the base class for the headers and for the body."""
        deadline = _deadline()
        if deadline is not None:
            deadline.require_permit()
        super().send(data)


class _TlsGuarded(_Guarded, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Guarded


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsGuarded


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
