"""Sessions of `requests` for servers that are not trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests

from gitops_connect.http.deadline import Deadline, DeadlineAdapter

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
        with Deadline(self._seconds, self._seconds) as deadline:
            try:
                with super().send(request, **options) as response:
                    body, is_whole = held(received(response, deadline), self._limit)
            except requests.RequestException as error:
                if deadline.expired:
                    raise deadline.timeout(error) from error
                raise
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


def system_reason(error: requests.RequestException) -> str | None:
    """The reason of the operating system. The messages of `requests` contain representations of Python objects."""
    found = _ERRNO.search(str(error))
    return None if found is None else found[1].strip()


def tls_reason(error: requests.RequestException) -> str:
    """Why a TLS handshake failed."""
    found = _TLS.search(str(error))
    return found[0].strip() if found else str(error)
