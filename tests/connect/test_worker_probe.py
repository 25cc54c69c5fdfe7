"""Workers that are gone are distinguished from workers that were never reachable from here."""

from __future__ import annotations

import socket

from gitops_connect.connect.client import WorkerProbe


def test_only_a_worker_that_was_reached_before_can_be_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        worker = f"127.0.0.1:{server.getsockname()[1]}"
        probe = WorkerProbe(["http://connect.example:8083"])
        assert probe.gone({worker, "127.0.0.1:1"}) == frozenset()
    assert probe.gone({worker, "127.0.0.1:1"}) == {worker}


def test_a_worker_of_the_settings_can_be_gone_at_once() -> None:
    assert WorkerProbe(["http://127.0.0.1:1/"]).gone({"127.0.0.1:1"}) == {"127.0.0.1:1"}


def test_a_name_that_is_no_address_is_not_reachable() -> None:
    assert WorkerProbe([]).gone({"", "no port", "a..b:8083", "host:99999", "host:-1"}) == frozenset()


def test_nothing_is_sent_to_a_worker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        WorkerProbe([]).gone({f"127.0.0.1:{server.getsockname()[1]}"})
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1) == b""
