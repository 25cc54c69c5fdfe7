"""The driver's Java process as this process sees it."""

from __future__ import annotations

import logging
import socket
import threading

import pytest
from py4j.java_gateway import GatewayClient

from gitops_connect.spark.jvm import silence_py4j


def _answer_nothing(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1024)


@pytest.mark.parametrize("silenced", [False, True])
def test_py4j_logs_nothing_about_a_jvm_that_is_gone(silenced: bool, caplog: pytest.LogCaptureFixture) -> None:
    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    filters, level = [*root.filters], py4j.level
    if silenced:
        silence_py4j()
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=_answer_nothing, args=[server])
            thread.start()
            GatewayClient(port=server.getsockname()[1]).send_command("c\n", retry=False)
            thread.join()
    finally:
        root.filters[:] = filters
        py4j.setLevel(level)
    assert ("Exception while sending command" in caplog.text) is not silenced
