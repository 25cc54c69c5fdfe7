"""`apply` with a saved plan applies exactly the plan that was reviewed."""

from __future__ import annotations

from acceptance.workplace import Workplace


def saved(at: Workplace) -> str:
    plan = str(at.directory / "plan.json")
    assert at.run("plan", "--out", plan).code == 0
    return plan


def test_a_saved_plan_is_applied_and_stale_when_the_repository_or_the_cluster_moved(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    plan = saved(at)
    at.commit("orders.yaml", at.source("orders", **{"batch.size": "9"}))
    at.run("apply", plan).expect(5, err="the repository moved from commit")
    assert at.states() == {}
    at.run("apply", saved(at)).expect(0)
    assert at.states() == {"orders": "RUNNING"}
    at.commit("orders.yaml", at.source("orders"))
    plan = saved(at)
    at.by_hand("pause", "orders")
    at.await_states(orders="PAUSED")
    at.run("apply", plan).expect(5, err="connectors of cluster local have changed since the plan was saved")
    assert at.config("orders")["batch.size"] == "9"


def test_a_plan_saved_into_the_directory_that_it_is_of_is_not_stale_by_that(at: Workplace) -> None:
    at.write("orders.yaml", at.source("orders"))
    plan = str(at.repository / "plan.json")
    assert at.run("plan", str(at.repository), "--out", plan).code == 0
    applied = at.run("apply", plan).expect(0)
    assert applied.err.startswith(f"Applying the saved plan {plan}.\nReading documents from the directory")
    assert at.states() == {"orders": "RUNNING"}
    at.write("orders.yaml", at.source("orders", **{"batch.size": "9"}))
    assert at.run("apply", plan).code == 5
