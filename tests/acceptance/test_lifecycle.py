"""Create, change, pause, stop, resume, delete: each by a commit and an apply."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from acceptance.workplace import SOURCE, Workplace


@pytest.mark.on_kafka
def test_a_commit_becomes_a_connector_until_a_commit_removes_it(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    at.run("plan", "--detailed-exitcode").expect(2, out=f"+ {at.name('orders')}")
    assert at.states() == {}
    at.apply()
    assert at.states() == {"orders": "RUNNING"}
    at.apply().expect(out="No changes. Your connectors match the configuration.")
    assert at.run("plan", "--detailed-exitcode").code == 0
    at.deploy("orders.yaml", at.source("orders", "state: absent"))
    assert at.states() == {}
    assert at.run("plan", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(("first", "then"), [*permutations(("running", "paused", "stopped"), 2)])
def test_a_state_follows_its_document(at: Workplace, first: str, then: str) -> None:
    at.deploy("orders.yaml", at.source("orders", f"state: {first}"))
    assert at.states() == {"orders": first.upper()}
    at.deploy("orders.yaml", at.source("orders", f"state: {then}", **{"batch.size": "7"}))
    assert at.states() == {"orders": then.upper()}
    assert at.config("orders")["batch.size"] == "7"
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_prune_removes_managed_connectors_only(at: Workplace) -> None:
    by_hand = {"name": at.name("by-hand"), "config": {**_config(at), "name": at.name("by-hand")}}
    at.rest("POST", "/connectors", by_hand)
    at.commit("orders.yaml", at.source("orders"))
    at.deploy("keep.yaml", at.source("keep"))
    at.commit("orders.yaml")
    assert f"kept because prune is off: {at.name('orders')}" in at.run("plan").out
    at.apply()
    assert at.states().keys() == {"orders", "keep", "by-hand"}
    at.settings(cluster="prune = true")
    at.apply()
    assert at.states().keys() == {"keep", "by-hand"}


def test_an_existing_connector_is_adopted_without_a_change(at: Workplace) -> None:
    at.rest("POST", "/connectors", {"name": at.name("orders"), "config": _config(at)})
    at.rest("POST", "/connectors", {"name": at.name("theirs"), "config": _config(at)})
    at.await_states(orders="RUNNING", theirs="RUNNING")
    at.commit("orders.yaml", at.source("orders"))
    at.run("plan", "--detailed-exitcode").expect(
        2,
        out=(
            "1 & adopt            it exists on the cluster, and is declared now",
            "Plan: 1 to adopt, 0 to create, 0 to change, 0 to delete.",
        ),
    )
    before = at.config("orders")
    assert f"& {at.name('orders')}: adopt applied" in at.apply().err
    assert (at.config("orders"), at.states()) == (before, {"orders": "RUNNING", "theirs": "RUNNING"})
    owned = {one["name"]: one["owned"] for one in json.loads(at.run("get", "connectors", "-o", "json").out)}
    assert (owned[at.name("orders")], owned[at.name("theirs")]) == ("adopted", "-")
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_manual_drift_is_reported_and_fixed(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.by_hand("pause", "orders")
    at.rest("PUT", f"/connectors/{at.name('orders')}/config", {**_config(at), "batch.size": "3"})
    at.await_that(at.states, lambda states: states == {"orders": "PAUSED"})
    at.run("plan", "--drift-exitcode").expect(
        3, out=("drift: changed on the cluster since the last apply", '- batch.size: "3" -> (none)')
    )
    at.apply()
    assert at.states() == {"orders": "RUNNING"}
    assert "batch.size" not in at.config("orders")
    assert at.run("status", "--exit-code").code == 0


def _config(at: Workplace) -> dict[str, str]:
    return {"connector.class": SOURCE, "tasks.max": "1", "file": str(at.directory / "in.txt"), "topic": "lines"}
