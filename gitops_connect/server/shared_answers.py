"""Renders a page once for all readers who ask for it at the same time: an event makes all open pages ask.

An answer is never older than its request: a request that arrives while the page is rendered waits for the next
rendering, together with all others that arrive meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

Endpoint = Callable[[Request], Response]
Address = tuple[str, bytes]
"""The path, in which nothing is encoded, and the query."""


class SharedAnswers:
    """The renderings that run, and those that wait for them, by their URLs. Belongs to the event loop of the server."""

    def __init__(self) -> None:
        self._next: dict[Address, asyncio.Task[Response]] = {}
        self._running: dict[Address, asyncio.Task[Response]] = {}

    def of(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint that shares its answers. The answer must depend only on path and query."""

        async def shared(request: Request) -> Response:
            url = request.scope["path"], request.scope["query_string"]  # a path may contain a question mark
            task = self._next.get(url)
            if task is None:
                task = self._next[url] = asyncio.create_task(self._answer(url, endpoint, request))
            answer = await asyncio.shield(task)
            own = Response(answer.body, answer.status_code)  # the middleware changes the headers of each
            own.raw_headers = [*answer.raw_headers]
            return own

        return shared

    async def _answer(self, url: Address, endpoint: Endpoint, request: Request) -> Response:
        if (running := self._running.get(url)) is not None:
            await asyncio.wait([running])
        own = self._running[url] = self._next.pop(url)
        try:
            return await run_in_threadpool(endpoint, request)
        finally:
            if self._running.get(url) is own:
                del self._running[url]
