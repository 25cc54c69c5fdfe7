from pathlib import Path

import pytest

from gitops_connect.sandbox.launch import broker_config, worker_config


def parse(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_everything_listens_on_loopback_only() -> None:
    broker = parse(broker_config(Path("/data"), 9092, 9093))
    assert broker["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    worker = parse(worker_config("4.3.1", 8083, 9092, ["/own", "/further ones"], exactly_once=True))
    assert worker["listeners"] == "http://127.0.0.1:8083"
    assert worker["rest.advertised.host.name"] == "127.0.0.1"
    assert worker["plugin.path"] == "/own,/further ones"
    assert worker["bootstrap.servers"] == "127.0.0.1:9092"


@pytest.mark.parametrize(
    ("release", "exactly_once", "discovery", "support"),
    [("3.6.2", True, "only_scan", "enabled"), ("4.0.0", False, "service_load", "disabled")],
)
def test_a_worker_depends_on_its_release_and_options(
    release: str, *, exactly_once: bool, discovery: str, support: str
) -> None:
    worker = parse(worker_config(release, 8083, 9092, ["/p"], exactly_once=exactly_once))
    assert (worker["plugin.discovery"], worker["exactly.once.source.support"]) == (discovery, support)


def test_paths_survive_java_properties() -> None:
    written = parse(broker_config(Path("/dü/😀 x\\y"), 1, 2))["log.dirs"]
    assert written == "/d\\u00fc/\\ud83d\\ude00 x\\\\y"
