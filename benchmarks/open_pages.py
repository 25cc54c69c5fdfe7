"""Open pages of the status page, as browsers keep them: each hears events, and reads itself again at most every 2 s."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

PAUSE = 2.0
"""Seconds between the begins of two updates, as in `server/static/page.js`."""


@dataclass
class Updates:
    """How often pages were read again, and how many bytes came."""

    count: int = 0
    bytes: int = 0


@contextmanager
def opened(address: str, paths: Sequence[str]) -> Iterator[Updates]:
    """Open these pages, and close them at the end of the block."""
    loop, updates = asyncio.new_event_loop(), Updates()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        pages = asyncio.run_coroutine_threadsafe(_open(address, paths, updates), loop).result()
        yield updates
        asyncio.run_coroutine_threadsafe(_close(pages), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _open(address: str, paths: Sequence[str], updates: Updates) -> list[asyncio.Task[None]]:
    """The tasks of pages whose streams have begun."""
    pages = []
    for path in paths:
        reader, writer = await _request(address, "/events")
        await reader.readuntil(b"data: ")
        changed = asyncio.Event()
        pages += [asyncio.create_task(_hear(reader, writer, changed))]
        pages += [asyncio.create_task(_update(address, path, changed, updates))]
    return pages


async def _close(pages: Sequence[asyncio.Task[None]]) -> None:
    for one in pages:
        one.cancel()
    ended = await asyncio.gather(*pages, return_exceptions=True)
    if failed := [one for one in ended if not isinstance(one, asyncio.CancelledError)]:
        raise AssertionError(f"a page ended too early: {failed[0]!r}")


async def _request(address: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"Host: {address}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\nConnection: close"
    writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())
    return reader, writer


async def _hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, changed: asyncio.Event) -> None:
    try:
        while line := await reader.readline():
            if line.startswith(b"event: change"):
                changed.set()
    finally:
        writer.close()


async def _update(address: str, path: str, changed: asyncio.Event, updates: Updates) -> None:
    while True:
        await changed.wait()
        changed.clear()
        began = time.monotonic()
        reader, writer = await _request(address, path)
        answer = await reader.read(-1)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise AssertionError(f"{path}: {answer[:200]!r}")
        updates.count += 1
        updates.bytes += len(answer)
        writer.close()
        await asyncio.sleep(max(0, began + PAUSE - time.monotonic()))
