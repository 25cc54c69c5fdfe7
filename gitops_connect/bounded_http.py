"""HTTP with limits, for every server that is not trusted: the time of a whole request, and the size of an answer."""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from gitops_connect.errors import LedgerBusy
from gitops_connect.model.bounded_json import parse_json

# A time limit for one whole HTTP request: connection, headers and body.
#
# The timeouts of `requests` limit each silence. A server that sends one byte a second could therefore block its client
# without end. Here another thread shuts the socket down at the end of the time, even while the client reads.

SLOWEST = 64 * 1024
"""Bytes a second. The timeout of a body is extended by one second for each so many bytes that have arrived."""

_request = threading.local()
"""The `Deadline` of the request that this thread sends, as `deadline`."""


class _Watch:
    """One thread for all deadlines: a thread for each request takes longer than many an answer.

    The holder of `lock` decides whether a socket is still that of a request: it returns to its pool, and must not be
    shut down there.
    """

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self._open: set[Deadline] = set()
        self._thread: threading.Thread | None = None
        self._next = math.inf

    def begin(self, deadline: Deadline) -> None:
        with self.lock:
            self._open.add(deadline)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif deadline.until < self._next:
                self.lock.notify()

    def end(self, deadline: Deadline) -> None:
        with self.lock:
            self._open.discard(deadline)
            deadline.close()

    def _run(self) -> None:
        with self.lock:
            while True:
                now = time.monotonic()
                for one in [one for one in self._open if one.until <= now]:
                    self._open.discard(one)
                    one.expire()
                self._next = min((one.until for one in self._open), default=math.inf)
                self.lock.wait(min(self._next - now, threading.TIMEOUT_MAX))


_watch = _Watch()


class Deadline:
    """Limits one request, sent in this thread over a `DeadlineAdapter`. Use it as a context manager.

    The request may take `seconds`, and longer for a large body, but never longer than `most` seconds. Once the
    connection is made, `permit` is called before the request is sent. It prevents that by an exception, or returns for
    how many seconds the request may be sent. An error of a request whose time is over becomes a timeout.
    """

    def __init__(self, seconds: float, most: float = math.inf, permit: Callable[[], float] | None = None) -> None:
        self.expired = False
        self._permit = permit
        self._permitted_until = math.inf
        begin = time.monotonic()
        self._end = begin + most
        self.until = min(begin + seconds, self._end)
        self._sock: socket.socket | None = None
        self._copy: socket.socket | None = None
        self._is_sent = False

    def __enter__(self) -> Deadline:
        _request.deadline = self
        _watch.begin(self)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        del _request.deadline
        _watch.end(self)
        if self.expired and isinstance(error, requests.RequestException):
            # Nothing was sent if it is a ConnectTimeout.
            raise (requests.ReadTimeout if self._is_sent else requests.ConnectTimeout)(error) from error

    def received(self, size: int) -> None:
        """So many bytes of the body have arrived: extend the limit by one second for each `SLOWEST`, up to `most`."""
        self.until = min(self.until + size / SLOWEST, self._end)

    def await_permit(self, connection: HTTPConnection) -> None:
        """Ask for the permit. The connection is made first, because that may take long."""
        if self._permit is not None:
            if connection.sock is None:
                connection.connect()
            began = time.monotonic()
            self._permitted_until = began + self._permit()

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
        with _watch.lock:
            self._sock = sock
            if self.expired:
                self._cut()

    def expire(self) -> None:
        """The time is over. Called by the holder of the lock, as `close` is."""
        self.expired = True
        self._cut()

    def close(self) -> None:
        """The request is over."""
        if self._copy is not None:
            self._copy.close()

    def _cut(self) -> None:
        if self._sock is not None:
            with suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # not SSLSocket's own: another thread reads


class _Guarded(HTTPConnection):
    """Sends a request only with the permit of its `Deadline`, which can cut the connection at any time."""

    def _new_conn(self) -> socket.socket:
        """Called by the base class before the answer of a proxy, which may be slow."""
        sock = super()._new_conn()
        _request.deadline.watch_handshake(sock)
        return sock

    def _tunnel(self) -> None:
        """Called by the base class to read the answer of a proxy. A part of an answer may look like all of it."""
        super()._tunnel()
        if _request.deadline.expired:
            raise TimeoutError

    def request(self, *arguments: Any, **options: Any) -> None:
        _request.deadline.await_permit(self)
        super().request(*arguments, **options)
        _request.deadline.watch(self.sock)

    def send(self, data: Any) -> None:
        """Called by the base class for the headers and for the body."""
        _request.deadline.require_permit()
        super().send(data)


class _TlsGuarded(_Guarded, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Guarded


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsGuarded


_POOLS = {"http": _Pool, "https": _TlsPool}


class DeadlineAdapter(HTTPAdapter):
    """Sends requests over connections that the `Deadline` of their thread can cut."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Called by the base class."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Called by the base class for each proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager


# Sessions of `requests` for servers that are not trusted.

CONNECT_TIMEOUT = 10.0
"""Seconds for making a connection; a server that runs accepts a connection at once."""
_PIECE = 64 * 1024
"""Bytes of an answer that are read together. urllib3 decompresses at most so many at a time."""
_ERRNO = re.compile(r"\[Errno -?\d+\] ([A-Za-z ]+)")
_TLS = re.compile(r"\[(?:SSL|X509)[^\]]*\][^(]*")


class AnswerTooLarge(requests.RequestException):
    """The decompressed body has more than `limit` bytes. Only so many were read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is larger than {limit:,} bytes")


class UnredirectedSession(requests.Session):
    """Follows no redirect, keeps no cookie, and sends over connections that a `Deadline` can cut."""

    def __init__(self, hosts: int = 1, connections: int = 10) -> None:
        super().__init__()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        adapter = DeadlineAdapter(pool_connections=hosts, pool_maxsize=connections)
        self.mount("http://", adapter)
        self.mount("https://", adapter)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Redirects are not followed, and a target that cannot be parsed must not raise."""


class BoundedSession(UnredirectedSession):
    """Each request takes at most `seconds`, from the connection to the last byte, and each answer `limit` bytes."""

    def __init__(self, seconds: float, limit: int) -> None:
        super().__init__()
        self._seconds = seconds
        self._limit = limit

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """The answer with its body. Called for every request. Raises ReadTimeout, and AnswerTooLarge."""
        timeout = (min(CONNECT_TIMEOUT, self._seconds), self._seconds)
        options |= {"allow_redirects": False, "stream": True, "timeout": timeout}
        with Deadline(self._seconds, self._seconds) as deadline, super().send(request, **options) as response:
            body, is_whole = held(received(response, deadline), self._limit)
        if not is_whole:
            raise AnswerTooLarge(self._limit)
        response._content = body  # noqa: SLF001 - `requests` has no other way to limit the body
        return response


def received(response: requests.Response, deadline: Deadline) -> Iterator[bytes]:
    """The decompressed body while it arrives. Raises requests.ReadTimeout."""
    for piece in response.iter_content(_PIECE):
        deadline.received(len(piece))
        yield piece
    if deadline.expired:  # a body without a length ends if its connection was shut down
        raise requests.ReadTimeout("the answer took too long")


def held(content: Iterator[bytes], limit: int) -> tuple[bytes, bool]:
    """The beginning of the content, and whether it is complete. If not, it is longer than `limit` bytes."""
    body = bytearray()
    for piece in content:
        body += piece
        if len(body) > limit:
            return bytes(body), False
    return bytes(body), True


def system_reason(error: Exception) -> str | None:
    """The reason of the operating system. The messages of `requests` contain representations of Python objects."""
    found = _ERRNO.search(str(error))
    return None if found is None else found[1].strip()


def tls_reason(error: requests.RequestException) -> str:
    """Why a TLS handshake failed."""
    found = _TLS.search(str(error))
    return found[0].strip() if found else str(error)


# The JSON of an answer -> values that can be compared, printed and stored.

_HALF = re.compile(r"[\ud800-\udfff]")
_MAY_HAVE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(body: bytes) -> Any:
    """JSON, with U+FFFD for each lone surrogate. Raises ValueError for other text, and for too many levels."""
    value = parse_json(body)
    return _whole(value) if _MAY_HAVE_HALF.search(body) else value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return value
