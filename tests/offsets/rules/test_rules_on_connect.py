"""The effect on a real Connect of entries that the rules reject: the reason why they are errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import requests
from support.files.manifests import MIRROR, UNREAD, declared, entry, mirrored, offsets, rules, verdict
from support.files.tables import rows, table

from gitops_connect.sandbox.cluster import Sandbox

pytestmark = pytest.mark.e2e

TAKEN = 200
CONFIGS: Mapping[str, Mapping[str, str]] = table(__file__, "configs")
FILE = CONFIGS["file"]
NAMED = {"filename": "/data/orders.txt"}


@pytest.mark.parametrize("case", rows(__file__, "entries"))
def test_what_connect_makes_of_it(sandbox: Sandbox, connector_name: Callable[[str], str], case: Any) -> None:
    name, value, expected, answer = case
    config = CONFIGS[name]
    assert [rule for _, rule in rules(verdict([value], config))] == expected
    status, existing = alter(sandbox, connector_name("rules"), config, [value])
    assert status == answer
    acknowledged = verdict([value], config, acknowledged=UNREAD)
    # The rules do not know whether a topic exists.
    if acknowledged.unread and expected != ["topic"]:
        assert answer == TAKEN, "to acknowledge it would not help"
        assert acknowledged.offsets == offsets(*existing)


def test_what_passes_the_rules_is_current_afterwards(sandbox: Sandbox, connector_name: Callable[[str], str]) -> None:
    """The offsets to compare later are those that Connect keeps, also if an unknown field was left out."""
    noted = {**mirrored(0, 7), "note": "left out"}
    found = verdict([noted, mirrored(1, 2**63 - 1), mirrored(2**31 - 1, 0)], MIRROR)
    entries = [entry(partition, offset) for partition, offset in declared(found)]
    status, existing = alter(sandbox, connector_name("rules"), MIRROR, entries)
    assert status == TAKEN
    assert sorted(existing, key=str) == sorted(entries, key=str)
    assert len(entries) == 3


def test_connect_keeps_the_last_value_of_a_repeated_key(sandbox: Sandbox, connector_name: Callable[[str], str]) -> None:
    """This is why the reader of manifests rejects repeated keys."""
    name = connector_name("rules")
    alter(sandbox, name, FILE, [entry(NAMED, {"position": 1})])
    twice = b'{"offsets": [{"partition": {"filename": "/data/orders.txt"}, "offset": {"position": 5, "position": 50}}]}'
    offsets = f"{sandbox.worker_urls[0].rstrip('/')}/connectors/{name}/offsets"
    found = requests.patch(offsets, data=twice, headers={"Content-Type": "application/json"}, timeout=60)
    assert found.status_code == TAKEN
    assert requests.get(offsets, timeout=60).json()["offsets"] == [entry(NAMED, {"position": 50})]


def alter(sandbox: Sandbox, name: str, config: Mapping[str, str], entries: list[Any]) -> tuple[int, list[Any]]:
    """The status of Connect's answer, for a connector that never ran, and its current offsets after the request."""
    worker = sandbox.worker_urls[0].rstrip("/")
    clusters = {f"{which}.cluster.bootstrap.servers": sandbox.bootstrap for which in ("source", "target")}
    body = {"name": name, "initial_state": "STOPPED", "config": {**clusters, "topics": "none", "file": "", **config}}
    created = requests.post(f"{worker}/connectors", json=body, timeout=60)
    assert created.status_code == 201, created.text
    deadline = time.monotonic() + 60
    while True:
        found = requests.patch(f"{worker}/connectors/{name}/offsets", json={"offsets": entries}, timeout=60)
        if found.status_code not in (400, 409) or time.monotonic() > deadline:
            break
    existing = requests.get(f"{worker}/connectors/{name}/offsets", timeout=60).json()["offsets"]
    return found.status_code, [entry(one["partition"], one["offset"]) for one in existing]
