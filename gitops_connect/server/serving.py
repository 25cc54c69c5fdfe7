"""Runs the server next to the daemon: uvicorn in a thread with its own event loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from gitops_connect.daemon.daemon import Daemon
from gitops_connect.runtime import Runtime
from gitops_connect.server.address import Address, open_socket, require_safe
from gitops_connect.server.app import application
from gitops_connect.server.changes import Changes
from gitops_connect.server.connections import ConnectionLimits, connection_class
from gitops_connect.server.metrics import Metrics
from gitops_connect.server.served import Served
from gitops_connect.server.webhook_log import WebhookLog

_BACKLOG = 100
"""Connections that are accepted at a time, before the others are served."""
GRACE = 2
"""Seconds that requests in progress have when the daemon ends."""


@contextmanager
def serving(
    runtime: Runtime, daemon: Daemon, address: Address, limits: ConnectionLimits | None = None
) -> Iterator[Address]:
    """Serve until the block ends. The value is the address with its real port.

    Raises UsageError before anything is started, if the address cannot be used or the settings are not safe for it.
    """
    settings = runtime.settings.server
    require_safe(settings, address)
    with open_socket(address) as opened:
        metrics = Metrics(daemon.state, settings.metrics_connectors)
        changes = Changes(daemon.state)
        log = WebhookLog(runtime.clock)
        app = application(Served(runtime.settings, daemon, runtime.ledger, metrics, changes, log))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                lifespan="on",
                ws="none",
                http=connection_class(limits or ConnectionLimits()),
                backlog=_BACKLOG,
                log_config=None,
                access_log=False,
                log_level="error",  # anyone can cause its warnings, about invalid requests,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE,
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, name="server", daemon=True)
        with metrics.counting(daemon.reconciliations):
            thread.start()
            try:
                yield Address(address.host, opened.getsockname()[1])
            finally:
                changes.close_soon()
                server.should_exit = True
                thread.join(2 * GRACE)
