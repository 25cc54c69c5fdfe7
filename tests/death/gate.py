"""A proxy in front of a worker, which reports each complete PATCH request without waiting for its answer."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Self
from urllib.parse import urlsplit

_END_OF_HEAD = b"\r\n\r\n"


class Gate:
    """Forwards connections to the worker at `url`. Calls `passed` when it has forwarded a complete PATCH request."""

    def __init__(self, url: str, passed: Callable[[], None]) -> None:
        self._passed = passed
        self._worker = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._worker) as worker:
            Thread(target=_pour, args=(worker, client), daemon=True).start()
            self._hand_over(client, worker)

    def _hand_over(self, client: socket.socket, worker: socket.socket) -> None:
        while head := _read_head(client):
            begin, _, body = head.partition(_END_OF_HEAD)
            worker.sendall(head)
            left = _length(begin) - len(body)
            while left > 0 and (chunk := client.recv(min(left, 1 << 16))):
                worker.sendall(chunk)
                left -= len(chunk)
            if head.startswith(b"PATCH "):
                self._passed()


def _read_head(client: socket.socket) -> bytes:
    """The head of the next request, with the received part of its body; empty at the end of the connection."""
    head = b""
    while _END_OF_HEAD not in head:
        chunk = client.recv(1 << 16)
        if not chunk:
            return b""
        head += chunk
    return head


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def _pour(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
    with suppress(OSError):  # a worker that dies resets its connections
        sink.shutdown(socket.SHUT_RDWR)
