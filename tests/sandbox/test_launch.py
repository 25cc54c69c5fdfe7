"""Ports, logs, configs and processes of the parts of a sandbox."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox import processes
from gitops_connect.sandbox.java import Java
from gitops_connect.sandbox.launch import Launch, Tools, broker_config, choose_port, excerpt, is_free, worker_config
from gitops_connect.sandbox.sandbox_state import SandboxPart, State, TopicTracking, new_id

STATE = State("", "4.3.1", 512, SandboxPart(0, 9092))


def test_what_ended_a_broker_is_shown_though_it_goes_on_talking(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    talk = [f"[2026-11-21 10:12:48,{number}] INFO Stopped {number} (kafka.Server)" for number in range(40)]
    cause = ["[2026-11-21 10:12:47,1] ERROR Fatal error (kafka.Server)", "Caused by: java.net.BindException: in use"]
    log.write_text("\n".join([*talk, *cause, *talk]))
    shown = excerpt(log).splitlines()
    assert shown[:3] == [*cause, "…"]
    assert shown[3:] == talk[-10:]
    log.write_text("Error occurred\n[x] ERROR it (y)\n")
    assert excerpt(log) == "Error occurred\n[x] ERROR it (y)"
    assert excerpt(tmp_path / "none.log") == "(the log is empty)"


def test_a_process_that_is_recorded_and_has_no_marker_yet_is_ended(tmp_path: Path) -> None:
    launch = Launch(tmp_path, State(new_id(), "4.3.1", 512), Tools(Java(Path("java"), 17), {}, os.environ), print)
    started = processes.start(("/bin/sleep", "60"), tmp_path / "logs" / "worker-1.log", os.environ)
    launch.state = launch.state.with_part(SandboxPart(1, 1, process=started))
    launch.take_back()
    assert not processes.is_running(started)
    assert not any(part.process for part in launch.state.parts)


def test_a_port_that_is_served_is_not_free_and_the_next_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, socket.socket() as probe:
        port = busy.getsockname()[1]
        probe.bind(("127.0.0.1", 0))
        spare = probe.getsockname()[1]
        probe.close()
        assert not is_free(port)
        assert choose_port((port, spare), frozenset()) == spare
        assert choose_port((port, spare), {spare}) not in {port, spare}
    assert is_free(port)


def parse(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_everything_listens_on_loopback_only() -> None:
    broker = parse(broker_config(Path("/data"), 9092, 9093))
    assert broker["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    worker = parse(worker_config(STATE, 8083, ["/own", "/further ones"]))
    assert worker["listeners"] == "http://127.0.0.1:8083"
    assert worker["rest.advertised.host.name"] == "127.0.0.1"
    assert worker["plugin.path"] == "/own,/further ones"
    assert worker["bootstrap.servers"] == "127.0.0.1:9092"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"release": "3.6.2"}, ["only_scan", "enabled", "true", "true"]),
        ({"release": "4.0.0", "exactly_once": ExpectedSupport.DISABLED}, ["service_load", "disabled", "true", "true"]),
        ({"topic_tracking": TopicTracking.NO_RESET}, ["service_load", "enabled", "true", "false"]),
        ({"topic_tracking": TopicTracking.DISABLED}, ["service_load", "enabled", "false", "false"]),
    ],
)
def test_a_worker_depends_on_its_release_and_options(options: dict[str, Any], expected: list[str]) -> None:
    worker = parse(worker_config(replace(STATE, **options), 8083, ["/p"]))
    tracking = ("topic.tracking.enable", "topic.tracking.allow.reset")
    assert [worker[key] for key in ("plugin.discovery", "exactly.once.source.support", *tracking)] == expected


def test_plugins_that_declare_themselves_nowhere_are_found_too(tmp_path: Path) -> None:
    found = []
    for release in ("3.9.0", "4.3.1"):
        for name in ("empty", "plugins/any"):
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
        for name in ("empty", "plugins"):
            worker = parse(worker_config(replace(STATE, release=release), 8083, [str(tmp_path / name)]))
            found.append(worker["plugin.discovery"])
    assert found == ["only_scan", "only_scan", "service_load", "hybrid_warn"]


def test_paths_survive_java_properties() -> None:
    written = parse(broker_config(Path("/dü/😀 x\\y"), 1, 2))["log.dirs"]
    assert written == "/d\\u00fc/\\ud83d\\ude00 x\\\\y"
