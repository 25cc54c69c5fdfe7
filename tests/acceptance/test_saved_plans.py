"""`apply` with a saved plan applies exactly the plan that was reviewed."""

from __future__ import annotations

import pytest

from acceptance.workplace import Workplace


def saved(at: Workplace) -> str:
    plan = str(at.directory / "plan.json")
    assert at.run("plan", "--out", plan).code == 0
    return plan


@pytest.mark.on_kafka
def test_a_saved_plan_is_applied_without_a_question(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    assert at.run("apply", saved(at)).code == 0
    assert at.states() == {"orders": "RUNNING"}


def test_it_is_stale_when_the_repository_moved(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    plan = saved(at)
    at.commit("more.yaml", at.source("more"))
    at.run("apply", plan).expect(5, err="the repository moved from commit")
    assert at.states() == {}


@pytest.mark.on_kafka
def test_it_is_stale_when_the_cluster_moved(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.commit("orders.yaml", at.source("orders", **{"batch.size": "9"}))
    plan = saved(at)
    at.by_hand("pause", "orders")
    at.await_states(orders="PAUSED")
    at.run("apply", plan).expect(5, err="connectors of cluster local have changed since the plan was saved")


def test_a_plan_saved_into_the_directory_that_it_is_of_is_not_stale_by_that(at: Workplace) -> None:
    at.write("orders.yaml", at.source("orders"))
    plan = str(at.repository / "plan.json")
    assert at.run("plan", str(at.repository), "--out", plan).code == 0
    applied = at.run("apply", plan).expect(0)
    assert applied.err.startswith(f"Applying the saved plan {plan}.\nReading documents from the directory")
    assert at.states() == {"orders": "RUNNING"}
    at.write("orders.yaml", at.source("orders", **{"batch.size": "9"}))
    assert at.run("apply", plan).code == 5
