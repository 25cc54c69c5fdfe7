"""Serves an application on a free port, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from gitops_connect.server.listen_address import ListenAddress, open_socket
from support.waiting import await_that


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """The URL of the application."""
    with open_socket(ListenAddress("127.0.0.1", 0)) as opened:
        config = uvicorn.Config(app, lifespan="on", ws="none", log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
        thread.start()
        await_that(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{opened.getsockname()[1]}"
        finally:
            app.state.served.events.close_soon()
            server.should_exit = True
            thread.join(30)
