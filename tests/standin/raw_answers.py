"""Answers as bytes: endless, slow, compressed, truncated. A worker may send anything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from standin.connect import StandIn
from standin.faults import Parts

ALWAYS = 10**9
"""`times` of a fault for every request."""


@contextmanager
def worker(parts: Parts, pause: float = 0.0) -> Iterator[str]:
    """The URL of a worker that sends these parts to every request, `pause` seconds apart, until its client ends."""
    with StandIn() as standin:
        standin.stream(".*", ".*", parts, times=ALWAYS, pause=pause)
        yield standin.url


def head(status: int = 200, *headers: str) -> bytes:
    """Status line and headers. The body ends with the connection, unless a header gives its length."""
    lines = (f"HTTP/1.1 {status} OK", "Content-Type: application/json", "Connection: close", *headers)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def whole(body: bytes, status: int = 200, *headers: str) -> Parts:
    """An answer with its Content-Length."""
    return lambda: iter([head(status, f"Content-Length: {len(body)}", *headers), body])


def endless(status: int = 200) -> Iterator[bytes]:
    """Whitespace without end: JSON may begin with it."""
    yield head(status)
    yield from itertools.repeat(b" " * 65536)


def drops(first: bytes, *then: bytes) -> Iterator[bytes]:
    """The same byte without end; with a `pause` between bytes, no read timeout expires."""
    yield from itertools.chain([first, *then], itertools.repeat(b"x"))
