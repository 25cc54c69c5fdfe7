"""Runs the server next to the daemon: uvicorn in a thread with its own event loop, and with limits for connections.

uvicorn limits neither the time of a request nor idle new connections, and above its limit of connections it answers
probes with 503. So each connection has a time for each of its phases: clients which send or read slowly, or nothing,
cannot keep others out. Above the limit of connections, the connection that is waiting longest is closed, and the new
one is served.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.runtime import Runtime
from gitops_connect.server.app import application
from gitops_connect.server.event_stream import EventStream
from gitops_connect.server.listen_address import ListenAddress, open_socket, require_safe
from gitops_connect.server.metrics import Metrics
from gitops_connect.server.served import Served, WebhookLog

STREAM_PATH = "/events"


class Phase(IntEnum):
    """What a connection is waiting for. Phases with a lower number are closed first."""

    HEAD = 0
    BODY = 1
    ANSWER = 2
    STREAM = 3


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The largest number of connections, and the seconds of each phase, however much is sent during the phase."""

    connections: int = 500
    head: float = 10
    body: float = 30
    answer: float = 60
    stream: float = 3600

    def seconds(self, phase: Phase) -> float:
        return (self.head, self.body, self.answer, self.stream)[phase]


class Connection(H11Protocol):
    """A connection of uvicorn that ends when its phase takes too long."""

    limits = ConnectionLimits()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.phase = Phase.HEAD
        self.since = self.loop.time()
        self._request: object = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base class
        """Begin to wait for a request. If there are too many connections, close the one that waits longest."""
        super().connection_made(transport)
        self._begin(Phase.HEAD)
        if len(self.connections) > self.limits.connections:
            others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
            min(others, key=lambda one: (one.phase, one.since)).abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once, without what was not sent yet."""
        self.connections.discard(self)
        self.transport.abort()

    def _update(self) -> None:
        request = self.cycle if self.cycle is not None and not self.cycle.response_complete else None
        if request is None:
            phase = Phase.HEAD
        elif request.more_body:
            phase = Phase.BODY
        else:
            phase = Phase.STREAM if self.scope["path"] == STREAM_PATH else Phase.ANSWER
        if (phase, request) != (self.phase, self._request):
            self._request = request
            self._begin(phase)

    def _begin(self, phase: Phase) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.phase, self.since = phase, self.loop.time()
        self._timer = self.loop.call_later(self.limits.seconds(phase), self.abort)


_BACKLOG = 100
"""Connections that are accepted at a time, before the others are served."""
GRACE = 2
"""Seconds that requests in progress have when the daemon ends."""


@contextmanager
def serving(
    runtime: Runtime, daemon: Daemon, address: ListenAddress, limits: ConnectionLimits | None = None
) -> Iterator[ListenAddress]:
    """Serve until the block ends. The value is the address with its real port.

    Raises UsageError before anything is started, if the address cannot be used or the settings are not safe for it.
    """
    settings = runtime.settings.server
    require_safe(settings, address)
    with open_socket(address) as opened:
        metrics = Metrics(daemon.state, settings.metrics_connectors)
        events = EventStream(daemon.state)
        log = WebhookLog(runtime.clock)
        app = application(Served(runtime.settings, daemon, runtime.ledger, metrics, events, log))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                lifespan="on",
                ws="none",
                http=type("LimitedConnection", (Connection,), {"limits": limits or ConnectionLimits()}),
                backlog=_BACKLOG,
                log_config=None,
                access_log=False,
                log_level="error",  # anyone can cause its warnings, which are about invalid requests
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE,
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, name="server", daemon=True)
        with metrics.counting(daemon.reconciliations):
            thread.start()
            try:
                yield ListenAddress(address.host, opened.getsockname()[1])
            finally:
                events.close_soon()
                server.should_exit = True
                thread.join(2 * GRACE)
