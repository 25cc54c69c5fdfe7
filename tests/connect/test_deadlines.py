"""The time limit of whole requests: one thread ends those of all threads, each at its own time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import requests

from gitops_connect.bounded_http import Deadline, UnredirectedSession

pytestmark = pytest.mark.slow


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that accepts every connection and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_each_request_ends_at_its_own_time(silent: str) -> None:
    """A shorter one may begin after a longer one, and is not ended with it."""
    ended: list[float] = []

    def ask(seconds: float) -> None:
        with UnredirectedSession() as session, pytest.raises(requests.ReadTimeout), Deadline(seconds):
            session.get(silent, timeout=60)
        ended.append(seconds)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, (1.6, 0.8, 1.2, 0.4)))
    assert ended == [0.4, 0.8, 1.2, 1.6]
